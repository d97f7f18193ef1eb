"""`polyopt check` on functions, files and folders: verdicts, places, formats, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HEAT = """\
import polyopt as po


def heat(u, v):
    n = u.shape[0]
    for i in po.prange(1, n - 1):
        v[i] = 0.5 * (u[i - 1] + u[i + 1])
    for i in range(1, n - 1):  # polyopt: fusable
        u[i] = v[i]


def sweep(u):
    for t in range(10):
        # polyopt: parallel
        for i in range(1, u.shape[0]):
            u[i] = u[i - 1] + u[i]


def copy(a, b, c):
    for i in po.parallel(range(a.shape[0])):  # the range is said to be parallel
        a[i] = 2.0 * b[i]
    # polyopt: fusable
    for i in range(a.shape[0]):
        c[i] = a[i] + 1.0
    c[:-1] = a[:-1]
"""
ROWS = """\
import polyopt as po


def rows(y, value, start):
    for i in po.prange(y.shape[0]):
        for k in range(start[i], start[i + 1]):
            y[i] += value[k]


def scattered(y, row, value, start):
    for i in po.prange(row.shape[0]):
        for k in range(start[i], start[i + 1]):
            y[row[i]] += value[k]


def written_out(a):
    for k in po.parallel((0, 1)):
        a[k] = 0.0


def numbered(a, b):
    for i, x in enumerate(po.parallel(a)):
        b[i] = x
"""


@pytest.fixture
def heat(write):
    return write("heat.py", HEAT)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("error", "warning", "  -->"))]


def test_what_a_file_says_of_its_loops(polyopt, heat):
    outcome = polyopt("check", "heat.py")
    assert outcome.code == 1
    assert outcome.out == (
        "heat: loop `i` (line 6) is parallel: proven for all sizes\n"
        "copy: loop `i` (line 20) is parallel: proven for all sizes\n"
        "copy: loops `i` (line 20) and `i` (line 23) may be fused: proven for all sizes\n"
    )
    assert lines(outcome.err) == [
        "error[PO0311]: loops `i` (line 6) and `i` (line 8) may be fused: refuted: it reverses a "
        "dependence at loop `i`",
        "  --> heat.py:8:5",
        "error[PO0312]: loop `i` (line 15) is parallel: refuted: the loop `i` carries a dependence",
        "  --> heat.py:15:9",
    ]
    assert "iteration (t=0, i=1) writes u[1], then iteration (t=0, i=2) reads it" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("3 proven, 2 refuted (")


def test_marks_mean_nothing_when_python_runs_them(heat, tmp_path, monkeypatch):
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("heat")
    sys.modules.pop("heat")
    a = [0.0, 0.0]
    b, c = [1.0, 2.0], [0.0, 0.0]
    with pytest.raises(AttributeError):
        module.copy(a, b, c)  # lists have no shape: it is plain Python that runs
    import numpy as np

    u = np.array([1.0, 2.0, 4.0])
    module.heat(u, np.zeros(3))
    assert u.tolist() == [1.0, 2.5, 4.0]


def test_every_claim_is_judged(polyopt, heat):
    claims = ("--parallel", "t", "--parallel", "15", "--parallel", "z", "--fuse", "13", "15")
    outcome = polyopt("check", "heat.py:sweep", *claims, "--step", "tile(L0, 8)")
    assert outcome.code == 1
    assert re.findall(r"error\[(PO\d+)\]", outcome.err) == [
        "PO0312", "PO0312", "PO0312", "PO0301", "PO0305",
    ]  # fmt: skip
    assert "help: loops: `t` (line 13), `i` (line 15)" in outcome.err
    assert outcome.out == "sweep: tile(L0, 8) is legal: proven for all sizes\n"


def test_loops_of_array_expressions_go_by_their_line(polyopt, heat):
    outcome = polyopt("check", "heat.py:copy", "--parallel", "25", "--fuse", "23", "25")
    assert outcome.code == 0
    assert "copy: loop `j` (line 25) is parallel: proven for all sizes\n" in outcome.out
    assert "copy: loops `i` (line 23) and `j` (line 25) may be fused: proven" in outcome.out


def test_a_name_that_several_loops_have(polyopt, heat):
    outcome = polyopt("check", "heat.py:copy", "--fuse", "i", "25")
    assert "`i` names several loops\n   = help: say which one by its line: 20, 23" in outcome.err
    assert polyopt("check", "heat.py:copy", "--parallel", "i").code == 0


def test_steps_after_a_refused_one_are_judged_too(polyopt, write):
    write("f.py", "def f(u):\n    for t in range(9):\n        for i in range(1, u.shape[0] - 1):\n"
          "            u[i] = u[i - 1] + u[i + 1]\n")  # fmt: skip
    text = "tile(L0, 8, 8)\nparallelize(i_tile)\nvectorize(i)\ntile(L0, 4)"
    write("steps.txt", text)
    outcome = polyopt("check", "f.py:f", "--schedule", "steps.txt")
    assert outcome.code == 1
    assert lines(outcome.err)[1::2] == [f"  --> steps.txt:{line}:1" for line in (1, 2, 3)]
    assert re.findall(r"error\[(PO\d+)\]", outcome.err) == ["PO0311", "PO0301", "PO0312"]
    assert "`tile(L0, 8, 8)` before it was refused" in outcome.err
    assert outcome.out == "f: tile(L0, 4) is legal: proven for all sizes\n"


def test_repair_prints_a_schedule_that_is_legal(polyopt, write, tmp_path):
    write("f.py", "def f(u):\n    for t in range(9):\n        for i in range(1, u.shape[0] - 1):\n"
          "            u[i] = u[i - 1] + u[i + 1]\n")  # fmt: skip
    outcome = polyopt("check", "f.py:f", "--step", "tile(L0, 8, 8)", "--repair")
    assert outcome.code == 0
    assert "error[PO0311]" in outcome.err
    assert "skew(" in outcome.out
    write("fixed.txt", outcome.out)
    again = polyopt("check", "f.py:f", "--schedule", "fixed.txt")
    assert (again.code, again.err.count("error")) == (0, 0)


def test_regions_are_judged_by_what_they_may_touch(polyopt, write):
    write("rows.py", ROWS)
    outcome = polyopt("check", "rows.py")
    assert outcome.code == 1
    assert outcome.out == (
        "rows: loop `i` (line 5) is parallel: proven for all sizes\n"
        "numbered: loop `i` (line 22) is parallel: proven for all sizes\n"
    )
    assert lines(outcome.err) == [
        "error[PO0338]: the loop `i` is not proven parallel: what it runs over, or touches, is "
        "decided while it runs",
        "  --> rows.py:11:5",
        "error[PO0339]: written_out: the loop on line 17 is parallel: no single loop of the "
        "program is the one written there",
        "  --> rows.py:17:5",
    ]


SUMS = """\
import polyopt as po


