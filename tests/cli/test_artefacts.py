"""`polyopt check` on what `polyopt compile` wrote: what is unchanged passes, nothing else does."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyopt as po
from polyopt.artefact import digest_of, read_artefact, sealed
from polyopt.emit import emit_c
from polyopt.errors import PolyoptError
from polyopt.ir.loops import LoopFunction
from polyopt.ir.record import decode
from polyopt.textcheck.tokens import is_same

SOURCE = """\
def heat(u, v):
    n = u.shape[0]
    for i in range(1, n - 1):
        v[i] = 0.5 * (u[i - 1] + u[i + 1])
    for i in range(1, n - 1):
        u[i] = v[i]
"""


@pytest.fixture
def out(polyopt, write, tmp_path: Path) -> Path:
    """The folder of a compiled function."""
    write("heat.py", SOURCE)
    assert polyopt("compile", "heat.py:heat", "-o", "out").code == 0
    return tmp_path / "out"


def refused(polyopt, *targets: str) -> list[str]:
    """Check; return the codes of what is refused."""
    outcome = polyopt("check", *(targets or ("out",)), "--json")
    assert outcome.code in (0, 1), outcome.err
    found = json.loads(outcome.out)
    codes = [f["error"]["code"] for f in found["findings"] if f["verdict"] != "proven"]
    assert outcome.code == (1 if codes else 0)
    return codes


def change(out: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the certificate's data and seal it again, as somebody who knows how would."""
    path = out / "heat.certificate.json"
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(sealed(data))


def row(data: dict[str, Any], table: str, kind: str, number: int = 0) -> dict[str, Any]:
    return [row for row in data[table]["records"] if row["is"] == kind][number]


def test_what_was_written_passes(polyopt, out):
    for target in ("out", "out/heat.c", "out/heat.h", "out/heat.certificate.json"):
        outcome = polyopt("check", target)
        assert outcome.code == 0, outcome.err
        assert outcome.out.startswith("heat: `heat.c` is the text of the certified loops: proven\n")
        assert "heat: its loops compute what the program does (" in outcome.out


def test_the_certificate_is_the_same_in_every_folder(polyopt, out, write, tmp_path, monkeypatch):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "heat.py").write_text(SOURCE)
    monkeypatch.chdir(other)
    polyopt("compile", "heat.py:heat", "-o", "out")
    one, two = (f / "heat.certificate.json" for f in (out, other / "out"))
    assert one.read_text() == two.read_text()
    assert str(tmp_path) not in one.read_text()


def test_a_name_for_the_files(polyopt, write, tmp_path):
    write("heat.py", SOURCE)
    assert polyopt("compile", "heat.py:heat", "-o", "gen/warm.c").code == 0
    names = {"warm.c", "warm.h", "warm.schedule.txt", "warm.certificate.json"}
    assert {p.name for p in (tmp_path / "gen").iterdir()} == names
    assert refused(polyopt, "gen/warm.c") == []


@pytest.mark.parametrize("name", ["heat.c", "heat.h", "heat.certificate.json"])
def test_one_changed_byte_is_refused(polyopt, out, name):
    path = out / name
    text = path.read_bytes()
    draw = random.Random(7)
    for _ in range(16):
        at = draw.randrange(len(text))
        while text[at : at + 1].isspace():  # JSON may be laid out in any way
            at = draw.randrange(len(text))
        changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        path.write_bytes(changed)
        codes = refused(polyopt)
        if not name.endswith(".json") and is_same(changed.decode("latin-1"), text.decode()):
            assert codes == []  # a letter of a comment
            continue
        assert codes, (at, text[max(0, at - 20) : at + 20])
        assert set(codes) <= {"PO0622", "PO0623"}
    path.write_bytes(text)
    assert refused(polyopt) == []


def test_the_line_that_differs_is_shown(polyopt, out):
    text = (out / "heat.c").read_text()
    before, _, after = text.rpartition("0.5 *")
    (out / "heat.c").write_text(f"{before}0.25 *{after}")
    outcome = polyopt("check", "out/heat.c")
    line = before.count("\n") + 1
    assert f"is not the text of the certified loops: line {line} differs" in outcome.err
    assert f"  --> out/heat.c:{line}:1" in outcome.err
    certified, found = (text.splitlines()[line - 1].strip().replace("0.5 *", one)
                        for one in ("0.5 *", "0.25 *"))  # fmt: skip
    assert f"note: certified: {certified}" in outcome.err
    assert f"note: found:     {found}" in outcome.err


LIES = {
    "a number": ("program", "Const", "value", {"float": "0x1.0p+0"}),
    "another array": ("program", "Load", "array", "u"),
    "a shorter domain": ("program", "Statement", "domain",
                         "[n, v_0] -> { S1[i] : 2 <= i <= n - 2 }"),
    "a role": ("program", "Array", "role", "TEMP"),
    "a number in the loops": ("loops", "Const", "value", {"float": "0x1.0p+0"}),
    "another array in the loops": ("loops", "Load", "array", "u"),
    "a step": ("loops", "For", "step", 2),
    "a statement": ("loops", "Assign", "statement", "S0"),
    "a role in the loops": ("loops", "Array", "role", "TEMP"),
}  # fmt: skip


