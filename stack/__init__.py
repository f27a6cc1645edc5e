"""The local stack: every process of the project on one machine, started in order, stopped in reverse."""
