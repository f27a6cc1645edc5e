"""Alternative field names, and digests of rows."""

from bms.records import Contact, ContactItem
from bms_flows.mirror.resources import CONTACTS
from bms_flows.mirror.rows import as_lines, digest_of, rename


def test_a_field_under_an_alternative_name_is_the_same_field() -> None:
    item, detail = ContactItem(id=1), Contact(id=1)
    assert rename(item, {"active": True}, CONTACTS.aliases) == {}
    assert item.actif is True
    left = rename(detail, {"actif": False, "contact_domains": [3], "new": 1}, CONTACTS.aliases)
    assert left == {"new": 1}
    assert (detail.active, detail.domains) == (False, [3])


def test_other_fields_stay_unknown() -> None:
    item = ContactItem(id=1, actif=True)
    assert rename(item, {"active": False}, CONTACTS.aliases) == {"active": False}
    assert rename(ContactItem(id=1), {"active": "yes"}, CONTACTS.aliases) == {"active": "yes"}


def test_the_digest_covers_fields_unknown_fields_and_lists() -> None:
    plain, other = as_lines([ContactItem(id=1), ContactItem(id=1, city="a\nb")])
    digests = {
        digest_of(plain, None, b"no"),
        digest_of(other, None, b"no"),
        digest_of(plain, {"new": 1}, b"no"),
        digest_of(plain, None, b"yes"),
    }
    assert len(digests) == 4
