"""Example DAGs that use the hook and the operators."""
