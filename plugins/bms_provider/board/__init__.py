"""Board: pages in Airflow's UI with the state of each flow and the pending items.

Pages only read the warehouse and the data root; `inbox` also stores uploads and drops them. `routes` receives the requests, `queries` reads
the data of a page, `templates` renders them.
"""
