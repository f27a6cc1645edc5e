"""Uploaded files before they are dropped: in a folder per upload, for the user who uploaded them."""

import itertools
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Final
from uuid import uuid4

import msgspec
from upath import UPath

from bms_flows.onboarding.inbox.discovery import (
    LONGEST_NAME,
    FoundFile,
    OutsideInbox,
    find_file,
    ignored,
    inside,
    local,
)
from bms_flows.onboarding.reading.sheet import Limits
from bms_flows.runtime import storage

FOLDER: Final = "uploads"
"""Folder of the data root; the inboxes are others, so an upload creates nothing."""
LIFE: Final = timedelta(days=1)
"""Time after which an upload that was not submitted is deleted."""
MOST: Final = 5
"""Uploads of a user in one inbox; the oldest make room for new ones."""
_TOKEN: Final = re.compile("[0-9a-f]{32}")
_FACTS, _ORIGINAL, _CORRECTED = "upload.json", "original", "corrected"


class BadName(ValueError):
    """No dropped file can have this name."""


class _Facts(msgspec.Struct):
    """Facts about an upload, stored with its content."""

    name: str
    user: str
    at: datetime


@dataclass(frozen=True)
class Upload:
    """An uploaded file: its folder, the name that it is dropped under, and its user's id."""

    folder: UPath
    name: str
    user: str
    at: datetime

    @property
    def token(self) -> str:
        """The name of its folder, which no other user can guess."""
        return self.folder.name

    @property
    def target(self) -> UPath:
        """The file to which the content is written first."""
        return self.folder / _ORIGINAL

    def save_corrected(self, content: bytes) -> None:
        """Save the corrected content; the original is kept."""
        storage.save_private(self.folder / _CORRECTED, content)

    def contents(self) -> tuple[bytes, bytes | None]:
        """Return the content to drop, and the original if the content is a correction."""
        original = storage.read_file(self.folder / _ORIGINAL, Limits().bytes + 1)
        try:
            return storage.read_file(self.folder / _CORRECTED), original
        except FileNotFoundError:
            return original, None

    def remove(self) -> None:
        """Delete the upload."""
        for name in (_CORRECTED, _ORIGINAL, _FACTS):
            (self.folder / name).unlink(missing_ok=True)
        if self.folder.protocol in storage.LOCAL:
            with suppress(OSError):  # another request removes it too, or still writes
                self.folder.rmdir()


def begin(root: UPath, inbox: str, name: str, user: str) -> Upload:
    """Return a new upload; raise `BadName`. Deletes what is too old, or too many of the user."""
    check_name(root, name)
    now = datetime.now(UTC)
    earlier = sorted(_of_inbox(root, inbox), key=lambda each: each.at, reverse=True)
    own = [each for each in earlier if each.user == user]
    for each in earlier:
        if now - each.at > LIFE or each in own[MOST - 1 :]:
            each.remove()
    folder = root / FOLDER / inbox / secrets.token_hex(16)
    facts = _Facts(name, user, now)
    storage.save_private(folder / _FACTS, msgspec.json.encode(facts))
    return Upload(folder, name, user, now)


def find(root: UPath, inbox: str, token: str, user: str) -> Upload | None:
    """Return an upload of a user; None for one of another user, or one that was deleted."""
    if not _TOKEN.fullmatch(token):
        return None
    found = _read(root / FOLDER / inbox / token)
    return found if found and found.user == user else None


def check_name(folder: UPath, name: str) -> None:
    """Raise `BadName` unless a dropped file can have this name."""
    try:
        inside(folder, name)
    except OutsideInbox:
        raise BadName from None
    visible = name.replace("\u00a0", " ").replace("\u202f", " ").isprintable()
    if ignored(name) or not visible or len(name.encode()) > LONGEST_NAME:
        raise BadName


def _of_inbox(root: UPath, inbox: str) -> Iterator[Upload]:
    folder = root / FOLDER / inbox
    for each in folder.iterdir() if folder.exists() else ():
        if found := _read(each):
            yield found


def _read(folder: UPath) -> Upload | None:
    try:
        facts = msgspec.json.decode(storage.read_file(folder / _FACTS), type=_Facts)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return Upload(folder, facts.name, facts.user, facts.at)


def add(
    inbox: UPath, name: str, content: bytes, announce: Callable[[FoundFile], None]
) -> FoundFile:
    """Write a new file into the inbox; if the name is taken, under a numbered name.

    Calls `announce` before the file has its name, and again when its time or etag is final.
    """
    hidden, path = f".{uuid4().hex}", PurePath(name)
    storage.save_private(inbox / hidden, content)
    try:
        if (written := find_file(inbox, hidden)) is None:
            raise FileNotFoundError
        for number in itertools.count(1):
            given = name if number == 1 else f"{path.stem} ({number}){path.suffix}"
            if find_file(inbox, given) is None:
                announce(replace(written, path=given))
                if _rename(inbox, hidden, given):
                    break
        found = replace(find_file(inbox, given) or written, path=given)
    finally:
        inside(inbox, hidden).unlink(missing_ok=True)
    announce(found)
    return found


def _rename(inbox: UPath, hidden: str, name: str) -> bool:
    """Give a hidden file a second name; return whether the name was free."""
    here = local(inbox)
    if here is None:
        inbox.fs.mv(inside(inbox, hidden).path, inside(inbox, name).path)
        return True
    return storage.rename_if_free(here / hidden, here / name)
