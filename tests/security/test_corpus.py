"""Hostile texts come to nothing: no foreign token in C, no file touched, no command."""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from polyopt.cli.inputs import stored_values
from polyopt.dataclass import replace
from polyopt.emit.lower import lower
from polyopt.emit.text import emit_for_readers
from polyopt.errors import PolyoptError, UsageError
from polyopt.ir.scop import Scop
from polyopt.runtime.store import Store, digest
from polyopt.runtime.toolchain import compiler_command
from polyopt.schedule import source_schedule
from polyopt.textcheck import judge_text
from polyopt.textcheck.tokens import tokens
from polyopt.transforms import parse_steps
from tests import scops
from tests.oracle.program import as_program
from tests.security.corpus import PLACES, Hostile, hostile

CANARY = "touched-by-hostile-text"
CORPUS = tuple(hostile(CANARY))
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ALLOWED = re.compile(r"[\n -~]*")


def text_of(scop: Scop, name: str, trace: tuple[str, ...]) -> str:
    """Return the C text of a Scop for a kernel of this name, with these lines of its schedule."""
    program = as_program(scop)
    loops = lower(source_schedule(scop), program)
    signature = replace(loops.signature, name=name)
    loops = replace(loops, name=name, trace=trace, signature=signature)
    return emit_for_readers(loops, "c", program, "").text


@cache
def plain_tokens() -> list[str]:
    return [token for token, _ in tokens(text_of(scops.gemm(), "kernel", ("tile(L0, 4)",)))]


def check_text(text: str) -> None:
    """Assert that a text has the tokens of a harmless one, but for an identifier."""
    assert _ALLOWED.fullmatch(text)
    assert "??" not in text
    found = [token for token, _ in tokens(text)]
    assert len(found) == len(plain_tokens())
    for one, two in zip(found, plain_tokens(), strict=True):
        assert one == two or ("kernel" in two and _IDENTIFIER.fullmatch(one)), one


def as_name(text: str, folder: Path) -> None:
    del folder
    check_text(text_of(scops.gemm(), text, ("tile(L0, 4)",)))


def as_comment(text: str, folder: Path) -> None:
    del folder
    scop = scops.gemm()
    statements = tuple(replace(s, text=text) for s in scop.statements)
    check_text(text_of(replace(scop, statements=statements), "kernel", (text, text)))


def as_schedule(text: str, folder: Path) -> None:
    del folder
    try:
        steps = parse_steps(text)
    except PolyoptError:
        return
    assert steps == ()  # all of it is a comment


def as_log(text: str, folder: Path) -> None:
    from polyopt.targets import Options
    from polyopt.tuning.saved import last_saved

    path = folder / "log"
    path.write_text(json.dumps({"schedule": text}) + "\n" + text, encoding="utf-8")
    with pytest.raises(PolyoptError):
        last_saved(str(path), as_log, (), Options(), lambda found: found)


def as_entry(text: str, folder: Path) -> None:
    store = Store(folder / "store")
    (folder / "store").mkdir(mode=0o700)
    assert store.write("kernels", "key", {"data": b"x"}) is not None
    manifest = store.root / "kernels" / digest(b"key") / "manifest.json"  # type: ignore[operator]
    record = json.loads(manifest.read_text())
    record["files"] = {text: record["files"]["data"]}
    manifest.write_text(json.dumps(record))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert store.read("kernels", "key") is None
    modes = {path.stat().st_mode & 0o077 for path in (folder / "store").rglob("*")}
    assert modes == {0}


def as_npz(text: str, folder: Path) -> None:
    path = folder / "values.npz"
    data = io.BytesIO()
    np.save(data, np.array([{"a": text}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{text.replace(chr(0), '')[:200]}.npy", data.getvalue())
        archive.writestr("a.npy", data.getvalue())
    with pytest.raises(PolyoptError):
        stored_values(lambda a: None, path)


def as_c(text: str, folder: Path) -> None:
    del folder
    whole = f"void f(int n, double a[n])\n{{\nfor (int i = 0; i < n; i++) a[i] = 0;\n{text}\n}}\n"
    with contextlib.suppress(UsageError):  # PO0628: it is no C, or nothing that is judged
        judge_text(whole, "f.c")


def as_compiler(text: str, folder: Path) -> None:
    del folder
    with pytest.raises(PolyoptError):
        compiler_command(f"gcc-{text}" if not text.startswith("-") else f"gcc {text}")


USES: dict[str, Callable[[str, Path], None]] = {
    "name": as_name, "comment": as_comment, "schedule": as_schedule, "log": as_log,
    "entry": as_entry, "npz": as_npz, "c": as_c, "compiler": as_compiler,
}  # fmt: skip


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder for files; the current directory, and nothing beside it, stays as it is."""
    for name in ("files", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "own").write_text("own")
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path / "files"
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["own"]
    assert {path.name for path in tmp_path.iterdir()} == {"files", "here"}
    assert not list(tmp_path.rglob(f"*{CANARY}"))


def test_there_are_five_hundred() -> None:
    assert len(CORPUS) == sum(PLACES.values()) == 500
    assert set(USES) == set(PLACES)


@pytest.mark.matrix
@pytest.mark.parametrize("case", CORPUS, ids=str)
def test_hostile_text_comes_to_nothing(case: Hostile, watched: Path) -> None:
    USES[case.place](case.text, watched)


def test_a_foreign_token_is_seen() -> None:
    harmless = text_of(scops.gemm(), "kernel", ("tile(L0, 4)",))
    check_text(harmless)
    for foreign in ("abort();", "#pragma omp barrier\n", "*/ x /*", "\x1b"):
        with pytest.raises(AssertionError):
            check_text(harmless.replace("return 0;", f"{foreign} return 0;"))
