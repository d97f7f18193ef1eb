"""The page of `polyopt view`: one file, nothing from elsewhere, escaped, linked by line."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import pytest

from polyopt.building import compile_stages
from polyopt.emit.line_marks import annotated
from polyopt.errors import ToolchainError
from polyopt.explaining import subject_of
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from polyopt.report.iterations import MOST_POINTS, pictures
from polyopt.report.page import LARGEST, Sources, nest_lines, page
from polyopt.report.roofline import roofline
from polyopt.targets import Options
from tests.unit.report import programs

VOID = {"meta", "br", "line", "path"}


def subject_and_code(function):
    options = Options()
    stages = compile_stages(
        function, infer_types(function), options, Machine(cores=4, vector_bytes=32)
    )
    subject = subject_of(function, stages, options)
    return subject, annotated(stages.loops, "c", tuple(subject.statements))


def page_of(function, extra=0):
    import inspect

    pytest.importorskip("jinja2")
    subject, code = subject_and_code(function)
    lines, first = inspect.getsourcelines(function)
    code = (*code, *[("x" * 100, "")] * extra)
    texts = [line.rstrip("\n") for line in lines]
    return page(subject, Sources(first, texts, code, {"schedule": 0.5}, ("the best of <3>",)))


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.lines, self.pane = [], [], {}, ""

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [v for k, v in attrs if k in ("src", "href", "action", "data")]
        if tag == "section":
            self.pane = found["aria-label"]
        if "data-line" in found:
            assert found["tabindex"] == "0"
            self.lines.setdefault(self.pane, set()).add(int(found["data-line"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_stands_alone_and_links_its_texts_by_line():
    text = page_of(programs.sweep)
    assert len(text.encode()) < LARGEST
    found = _Page()
    found.feed(text)
    assert (found.open, found.links) == ([], [])
    assert "url(http" not in text
    assert "//" not in text.partition("<style>")[2].partition("</style>")[0]
    assert found.lines == {"source": {17}, "loop nest": {17}, "code": {17}}
    assert "default-src 'none'" in text


def test_texts_of_programs_are_escaped():
    text = page_of(programs.escaped)
    assert "x[i] &lt; 1.0" in text
    assert "x[i] < 1.0" not in text
    assert "the best of &lt;3&gt;" in text


def test_pages_of_very_long_code_stay_small():
    text = page_of(programs.sweep, extra=200_000)
    assert len(text.encode()) < LARGEST
    assert "The rest is left out." in text


def test_without_jinja2(monkeypatch):
    subject, code = subject_and_code(programs.sweep)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ToolchainError) as refused:
        page(subject, Sources(1, (), code, {}, ()))
    assert refused.value.code == "PO0524"


def test_a_stencil_before_and_after_its_skew():
    subject, _ = subject_and_code(programs.sweep)
    (found,) = pictures(subject.sources[0], subject.schedules[0], subject.names)
    before, after = found.planes
    assert (before.down, before.across) == ("t", "i")
    assert len(before.dots) == len(after.dots) == 8 * 6
    assert len(before.dots) <= MOST_POINTS
    apart = {(a.end[0] - a.start[0], a.end[1] - a.start[1]) for a in before.arrows}
    assert apart == {(-1, 1), (0, 1), (1, 1)}
    skewed = {(a.end[0] - a.start[0], a.end[1] - a.start[1]) for a in after.arrows}
    assert all(dx >= 0 and dy >= 0 for dx, dy in skewed)
    assert len(before.arrows) == len(after.arrows)


def test_versions_for_other_sizes_are_not_shown():
    options = Options(schedule="version(N <= 4); parallelize(L0.v1[0])")
    stages = compile_stages(programs.doubled, infer_types(programs.doubled), options, Machine())
    for size, is_parallel in ((3, False), (100, True)):
        subject = subject_of(programs.doubled, stages, options, {"N": size})
        (nest,) = subject.nests
        assert nest.is_parallel == is_parallel
        lines = "\n".join(nest_lines(subject))
        assert ("parallel for i" in lines) == is_parallel
        assert lines.count("for i in") == 1
    (found,) = pictures(subject.sources[0], subject.schedules[0], subject.names)
    assert found.planes[1].down == "i (parallel)"


def test_nests_lie_below_their_roofs():
    subject, _ = subject_and_code(programs.sweep)
    found = roofline(subject)
    (mark,) = found.marks
    compute = next(roof for roof in found.roofs if roof.name == "compute")
    assert found.low < mark.place[1] <= compute.left[1] + 1e-9
    for roof in found.roofs[1:]:
        (x, y), (place, speed) = roof.left, mark.place
        if roof.name == "memory":
            assert speed <= y + (place - x) + 1e-9
