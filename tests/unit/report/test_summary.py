"""The summary of a kernel: at most 25 lines, in the user's names, with what blocks each loop."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import polyopt as po
import workloads
from polyopt.building import compile_stages
from polyopt.errors import PolyoptError
from polyopt.explaining import explanation, subject_of
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from polyopt.report.summary import summarize
from polyopt.report.summary_html import summary_html
from polyopt.report.summary_text import MOST, WIDTH, summary_lines, summary_record
from polyopt.specialize import Parameters, types_of
from polyopt.targets import FpMode, Options
from tests.unit.report import programs

DEFAULT = Options()
MACHINE = Machine(cores=4, vector_bytes=32)
FORMS = [(w, form) for w in workloads.all() for form in w.forms][::47]


def summary_of(function, types=None, options=DEFAULT, **sizes):
    stages = compile_stages(function, types or infer_types(function), options, MACHINE)
    return summarize(subject_of(function, stages, options, sizes))


@pytest.mark.parametrize(("workload", "form"), FORMS, ids=[f"{w.name}-{f}" for w, f in FORMS])
def test_every_summary_is_short(workload, form):
    function = workload.forms[form]
    size = {name: max(8, workload.least.get(name, 0)) for name in workload.parameters}
    values = Parameters.of(function).bind((), workload.make(size))
    kernel = po.kernel(function, budget=30.0)
    try:
        lines = str(kernel.explain(*values)).splitlines()
    except PolyoptError as error:  # the front end refuses it, whatever explains it
        pytest.skip(error.code)
    assert 4 <= len(lines) <= MOST
    assert max(map(len, lines)) <= WIDTH
    assert "predicted" in lines[0]


def test_a_stencil(capsys):
    found = summary_of(programs.sweep)
    (nest,) = found.nests
    assert nest.parallel == ("i in wavefronts",)
    assert nest.vector == ("i",)
    assert dict(nest.tiles).keys() == {"t", "i"}
    assert (found.count, found.sizes) == (1, "T=1000, N=1000")
    (reason,) = found.reasons
    assert reason.what == "loop t (programs.py:15) is serial"
    assert reason.why == "`u[t + 1, i]` of line 17 is read in the next iteration by line 17"


def test_sizes_have_the_names_of_the_source():
    types = types_of(Parameters.of(programs.smooth), (np.zeros(5), 3), frozenset())
    text = "\n".join(summary_lines(summary_of(programs.smooth, types, n=700)))
    assert "n=700, u.shape[0]=1000" in text
    assert "u_0" not in text
    assert "`u[i]` of line 11 is read in the next iteration by line 11" in text


def test_the_flow_through_the_users_array_is_named_not_that_through_a_temporary():
    found = summary_of(programs.train)
    first = next(r for r in found.reasons if r.what.startswith("loop _epoch"))
    assert first.why.startswith("`w[")
    assert "is read in the next iteration by line" in first.why
    assert all("tmp" not in reason.why for reason in found.reasons)
    assert all(nest.around == ("loop _epoch",) for nest in found.nests)


def test_a_loop_whose_end_is_decided_while_it_runs():
    found = summary_of(programs.search)
    whiles = [r for r in found.reasons if "the loop of line" in r.what]
    assert [r.why for r in whiles] == [
        "`x` of line 37 is read in the next iteration by line 37, as far as can be told"
    ]


def test_losses_come_first_and_nests_by_time():
    found = summary_of(programs.chain, N=100_000)
    seconds = [nest.seconds for nest in found.nests]
    assert seconds == sorted(seconds, reverse=True)
    losses = [reason.loss for reason in found.reasons]
    assert losses == sorted(losses, reverse=True)
    assert sum(seconds) + found.rest == pytest.approx(found.seconds)


def test_subscripts_are_those_of_the_source():
    whys = [reason.why for reason in summary_of(programs.scatter).reasons]
    assert any(why.startswith("`x[p[i]]` of line ") for why in whys)
    assert all(" if " not in why for why in whys)


def test_calls_of_libraries_are_named():
    lines = summary_lines(summary_of(programs.solved))
    assert any("calls numpy.linalg.solve, whose time is not predicted" in line for line in lines)


def test_a_sum_in_order_is_a_loss_that_a_mode_lifts():
    found = summary_of(programs.dot)
    (reason,) = found.reasons
    assert reason.loss > 0.1 * found.seconds
    assert reason.why == "`s` of line 57 is read in the next iteration by line 57"
    assert reason.lift.startswith('fp="reassociate" allows ')
    lines = summary_lines(found)
    assert any(line.endswith("]") and "[costs " in line for line in lines)
    opened = summary_of(programs.dot, None, Options(fp=FpMode.REASSOCIATE))
    assert opened.nests[0].parallel == ("i",)


def test_one_thread_is_said():
    found = summary_of(programs.escaped, None, Options(threads=1))
    assert found.nests[0].lacks[0] == "not parallel (one thread)"


def test_the_record_is_plain_data():
    found = summary_of(programs.sweep)
    record = json.loads(json.dumps(summary_record(found)))
    assert record["nests"][0]["limit"].endswith(("compute", "bandwidth", "other"))
    assert record["reasons"][0]["what"].startswith("loop t")


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_table_is_closed_escaped_and_needs_nothing():
    text = summary_html(summary_of(programs.escaped))
    parser = _Tags()
    parser.feed(text)
    assert (parser.open, parser.links) == ([], [])
    assert parser.seen <= {
        "div", "p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"
    }  # fmt: skip
    from polyopt.dataclass import replace

    found = replace(summary_of(programs.sweep), name="<script>alert(1)</script>")
    assert "<script" not in summary_html(found)


def test_kernels_show_tables_once_they_are_compiled():
    kernel = po.kernel(programs.sweep)
    assert kernel._repr_html_() is None
    shown = kernel.explain()
    assert shown._repr_html_().startswith("<div>")
    assert str(shown).splitlines()[0].startswith("sweep (programs.py:14): 1 nest, ")


@pytest.mark.toolchain
def test_a_compiled_kernel_explains_itself():
    kernel = po.kernel(programs.sweep)
    u = np.ones((4, 40))
    kernel(u, 3)
    assert "<table>" in kernel._repr_html_()
    compiled = kernel.compile(u, 3)
    assert str(kernel.explain()) == str(compiled.explain())
    assert "parallel for" in str(compiled.explain("nest"))


@pytest.mark.toolchain
def test_a_table_that_cannot_be_made_is_none(monkeypatch):
    kernel = po.kernel(programs.sweep)
    kernel(np.ones((4, 40)), 3)

    def refuse(*_args, **_kwargs):
        raise po.UsageError("PO0632", "no level", hint="none")

    monkeypatch.setattr("polyopt.explaining.explanation", refuse)
    assert kernel._repr_html_() is None


def test_levels_add_to_the_summary():
    stages = compile_stages(programs.sweep, infer_types(programs.sweep), Options(), MACHINE)
    brief = str(explanation(programs.sweep, stages, Options(), "summary", {}))
    full = str(explanation(programs.sweep, stages, Options(), "full", {}))
    assert full.startswith(brief)
    assert "\ndependences\n" in full


def test_an_unknown_level_is_refused():
    with pytest.raises(po.UsageError) as refused:
        po.kernel(programs.sweep).explain(level="assembley")
    assert refused.value.code == "PO0632"
    assert "did you mean `assembly`?" in refused.value.hint


def matrix_product(A: po.f64["N,K"], B: po.f64["K,M"]):  # noqa: F821, UP037
    return A @ B


def test_a_library_that_is_predicted_to_be_faster_is_named():
    plain = Options(schedule="source")
    lines = summary_lines(summary_of(matrix_product, options=plain, N=500, K=400, M=300))
    (told,) = [line for line in lines if "a BLAS library would take" in line]
    assert "library(S1)" in told
    given = summary_of(matrix_product, options=Options(schedule="library(S1)"), N=500, K=400, M=300)
    assert any("by a BLAS library" in line for line in summary_lines(given))
    assert given.seconds < summary_of(matrix_product, options=plain, N=500, K=400, M=300).seconds
    lines = summary_lines(summary_of(programs.doubled, options=plain))
    assert not any("BLAS" in line for line in lines)
