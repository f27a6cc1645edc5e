"""Plans: what each row of a drop would do."""
