"""Digest of contents; stored digests depend on it."""

import hashlib


def content_digest(content: bytes, size: int = 16) -> bytes:
    """Return a digest of `size` bytes."""
    return hashlib.blake2b(content, digest_size=size).digest()
