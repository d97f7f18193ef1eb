"""`polyopt check` and `polyopt explain`: claims, witnesses, reasons, pages."""

from __future__ import annotations

import json
import re

import pytest

# -- check --------------------------------------------------------------------------------------


def test_a_claim_that_holds(polyopt, demo):
    outcome = polyopt("check", "demo.py:matmul", "--parallel", "i", "--parallel", "j")
    assert outcome.code == 0
    assert outcome.out == (
        "matmul: loop `i` (line 9) is parallel: proven for all sizes\n"
        "matmul: loop `j` (line 10) is parallel: proven for all sizes\n"
    )


@pytest.mark.parametrize(
    "claim, code",
    [
        (["--parallel", "i"], "PO0312"),
        (["--schedule", "parallelize(i)"], "PO0312"),
        (["--schedule", "vectorize(i)"], "PO0312"),
        (["--schedule", "parallelize(z)"], "PO0301"),
        (["--schedule", "turn(i)"], "PO0322"),
    ],
)
def test_a_claim_that_does_not_hold(polyopt, demo, claim, code):
    outcome = polyopt("check", "demo.py:blur", *claim)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith(f"error[{code}]: ")


def test_the_refusal_shows_two_iterations(polyopt, demo):
    outcome = polyopt("check", "demo.py:blur", "--parallel", "i")
    assert "iteration (i=1) writes u[1], then iteration (i=2) reads it" in outcome.err
    assert "  --> demo.py:16:5\n" in outcome.err
    assert "note: demo.py:17:9: u[i] = 0.5" in outcome.err


def test_the_source_order_is_legal(polyopt, demo):
    outcome = polyopt("check", "demo.py:blur", "--schedule", "source")
    assert outcome.code == 0
    assert outcome.out == "blur: the order of the source is legal: proven for all sizes\n"


# -- explain ------------------------------------------------------------------------------------


def test_explain_tells_why_loops_are_not_parallel(polyopt, demo):
    outcome = polyopt(
        "explain", "demo.py:blur", "--schedule", "source", "--timing", "--level", "full"
    )
    assert outcome.code == 0
    summary, _, full = outcome.out.partition("\n\nblur (demo.py:15)\n\n")
    assert summary.startswith("blur (demo.py:15): 1 nest, ")
    titles = [line for line in full.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "arrays", "statements", "dependences", "storage", "steps", "loop nest", "fusion", "loops",
        "numerics", "timings",
    ]  # fmt: skip
    assert "  L0[0] i (S0): in order, because it carries a dependence\n" in outcome.out
    assert "  flow   u: S0 -> S0, distance (1)\n" in outcome.out
    assert "  u: read from before, written\n" in outcome.out
    timings = outcome.out.partition("\ntimings\n")[2].splitlines()
    assert timings[0].startswith("  frontend ")
    measured = [line.split()[0] for line in timings if " operations" in line]
    assert {"dependences", "order", "certificate"} <= set(measured)


MEMORY = """\
import polyopt as po


def sweep(x: po.f64["n"], steps: int):
    y = x * 2.0
    for t in range(steps):
        for i in range(1, x.shape[0]):
            y[i] += y[i - 1]
        for i in range(x.shape[0]):
            x[i] = y[x.shape[0] - 1 - i]
"""


@pytest.mark.parametrize(("target", "place"), [("c", "heap"), ("cuda", "memory of the device")])
def test_explain_tells_what_temporaries_take(polyopt, tmp_path, target, place):
    (tmp_path / "memory.py").write_text(MEMORY)
    path = str(tmp_path / "memory.py")
    outcome = polyopt("explain", path, "--sizes", "n=10", "--target", target, "--level", "full")
    storage = outcome.out.partition("\nstorage\n")[2].partition("\n\n")[0].splitlines()
    assert f"  y: n * 8 bytes = 80, {place}: a temporary of the source" in storage
    assert f"  at most at once, {place}: n * 8 bytes = 80" in storage


def test_explain_tells_what_is_parallel(polyopt, demo):
    steps = "parallelize(i); interchange(j, k); vectorize(j)"
    outcome = polyopt("explain", "demo.py:matmul", "--schedule", steps, "--json")
    record = json.loads(outcome.out)
    assert record["steps"] == steps.split("; ")
    assert "parallel across threads" in record["loops"][0]


def test_explain_is_brief(polyopt, demo):
    outcome = polyopt("explain", "demo.py:blur")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) <= 25
    assert lines[0].startswith("blur (demo.py:15): 1 nest, ")
    blocked = "`u[i]` of line 17 is read in the next iteration by line 17"
    assert any(blocked in line for line in lines)
    nearer = polyopt("explain", "demo.py:blur", "--level", "nest").out
    assert nearer.startswith(outcome.out.rstrip())
    assert "line 17: u[i] = " in nearer[len(outcome.out) :]
    code = polyopt("explain", "demo.py:blur", "--level", "code").out
    assert "// line 17: u[i] = " in code


def test_explain_why_not(polyopt, demo):
    outcome = polyopt("explain", "demo.py:blur", "--why-not", "parallel:i")
    assert outcome.code == 0
    assert outcome.out.startswith("loop i (demo.py:16) cannot run in parallel: `u[i]` of line 17")
    assert "\n   example: " in outcome.out
    record = json.loads(polyopt("explain", "demo.py:matmul", "--why-not", "tile:i", "--json").out)
    (answer,) = record["answers"]
    assert answer["is_free"]
    assert answer["predicted"].startswith("predicted at ")
    assert polyopt("explain", "demo.py:blur", "--why-not", "parallel").code == 2


@pytest.mark.toolchain
def test_the_c_compiler_is_part_of_the_times(polyopt, demo):
    out = polyopt("explain", "demo.py:blur", "--timing").out
    assert re.search(r"^  build  +[0-9.]+ ms", out, re.MULTILINE)


def test_times_without_a_c_compiler(polyopt, demo, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    out = polyopt("explain", "demo.py:blur", "--timing").out
    assert "build: not measured: " in out
    assert "[PO0501]" in out


def test_view_writes_a_page(polyopt, demo, tmp_path):
    pytest.importorskip("jinja2")
    outcome = polyopt("view", "demo.py:blur")
    assert (outcome.code, outcome.out) == (0, "blur.html\n")
    assert (tmp_path / "blur.html").read_text().startswith("<!DOCTYPE html>")
    assert polyopt("view", "demo.py:blur", "-o", "-").out.startswith("<!DOCTYPE html>")
    refused = polyopt("view", "demo.py:blur", "-o", "nowhere/page.html")
    assert refused.code == 2
    assert "error[PO0614]: `nowhere/page.html` cannot be written" in refused.err


def test_explain_a_code(polyopt):
    outcome = polyopt("explain", "po0312")
    assert outcome.code == 0
    assert outcome.out.startswith("PO0312: A loop that carries a dependence")
