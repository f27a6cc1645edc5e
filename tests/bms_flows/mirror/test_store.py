"""One run at a time on a mirror."""

import pytest
from sqlalchemy import Engine

from bms_flows.mirror.contacts import CONTACTS
from bms_flows.mirror.store import MirrorTaken, held


def test_a_mirror_is_held_by_one_run(warehouse: Engine) -> None:
    with warehouse.connect() as one, warehouse.connect() as other:
        with held(one, CONTACTS, None):
            with pytest.raises(MirrorTaken) as taken, held(other, CONTACTS, None):
                pass
            assert taken.value.retriable
            with held(other, CONTACTS, 2):
                pass
        with held(other, CONTACTS, None):
            pass
