"""What every flow uses: the context of a run, its settings and its step log, files, columns and reasons."""
