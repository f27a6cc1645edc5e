"""The board: pages inside Airflow that say how each flow stands, and what waits for a person.

They read the warehouse and the data root, and write nothing.
"""
