"""Digests of contents, which are stored, and of the code that decides what contents mean."""

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec


def content_digest(content: bytes, size: int = 16) -> bytes:
    """Return a digest of `size` bytes."""
    return hashlib.blake2b(content, digest_size=size).digest()


@cache
def code_digest(*packages: str) -> bytes:
    """Return a digest of the code of packages and of the JSON decoder; a cache depends on it."""
    digest = hashlib.sha256(msgspec.__version__.encode())
    for package in packages:
        for path in sorted(Path(import_module(package).__path__[0]).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()
