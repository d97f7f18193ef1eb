"""Digests, which names of files and keys are made of: BLAKE2b in hexadecimal digits.

`hashlib` loads OpenSSL first, which takes two milliseconds and is not what it computes these with.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # a Python that was built without it
    from hashlib import blake2b


def hex_digest(data: bytes, size: int = 32) -> str:
    """Return the digest of `data`, `size` bytes of it."""
    return blake2b(data, digest_size=size).hexdigest()
