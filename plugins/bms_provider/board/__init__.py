"""Board: pages in Airflow's UI with the state of each flow and the pending items.

The board only reads the warehouse and the data root. `routes` receives the requests, `queries` reads
the data of a page, `templates` renders them.
"""
