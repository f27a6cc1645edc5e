"""Local stack: PostgreSQL, Airflow and the sandbox service as processes of one machine.

`make demo` and `make up` run it through `stack.cli`; tests run it with `stack.launcher.running`.
Its files are below `.local/`, or below `BMS_LOCAL_DIR`.
"""
