"""Arguments from files: .npz, .npy, and what is neither, or not any more."""

from __future__ import annotations

import contextlib
import io
import os
import random
import zipfile

import numpy as np
import pytest

from polyopt.cli.inputs import stored_values
from polyopt.errors import UsageError

PROGRAM = "def double(a):\n    return a * 2\n\n\ndef scale(a, factor):\n    return a * factor\n"


def scale(a, factor):
    return a * factor


def shift(a, by=1):
    return a + by


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def archive(path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as written:
        for name, data in members.items():
            written.writestr(name, data)
    return path


def refused(func, path) -> str:
    with pytest.raises(UsageError) as caught:
        stored_values(func, path)
    assert caught.value.code == "PO0610"
    return str(caught.value)


@pytest.mark.toolchain
def test_an_npy_file_is_the_only_argument(polyopt, write, tmp_path):
    write("f.py", PROGRAM)
    np.save(tmp_path / "x.npy", np.arange(4.0))
    outcome = polyopt("run", "f.py:double", "--npz", "x.npy", "--check")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("double(float64[4])\n")
    outcome = polyopt("run", "f.py:scale", "--npz", "x.npy")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "error[PO0610]: `x.npy` holds one array, and the function takes 2 arguments\n"
        "   = note: arguments: a, factor\n"
        "   = help: store all of them by name: "
        'np.savez("x.npz", a=np.load("x.npy"), factor=…)\n'
    )


def test_arguments_with_defaults_need_no_array(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4))
    values = stored_values(shift, tmp_path / "x.npy")
    assert values[0].tolist() == [0, 1, 2, 3]
    assert values[1] == 1


def test_only_arrays_that_are_arguments_are_read(tmp_path):
    path = archive(tmp_path / "x.npz", {"a.npy": npy(np.ones(2)), "other.npy": b"damaged"})
    assert stored_values(shift, path)[0].tolist() == [1, 1]


BOMB = 1 << 60
MEMBERS = {
    "python objects": (npy(np.array([object()])), "array of Python objects"),
    "shape beyond the data": (header(f"({BOMB},)"), "ends before its last element"),
    "negative shape": (header("(-5,)"), "cannot be read"),
    "no array": (b"text", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "deep header": (header("(" * 3000 + ")" * 3000), "cannot be read"),
    "long header": (header("(1,)" + " " * 20_000), "cannot be read"),
    "unknown type": (header("(1,)", "'<q99'"), "cannot be read"),
    "version 3": (b"\x93NUMPY\x03\x00" + bytes(64), "not an array of numbers"),
    "version 9": (b"\x93NUMPY\x09\x00" + bytes(64), "not an array of numbers"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_wrong_members(tmp_path, name):
    data, reason = MEMBERS[name]
    members = {"a.npy": data, "factor.npy": npy(np.float64(2))}
    assert reason in refused(scale, archive(tmp_path / "x.npz", members))
    if name not in ("no array", "nothing", "negative shape"):
        (tmp_path / "x.npy").write_bytes(data)
        assert reason in refused(shift, tmp_path / "x.npy")


def test_an_archive_that_unpacks_to_more_than_the_memory(tmp_path):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    bomb = zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_STORED, allowZip64=True)
    with bomb:
        bomb.writestr("a.npy", npy(np.zeros(4)))
        bomb.getinfo("a.npy").file_size = memory + 1
    assert f"the machine has {memory}" in refused(shift, tmp_path / "bomb.npz")


def test_an_encrypted_member(tmp_path):
    path = archive(tmp_path / "x.npz", {"a.npy": npy(np.ones(2))})
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    data[data.index(b"PK\x03\x04") + 6] |= 1
    path.write_bytes(bytes(data))
    assert "encrypted" in refused(shift, path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_damaged_files_are_refused_or_read(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    if suffix == "npz":
        np.savez_compressed(path, a=np.arange(50), by=np.int64(3))
    else:
        np.save(path, np.arange(50))
    whole = path.read_bytes()
    draw = random.Random(1)
    for _ in range(400):
        data = bytearray(whole[: draw.choice((len(whole), draw.randrange(len(whole))))])
        for _ in range(draw.randrange(3)):
            if data:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(data))
        with contextlib.suppress(UsageError):
            stored_values(shift, path)
