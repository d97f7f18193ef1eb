"""Files that a user or another machine names: regular ones of limited size are read, whole written.

In: a path, the most bytes; what to write.  Out: an open file, or its bytes; a file, whole or none.
Refuses: with `OSError`, whose `strerror` is a reason to show, devices, FIFOs, sockets, folders and
files that are too large: reading these may never end.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable
from typing import IO, BinaryIO

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


def write_whole(
    path: str | os.PathLike[str], contents: bytes | str | Callable[[IO[bytes]], object]
) -> None:
    """Write a file, or leave what is there: a process may end, or be stopped, at any moment.

    `contents`: what is in it, text as UTF-8, or a function that writes it.  A path that is there
    and is no regular file, such as `/dev/stdout`, is written to.  Raises `OSError`.
    """
    import tempfile

    path = os.path.realpath(path)
    put = contents if callable(contents) else _writer(contents)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            put(stream)
        return
    folder, name = os.path.split(path)
    handle, staged = tempfile.mkstemp(dir=folder, prefix=f".{name[:200]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            put(stream)
        os.chmod(staged, _mode_of(path))
        os.replace(staged, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        raise


def _writer(contents: bytes | str) -> Callable[[IO[bytes]], object]:
    data = contents.encode() if isinstance(contents, str) else contents
    return lambda stream: stream.write(data)


def _mode_of(path: str) -> int:
    """Return the mode of a file: of the one that is replaced, or what the user's mask leaves."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


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
