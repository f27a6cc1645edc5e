"""Task functions of the DAGs, one module per DAG: they read the Airflow context and call a flow."""
