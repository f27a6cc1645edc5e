"""Reader of workbook packages: unpacks and parses parts incrementally, within limits, without entities.

What is refused is decided on what the parser saw, so that no encoding of a part hides it.
"""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from bms_flows.onboarding.faults import ReadError
from bms_flows.onboarding.reading.sheet import Limits

NAMESPACES: Final = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",  # "Strict Open XML", which Excel also saves
    "http://schemas.openxmlformats.org/package/2006/relationships",
)
_SEPARATOR: Final = " "
_CHUNK: Final = 1 << 16
_TOKEN: Final = 1 << 20
"""Bytes of a single tag, which the parser holds whole."""
_DEPTH: Final = 100
_UNKNOWN: Final = 1_000_000
"""Elements that are passed over: the parser keeps each name it has met."""

_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    expat.ExpatError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    LookupError,
    ValueError,
)

Attributes = Mapping[str, str]


class Handler:
    """Takes a part's elements; only those whose local names it `knows`."""

    knows: frozenset[str] = frozenset()

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def text(self, data: str) -> None:
        """Take a piece of text."""


@dataclass(frozen=True)
class Relation:
    """Another part that a part names: the last word of its type, and where it is."""

    kind: str
    target: str


class Package:
    """A zip archive of XML parts; every method raises `ReadError` where it can't be trusted."""

    def __init__(self, content: bytes, limits: Limits) -> None:
        self.limits = limits
        self._elements = 0
        self._unknown = 0
        with _damage_refused():
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        parts = self._zip.infolist()
        self._parts = {part.filename.casefold(): part for part in parts}
        if len(self._parts) < len(parts):
            raise ReadError("bad_workbook", why="duplicate names")
        if any(part.flag_bits & 1 for part in parts):
            raise ReadError("bad_workbook", why="password")
        if any(
            part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts
        ):
            raise ReadError("bad_workbook", why="compression")
        if sum(part.file_size for part in parts) > limits.unpacked_bytes:
            raise ReadError("too_big", what="bytes", limit=limits.unpacked_bytes)

    def has(self, name: str) -> bool:
        """Return whether there is such a part; names are the same in any case."""
        return name.casefold() in self._parts

    def relations(self, name: str) -> Mapping[str, Relation]:
        """Return the parts that part `name` (empty: the package) names, by their ids."""
        folder, file = posixpath.split(name)
        part = posixpath.join(folder, "_rels", f"{file}.rels")
        found = _Relations(folder)
        if self.has(part):
            self.read(part, found)
        return found.by_id

    def read(self, name: str, handler: Handler) -> None:
        """Give a part's elements to `handler`."""
        for _ in self.parse(name, handler):
            pass

    def parse(self, name: str, handler: Handler) -> Iterator[None]:
        """Give a part's elements to `handler`, and yield after each piece of the part."""
        part = self._parts.get(name.casefold())
        if part is None:
            raise ReadError("bad_workbook", why="missing part")
        parser = self._parser(handler)
        fed = 0
        with _damage_refused(), self._zip.open(part) as stream:
            while piece := stream.read(_CHUNK):  # never more than the size that the part declares
                parser.Parse(piece, False)
                fed += len(piece)
                if fed - parser.CurrentByteIndex > _TOKEN:
                    raise ReadError("too_big", what="tag", limit=_TOKEN)
                yield
            parser.Parse(b"", True)
        yield

    def _parser(self, handler: Handler) -> expat.XMLParserType:
        known = {
            f"{namespace}{_SEPARATOR}{name}": name
            for namespace in NAMESPACES
            for name in handler.knows
        }
        depth = 0

        def start(name: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            self._elements += 1
            if self._elements > self.limits.elements:
                raise ReadError("too_big", what="tags", limit=self.limits.elements)
            if (local := known.get(name)) is not None:
                handler.start(local, attributes)
                return
            self._unknown += 1
            if depth > _DEPTH or self._unknown > _UNKNOWN:
                raise ReadError("too_big", what="tags", limit=_UNKNOWN)

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            if (local := known.get(name)) is not None:
                handler.end(local)

        # Without a dictionary of names, which would keep every one that the part makes up.
        parser = expat.ParserCreate(None, _SEPARATOR, None)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = handler.text
        return parser


def _refuse_doctype(*_: object) -> None:
    """Refuse what could declare entities; no workbook has it."""
    raise ReadError("bad_workbook", why="DOCTYPE")


@contextmanager
def _damage_refused() -> Iterator[None]:
    """Turn what `zipfile`, `zlib` and `expat` raise on damaged bytes into `ReadError`."""
    try:
        yield
    except _DAMAGED:
        raise ReadError("bad_workbook", why="damaged content") from None


class _Relations(Handler):
    knows = frozenset({"Relationship"})

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.by_id: dict[str, Relation] = {}

    def start(self, name: str, attributes: Attributes) -> None:  # noqa: ARG002 - it knows one
        if attributes.get("TargetMode") != "External":
            target = posixpath.join("/", self.folder, attributes.get("Target", ""))
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.by_id[attributes.get("Id", "")] = Relation(kind, posixpath.normpath(target)[1:])
