"""The Business Management Service as a Python client; knows no Airflow."""
