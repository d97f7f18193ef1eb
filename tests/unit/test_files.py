"""Files that never end, that nobody writes, or that are too large, wherever a user may name one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.cli.app import run
from polyopt.errors import Loc, PolyoptError, UsageError, render
from polyopt.files import is_readable, open_regular, read_regular, read_text, write_whole
from polyopt.machine import Machine
from polyopt.measuring.detection import overridden

PROGRAM = "def f(a):\n    a[:] = a * 2\n"
SECONDS = 20


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """End a test that reads without end."""

    def stop(*_: object) -> None:
        raise AssertionError(f"still reading after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=["device", "fifo", "folder", "large", "link to a device"])
def endless(request, tmp_path) -> Path:
    """A name of something that no program should read."""
    path = tmp_path / "endless.py"
    match request.param:
        case "device":
            return Path("/dev/zero")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        case _:
            path.symlink_to("/dev/zero")
    return path


def test_only_regular_files_are_read(endless):
    for reads in (open_regular, read_regular, read_text):
        with pytest.raises(OSError, match=r"regular file|directory|over 100 bytes"):
            reads(endless, 100)
    assert not is_readable(endless, 100)


def test_the_bytes_of_a_file_up_to_the_limit(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_regular(path, 7) == b"\xef\xbb\xbfa\r\nb"
    assert read_text(path, 7, "utf-8-sig") == "a\nb"
    assert is_readable(path, 7)
    assert not is_readable(path, 6)
    with pytest.raises(OSError, match="over 6 bytes"):
        read_regular(path, 6)


def double(a):
    a[:] = a * 2


def test_a_schedule_of_an_option(endless):
    with pytest.raises(PolyoptError) as caught:
        po.kernel(schedule=str(endless))(double)(np.ones(3))
    assert caught.value.code in ("PO0601", "PO0329")


def test_the_numbers_of_a_machine(endless, monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", str(endless))
    with pytest.raises(UsageError) as caught:
        overridden(Machine())
    assert caught.value.code == "PO0224"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "f.py:f", "--schedule", "{}"),
        ("run", "f.py:f", "--types", "f64[:]", "--schedule", "{}"),
        ("run", "f.py:f", "--npz", "{}"),
        ("check", "endless.certificate.json"),
        ("check", "{}:f"),
        ("compile", "{}:f"),
        ("bench", "--compare", "{}", "{}"),
    ],
    ids=" ".join,
)
def test_command_lines(endless, arguments, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(PROGRAM)
    (tmp_path / "endless.certificate.json").symlink_to(endless)
    assert run([one.format(endless) for one in arguments]) in (1, 2)
    captured = capfd.readouterr()
    assert "[PO06" in captured.out + captured.err or "[PO0329]" in captured.err


def test_a_place_in_a_file_that_is_not_read(endless):
    error = PolyoptError("PO0100", "message", loc=Loc(str(endless), 1, 1, 1, 2))
    assert render(error) == f"error[PO0100]: message\n  --> {endless}:1:1"


def test_a_place_outside_of_its_file(tmp_path):
    path = tmp_path / "short.py"
    path.write_text("a = 1\n")
    far = 10**15
    error = PolyoptError("PO0100", "message", loc=Loc(str(path), 1, far, 1, far + far))
    assert render(error).splitlines()[-2:] == [" 1 | a = 1", "   |      ^"]


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")
    path.chmod(0o640)

    def stopped(stream) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, stopped)
    assert path.read_text() == "before"
    (tmp_path / "link").symlink_to(path)
    write_whole(tmp_path / "link", "after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link", "out.txt"]
    write_whole("/dev/null", b"")
    assert not Path("/dev/null").is_file()
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "missing" / "out.txt", "")