@pytest.mark.parametrize("table, kind, field, value", LIES.values(), ids=LIES.keys())
def test_a_sealed_lie_about_program_or_loops_is_refused(polyopt, out, table, kind, field, value):
    def edit(data: dict[str, Any]) -> None:
        rows = [r for r in data[table]["records"] if r["is"] == kind and field in r]
        other = [r for r in rows if type(r[field]) is type(value) and r[field] != value]
        other[-1][field] = value

    change(out, edit)
    (out / "heat.c").unlink()
    (out / "heat.h").unlink()
    if table == "loops":
        change(out, seal_text)
    codes = refused(polyopt)
    assert codes
    assert set(codes) <= {"PO0622", "PO0624"}


def seal_text(data: dict[str, Any]) -> None:
    """Let the certificate name the C text that its changed loops print."""
    loops = decode(data["loops"], LoopFunction)
    with contextlib.suppress(Exception):
        data["c"] = digest_of(emit_c(loops).text)


def test_a_sealed_lie_about_the_claims_is_refused(polyopt, out):
    change(out, lambda data: data["certificate"]["claims"].pop())
    assert refused(polyopt) == ["PO0624"]
    change(out, lambda data: data.update(certificate=None))
    assert refused(polyopt) == ["PO0623"]


def test_another_signature_is_refused(polyopt, out):
    change(out, lambda data: row(data, "loops", "Signature").update(checks=[]))
    assert refused(polyopt) == ["PO0622"]


def test_another_text_needs_another_digest(polyopt, out):
    (out / "heat.c").unlink()
    assert refused(polyopt) == []
    change(out, lambda data: data.update(text="blake2b-256:" + "0" * 64))
    assert refused(polyopt) == ["PO0623"]


def test_a_c_file_without_certificate(polyopt, out):
    (out / "heat.certificate.json").unlink()
    outcome = polyopt("check", "out/heat.c")
    assert outcome.code == 1
    assert (
        "error[PO0628]: polyopt_heat:" in outcome.err
    )  # judged as any C text: its vectors are not
    (out / "heat.h").write_text("")
    outcome = polyopt("check", "out/heat.h")
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0623]: `out/heat.h` has no certificate")


def test_any_c_file(polyopt, tmp_path):
    text = "void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
    (tmp_path / "own.c").write_text(text)
    outcome = polyopt("check", "own.c")
    assert (outcome.code, outcome.out.count(": proven")) == (0, 2)
    (tmp_path / "own.c").write_text(text.replace("i < n", "i <= n"))
    outcome = polyopt("check", "own.c", "--format", "json")
    assert outcome.code == 1
    assert {"PO0625", "PO0629"} <= set(re.findall(r"PO0\d+", outcome.out))
    assert polyopt("check", "own.c", "--parallel", "i").code == 2


MALFORMED = (
    "", "[]", "{}", "null", "nonsense", "[" * 5000, '{"format": NaN}', '{"a": 1, "a": 1}',
    '{"format": "polyopt-certificate 2"}', '{"format": "polyopt-certificate 1"}', "\x00", "1e999",
)  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_no_certificate_is_refused(polyopt, write, text):
    write("x.certificate.json", text)
    assert refused(polyopt, "x.certificate.json") == ["PO0622"]


def test_records_that_are_well_typed_but_no_kernel(polyopt, out):
    """Whatever is changed and sealed again, the answer is a verdict."""
    draw = random.Random(11)
    path = out / "heat.certificate.json"
    good = json.loads(path.read_text())
    read, rejected = 0, set()
    for _ in range(120):
        data = copy.deepcopy(good)
        records = data[draw.choice(("program", "loops"))]["records"]
        chosen = records[draw.randrange(len(records))]
        field = draw.choice([name for name in chosen if name != "is"])
        others = [r[field] for r in records if field in r and r["is"] == chosen["is"]]
        chosen[field] = draw.choice([*others, 0, 1, [], None, "SUB", "x"])
        text = sealed(data)
        try:
            read_artefact(text, "x")
        except PolyoptError as error:
            rejected.add(error.code)
            continue
        read += 1
        path.write_text(text)
        codes = refused(polyopt)
        harmless = chosen["is"] in HARMLESS or (chosen["is"], field) in FOR_PEOPLE
        assert codes or data == good or harmless, (chosen, field)
    assert rejected == {"PO0622"}
    assert read > 20


FOR_PEOPLE = {("Program", "file"), ("Program", "line"), ("For", "label")}
HARMLESS = {"Loc", "Statement", "Comment", "LoopFunction", "Fault", "Check"}
"""Records with places and texts for people, which no proof is about."""


@pytest.mark.toolchain
def test_the_cache_keeps_the_certificate(write, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    write("warm_source.py", SOURCE)
    heat = importlib.import_module("warm_source").heat
    first, second = (po.kernel(heat).compile() for _ in range(2))
    assert second.timings.keys() == {"cache"}
    text = second.certificate_text
    assert text is not None
    assert text == first.certificate_text
    artefact = read_artefact(text, "x")
    assert artefact.certificate["verdict"] == "proven"
    assert artefact.digest == digest_of(second.source)


def test_a_formula_may_stand_in_another_text_of_isl(polyopt, out):
    def edit(data: dict[str, Any], old: str, new: str) -> None:
        claims = [c for c in data["certificate"]["claims"] if old in c["formula"]]
        assert claims
        for claim in claims:
            claim["formula"] = claim["formula"].replace(old, new)

    change(out, lambda data: edit(data, "0 < i <= -2 + n", "-2 + n >= i and i > 0"))
    assert polyopt("check", str(out)).code == 0
    change(out, lambda data: edit(data, "i > 0", "i > 1"))
    assert refused(polyopt) == ["PO0624"]
