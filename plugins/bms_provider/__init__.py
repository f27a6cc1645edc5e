"""The Airflow side of the project; imports nothing, so that discovery stays light and safe."""
