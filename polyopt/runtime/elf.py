"""Whether the bytes of a file are an ELF object of this machine, before anything loads or links it.

In: bytes.  Out: nothing.  Refuses: with `ValueError` what is not one, and what ends before its
segments do: a loader maps those without a look at the size, and reading them ends the process.
Other systems' formats are not looked at.
"""

from __future__ import annotations

import struct
import sys
from enum import Enum
from functools import cache

_HEADER = struct.Struct("16xHHIQQQIHHHHHH")  # ELF-64: type, machine, …, phoff at 4, phnum at 9
_SEGMENT = struct.Struct("IIQQQQQQ")
_LOAD, _DYNAMIC = 1, 2


class ElfKind(Enum):
    """The kinds of objects that are kept."""

    OBJECT = 1
    LIBRARY = 3


def check_elf(data: bytes, kind: ElfKind) -> None:
    """Raise `ValueError` unless `data` is a whole object of the kind for this machine."""
    own = _own()
    if own is None:
        return
    if len(data) < _HEADER.size or data[:6] != own[:6]:
        raise ValueError("it is not an ELF object of this machine")
    found, machine, _, _, start, _, _, _, size, count, *_ = _HEADER.unpack_from(data)
    if found != kind.value or machine != _HEADER.unpack(own)[1]:
        raise ValueError(f"it is not an ELF {kind.name.lower()} of this machine")
    if kind is ElfKind.LIBRARY:
        _check_segments(data, start, size, count)


def _check_segments(data: bytes, start: int, size: int, count: int) -> None:
    if size != _SEGMENT.size or start + size * count > len(data):
        raise ValueError("its table of segments is malformed")
    kinds = set()
    for number in range(count):
        kind, _, offset, _, _, length, _, _ = _SEGMENT.unpack_from(data, start + number * size)
        kinds.add(kind)
        if kind in (_LOAD, _DYNAMIC) and offset + length > len(data):
            raise ValueError("it ends before its segments do")
    if not kinds >= {_LOAD, _DYNAMIC}:
        raise ValueError("it has nothing to load")


@cache
def _own() -> bytes | None:
    """Return the ELF header of the running program, None where it has none of 64 bits."""
    try:
        with open("/proc/self/exe", "rb") as file:
            head = file.read(_HEADER.size)
    except OSError:
        return None
    order = b"\x01" if sys.byteorder == "little" else b"\x02"
    return head if head[:6] == b"\x7fELF\x02" + order and len(head) == _HEADER.size else None
