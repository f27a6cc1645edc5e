"""Name under which Airflow looks for the example DAGs of the distribution ``bms-airflow``.

With ``[core] load_examples``, Airflow 3.3 imports a package named after each distribution with a
provider, and loads its folder ``example_dags``.
"""

import bms_provider

__path__ = [*__path__, *bms_provider.__path__]
