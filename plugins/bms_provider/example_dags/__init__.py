"""Example DAGs: the hook and the operators in DAGs of your own."""
