"""Lock of a mirror."""

import pytest
from sqlalchemy import Engine

from bms_flows.mirror.resources import CONTACTS
from bms_flows.mirror.store import locked
from bms_warehouse.locks import Busy


def test_only_one_run_locks_a_mirror(warehouse: Engine) -> None:
    with warehouse.connect() as one, warehouse.connect() as other:
        with locked(one, CONTACTS, None):
            with pytest.raises(Busy) as taken, locked(other, CONTACTS, None):
                pass
            assert taken.value.retriable
            with locked(other, CONTACTS, 2):
                pass
        with locked(other, CONTACTS, None):
            pass
