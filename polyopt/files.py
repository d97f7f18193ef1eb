"""Reading of files that a user or another machine names: regular files of limited size only.

In: a path, the most bytes.  Out: an open file, or its bytes.
Refuses: with `OSError`, whose `strerror` is a reason to show, devices, FIFOs, sockets, folders and
files that are too large: reading these may never end.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: str | os.PathLike[str], most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading."""
    return _opened(os.open(path, _FLAGS), str(path), most)


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a regular file, of which there may be at most `most`."""
    with open_regular(path, most) as file:
        found = file.read(most + 1)  # it may have grown since it was opened
    if len(found) > most:
        raise _too_large(str(path), most)
    return found


def read_text(path: str | os.PathLike[str], most: int, encoding: str = "utf-8") -> str:
    """Return the text of such a file, with `\n` line ends; raises `ValueError`, too."""
    return io.TextIOWrapper(io.BytesIO(read_regular(path, most)), encoding).read()


def is_readable(path: str | os.PathLike[str], most: int) -> bool:
    """Whether `path` names a regular file of at most `most` bytes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= most


def _opened(handle: int, name: str, most: int) -> BinaryIO:
    """Return the file of a descriptor, or close it and refuse."""
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        if status.st_size > most:
            raise _too_large(name, most)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _too_large(name: str, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has over {most} bytes", name)