def total(a):
    s = 0.0
    for i in {}:
        s += a[i]
    return s


def running(a, b):
    s = 0.0
    for i in {}:
        s += a[i]
        b[i] = s


def counted(at, h):
    for i in {}:
        h[at[i]] += 1.0
"""


def test_a_prange_may_make_sums(polyopt, write):
    write("sums.py", SUMS.replace("{}", "po.prange(a.shape[0])", 2).format("po.prange(len(at))"))
    outcome = polyopt("check", "sums.py")
    claim = "loop `i` (line 6) is parallel as a reduction of `s` by +"
    assert outcome.out == f"total: {claim}: proven for all sizes\n"
    assert re.findall(r"error\[PO0312\]: (.*): the loop", outcome.err) == [
        "loop `i` (line 13) is parallel: refuted",
        "loop `i` (line 19) is parallel: not proven",
    ]
    write("sums.py", SUMS.replace("{}", "po.parallel(range(a.shape[0]))", 2).format("range(3)"))
    outcome = polyopt("check", "sums.py")
    assert outcome.out == "counted: accepted, 2 statements; nothing was claimed\n"
    assert outcome.err.count("refuted: the loop `i` carries a dependence") == 2


def test_comments_that_say_nothing(polyopt, write):
    write("f.py", "def f(a):\n    # polyopt: parallel\n    n = a.shape[0]\n"
          "    for i in range(n):  # polyopt: paralel, fusable\n        a[i] = 0.0\n")  # fmt: skip
    outcome = polyopt("check", "f.py")
    assert outcome.code == 1
    assert lines(outcome.err) == [
        "error[PO0621]: f: the comment stands at no `for` loop", "  --> f.py:2:5",
        "error[PO0621]: f: `paralel` says nothing about a loop", "  --> f.py:4:25",
        "error[PO0621]: f: there is no loop before it to be fused with", "  --> f.py:4:25",
    ]  # fmt: skip


def test_a_kernel_s_own_schedule_is_a_claim(polyopt, write):
    write("k.py", "import polyopt as po\n\n@po.kernel(schedule='parallelize(i)')\ndef k(a):\n"
          "    for i in range(1, a.shape[0]):\n        a[i] = a[i - 1]\n")  # fmt: skip
    outcome = polyopt("check", "k.py")
    assert outcome.code == 1
    assert outcome.err.startswith("error[PO0312]: parallelize(i) is not legal: ")
    assert polyopt("check", "k.py:k", "--schedule", "source").code == 0


# -- files and folders ----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, heat: Path) -> Path:
    folder = tmp_path / "src"
    package = folder / "pkg"
    package.mkdir(parents=True)
    heat.rename(folder / "heat.py")
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("LEFT = 1\n")
    (package / "left.py").write_text(
        "import polyopt as po\nfrom .sizes import LEFT\n\n\n@po.kernel\ndef left(a, b):\n"
        "    for i in po.prange(LEFT, a.shape[0]):\n        a[i] = b[i - LEFT]\n"
        "\n\n@po.kernel\ndef refused(a):\n    return open(a)\n"
    )
    (folder / "script.py").write_text("raise SystemExit('a script that claims nothing is not run')")
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "missing.py").write_text(
        "import not_there\n\ndef f(a):\n    for i in po.prange(3):\n        a[i] = 1\n"
    )
    return folder


def test_a_folder_is_checked_and_what_cannot_be_read_is_skipped(polyopt, project):
    outcome = polyopt("check", "src")
    assert outcome.code == 1
    assert "left: loop `i` (line 7) is parallel: proven for all sizes\n" in outcome.out
    skipped = [line for line in outcome.err.splitlines() if line.startswith("skipped ")]
    assert [(line.split()[1], line.split()[-1]) for line in skipped] == [
        ("src/broken.py:", "[PO0603]"),
        ("src/missing.py:", "[PO0604]"),
        ("src/pkg/left.py:refused:", "[PO0611]"),
    ]
    assert "script that claims nothing" not in outcome.err


def test_strict_fails_where_something_was_skipped(polyopt, project):
    assert polyopt("check", "src/pkg").code == 0
    assert polyopt("check", "src/pkg", "--strict").code == 1


def test_several_targets(polyopt, project):
    outcome = polyopt("check", "src/heat.py:heat", "src/pkg", "--format", "json")
    record = json.loads(outcome.out)
    assert [f["function"] for f in record["findings"]] == ["heat", "heat", "left"]
    assert [(s["function"], s["code"]) for s in record["skipped"]] == [
        ("src/pkg/left.py:refused", "PO0611")
    ]


def test_a_folder_without_python(polyopt, tmp_path):
    (tmp_path / "empty").mkdir()
    outcome = polyopt("check", "empty")
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0601]: there is no Python file and no certificate")


def test_a_function_that_is_named_and_refused(polyopt, write):
    write("loop.py", "def f(a):\n    while True:\n        a[0] *= 0.5\n")
    outcome = polyopt("check", "loop.py:f")
    assert outcome.code == 1
    assert outcome.err.startswith("error[PO0110]: ")
    assert "  --> loop.py:2:5\n" in outcome.err


# -- formats --------------------------------------------------------------------------------------


def test_json(polyopt, heat):
    outcome = polyopt("check", "heat.py", "--json")
    record = json.loads(outcome.out)
    assert outcome.err == ""
    verdicts = [(f["function"], f["verdict"]) for f in record["findings"]]
    assert verdicts.count(("heat", "refuted")) == 1
    refuted = next(f for f in record["findings"] if f["function"] == "sweep")
    assert refuted["loc"] == {"file": "heat.py", "line": 15, "col": 9}
    assert refuted["error"]["code"] == "PO0312"
    assert refuted["witness"]["array"] == "u"
    assert refuted["witness"]["cell"] == [1]
    assert [place["text"] for place in refuted["places"]] == [
        "iteration (t=0, i=1) writes u[1]", "iteration (t=0, i=2) reads u[1]",
    ]  # fmt: skip


def test_sarif(polyopt, heat):
    outcome = polyopt("check", "heat.py", "--format", "sarif")
    log = json.loads(outcome.out)
    assert outcome.code == 1
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["PO0311", "PO0312"]
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["level"], result["kind"]) == ("error", "fail")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "heat.py", "uriBaseId": "ROOT"}
        assert "example: " in result["message"]["text"]
        assert result["relatedLocations"][1]["message"]["text"].endswith("u[1]")
    second = run["results"][1]
    region = second["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 15, "startColumn": 9}
    inside = second["relatedLocations"][1]["physicalLocation"]["region"]
    assert inside == {"startLine": 16, "startColumn": 13, "endLine": 16, "endColumn": 35}
    first = second["partialFingerprints"]
    assert first != run["results"][0]["partialFingerprints"]


def test_github_annotations(polyopt, heat):
    outcome = polyopt("check", "heat.py", "--format", "github")
    found = outcome.out.splitlines()
    assert len(found) == 2
    assert found[1].startswith(
        "::error file=heat.py,line=15,col=9,title=polyopt PO0312::sweep: loop `i` (line 15) is "
        "parallel: refuted: the loop `i` carries a dependence%0Aexample: "
    )


def test_nothing_in_a_source_ends_an_annotation(polyopt, tmp_path):
    folder = tmp_path / "odd,name:here"
    folder.mkdir()
    (folder / "f%0A::error::g.py").write_text(
        "def f(a):\n    # polyopt: 100%,\x1b[31m::error::\n    for i in range(3):\n"
        "        a[i] = 1.0\n"
    )
    outcome = polyopt("check", "odd,name:here", "--format", "github")
    for line in outcome.out.splitlines():
        assert line.startswith("::error file=odd%2Cname%3Ahere/f%250A%3A%3Aerror%3A%3Ag.py,line=2,")
        assert "\x1b" not in line
    assert len(outcome.out.splitlines()) == 2
    assert "`100%25`" in outcome.out
