"""The command `bms`: operates warehouse and flows without Airflow."""
