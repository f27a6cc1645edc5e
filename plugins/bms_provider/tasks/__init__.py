"""The bodies of the DAGs' tasks: what Airflow knows goes into a flow, what comes of it goes back."""
