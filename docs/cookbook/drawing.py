"""Draw the order in which the iterations of a schedule run.

In: a schedule, sizes, the loops to use as axes or an array.  Out: SVG.
A line follows the iterations in the order of execution from a ring on; each part that is concurrent
with others has its colour; a bar joins the lanes of a vector, or the iterations of a wavefront; a
dotted line follows the numbers of blocks.  For an array, a panel has time as its axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from polyopt.ir.expr import Load, loads
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import schedule_of
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Statement
from polyopt.schedule import Schedule
from polyopt.schedule import tree as nodes

CELL, TICK = 18, 7  # pixels from an iteration to the next, on a plane and over time
MARGIN = 26
LEAST, MOST_LINES = 120, 40  # pixels, groups that have lines
COLOURS = ("#2f6fb2", "#d2601a", "#2e8b57", "#8e5bb5", "#c43a6b", "#7a8b1f", "#b07d12", "#5f6b76")
CONCURRENT = (LoopKind.PARALLEL, LoopKind.BLOCK, LoopKind.THREAD, LoopKind.LANE, LoopKind.SCAN)


@dataclass(frozen=True)
class Value:
    """A loop, or a sequence without a kind, at an iteration."""

    name: tuple[str, int]
    kind: LoopKind | None
    value: int
    group: int


@dataclass(frozen=True)
class Run:
    """An iteration of a statement.

    `front`: the values of the loops around the first concurrent one.  `part`: of the concurrent
    loops.  `block`: the number of its block of a grid.  `vector`: of all loops around the lanes.
    """

    statement: Statement
    env: Mapping[str, int]
    front: tuple[object, ...]
    part: tuple[object, ...]
    block: tuple[int, ...]
    vector: tuple[object, ...]

    @property
    def group(self) -> tuple[object, ...]:
        """What it shares with the iterations that run one after the other with it."""
        return self.front, self.part


@dataclass(frozen=True)
class Mark:
    """What a panel shows of an iteration: its place, its group, whether it is hollow."""

    x: int
    y: int
    run: Run
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """A plane with marks in the order of execution; `rows` name what is downwards."""

    title: str
    across: str
    down: str
    marks: tuple[Mark, ...]
    tick: int
    lines: bool


def runs(schedule: Schedule, sizes: Mapping[str, int]) -> list[Run]:
    """Return the iterations in the order of execution."""
    scop, tree = schedule.scop, schedule.tree
    order = nodes.time_of(tree, scop.domain)
    found = []
    for step in schedule_of(scop, sizes, order):
        statement = scop.statements[step.position]
        around = list(_around(tree, step.time))
        kinds = [loop.kind for loop in around]
        first = next((n for n, kind in enumerate(kinds) if kind in CONCURRENT), 0)
        part = tuple(loop for loop in around if loop.kind in CONCURRENT)
        rest = tuple(loop for loop in around if loop.kind is not LoopKind.VECTOR)
        lanes = (statement.name, rest) if LoopKind.VECTOR in kinds else ()
        env = {**sizes, **dict(zip(statement.iters, step.point, strict=True))}
        number = _number([loop for loop in around if loop.kind is LoopKind.BLOCK])
        found.append(Run(statement, env, tuple(around[:first]), part, number, lanes))
    return found


def _number(grid: Sequence[Value]) -> tuple[int, ...]:
    """Return what blocks are numbered by: down the columns of a group of rows."""
    values = [loop.value for loop in grid]
    for n, loop in enumerate(grid):
        if loop.group > 1:
            row, column = values[n : n + 2]
            values[n : n + 2] = [row // loop.group, column, row % loop.group]
    return tuple(values)


def _around(tree: nodes.Tree, time: Sequence[int]) -> Iterator[Value]:
    """Yield the loops and sequences around an iteration with their values at its time."""
    match tree:
        case nodes.Band():
            for number, (member, value) in enumerate(zip(tree.members, time, strict=False)):
                yield Value((tree.label, number), member.kind, value, member.group)
            yield from _around(tree.child, time[len(tree.members) :])
        case nodes.Sequence():
            yield Value(("sequence", len(time)), None, time[0], 1)
            yield from _around(tree.parts[time[0]], time[1:])
        case nodes.Filter():
            yield from _around(tree.child, time)


def plane(title: str, found: Sequence[Run], across: str, down: str) -> Panel:
    """Return the panel whose axes are loops of the source; a row a statement without `down`."""
    names = sorted({run.statement.name for run in found})
    marks = []
    for run in found:
        if across in run.env and (not down or down in run.env):
            y = run.env[down] if down else names.index(run.statement.name)
            marks.append(Mark(run.env[across], y, run))
    return Panel(title, across, down or "statement", _moved(marks), CELL, lines=True)


def cells(title: str, found: Sequence[Run], schedule: Schedule, array: str) -> Panel:
    """Return the panel of an array's elements over time; what only reads is hollow."""
    declared = schedule.scop.array(array)
    marks = []
    for time, run in enumerate(found):
        for is_read, load in _accesses(run.statement, array):
            cell = 0
            for index, extent in zip(load.index, declared.shape, strict=True):
                cell = cell * evaluate(extent, run.env) + evaluate(index, run.env)
            marks.append(Mark(time, cell, run, is_read))
    return Panel(f"{title}: {array}", "time", "element", _moved(marks), TICK, lines=False)


def _accesses(statement: Statement, array: str) -> Iterator[tuple[bool, Load]]:
    for load in loads(statement.value):
        if load.array == array:
            yield True, load
    if statement.target.array == array:
        yield False, statement.target


def _moved(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    left = min((m.x for m in marks), default=0)
    top = min((m.y for m in marks), default=0)
    return tuple(Mark(m.x - left, m.y - top, m.run, m.hollow) for m in marks)


def svg(panels: Sequence[Panel], text: str) -> str:
    """Return panels beside each other; `text` says what they show."""
    widths = [max(LEAST, _extent(m.x for m in p.marks) * p.tick) + 2 * MARGIN for p in panels]
    heights = [_extent(m.y for m in p.marks) * p.tick for p in panels]
    width, height = sum(widths), max(heights) + 2 * MARGIN - 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="11">',
        f"<title>{text}</title>",
    ]
    left = 0
    for panel, wide in zip(panels, widths, strict=True):
        lines += [f'<g transform="translate({left},0)">', *_drawn(panel), "</g>"]
        left += wide
    return "\n".join([*lines, "</svg>", ""])


def _extent(values: Iterator[int]) -> int:
    return max(values, default=0) + 1


def _drawn(panel: Panel) -> Iterator[str]:
    keys = list(dict.fromkeys(m.run.group for m in panel.marks))
    yield f'<text x="{MARGIN}" y="13" fill="#667">{panel.title}</text>'
    down = panel.down if panel.down != "statement" else ""
    yield f'<text x="2" y="{MARGIN + 12}" fill="#667">{down[:1] if panel.lines else ""}</text>'
    rows = {m.y: m.run.statement.name for m in panel.marks} if panel.down == "statement" else {}
    for y, name in rows.items():
        yield f'<text x="6" y="{_y(panel, y) + 4}" fill="#667">{name}</text>'
    high = _extent(m.y for m in panel.marks)
    yield (
        f'<text x="{MARGIN}" y="{_y(panel, high) + 8}" fill="#667">'
        f"{panel.across if panel.lines else 'time →, elements ↓'}</text>"
    )
    groups = [[m for m in panel.marks if m.run.group == key] for key in keys]
    fronts = list(dict.fromkeys(m.run.front for m in panel.marks))
    if len(fronts) > 1 and all(len(group) == 1 for group in groups):
        groups = [[m for m in panel.marks if m.run.front == front] for front in fronts]
        for number, group in enumerate(groups):
            yield from _bar([_place(panel, m) for m in group], COLOURS[number % len(COLOURS)])
    elif panel.lines and panel.marks[0].run.block and len(groups) <= MOST_LINES:
        blocks = sorted(groups, key=lambda group: group[0].run.block)
        starts = " ".join("{},{}".format(*_place(panel, block[0])) for block in blocks)
        yield f'<polyline points="{starts}" fill="none" stroke="#667" stroke-dasharray="2 3"/>'
    for number, group in enumerate(groups):
        is_path = panel.lines and len(groups) <= MOST_LINES and len(group) > 1
        is_front = is_path and len({m.run.group for m in group}) > 1
        colour = COLOURS[number % len(COLOURS)]
        if is_path and not is_front:
            yield from _path(panel, group, colour)
        yield from _dots(panel, group, colour)


def _path(panel: Panel, marks: Sequence[Mark], colour: str) -> Iterator[str]:
    """Yield the ring, the line and the bars of iterations that run one after the other."""
    places = [_place(panel, m) for m in marks]
    line = " ".join(f"{x},{y}" for x, y in places)
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" opacity=".6"/>'
    for key, one in groupby(zip(marks, places, strict=True), lambda pair: pair[0].run.vector):
        if key:
            yield from _bar([place for _, place in one], colour)
    x, y = places[0]
    yield f'<circle cx="{x}" cy="{y}" r="6" fill="none" stroke="{colour}"/>'


def _bar(places: Sequence[tuple[int, int]], colour: str) -> Iterator[str]:
    (x, y), (to_x, to_y) = places[0], places[-1]
    yield (
        f'<path d="M{x} {y}L{to_x} {to_y}" stroke="{colour}" stroke-width="12" '
        'stroke-linecap="round" opacity=".3"/>'
    )


def _dots(panel: Panel, marks: Sequence[Mark], colour: str) -> Iterator[str]:
    size = 7 if panel.lines else 5
    for hollow in (False, True):
        places = dict.fromkeys(_place(panel, m) for m in marks if m.hollow == hollow)
        if places:
            path = "".join(f"M{x} {y}h0" for x, y in places)
            faint = ' opacity=".35"' if hollow else ""
            yield (
                f'<path d="{path}" stroke="{colour}" stroke-width="{size}" '
                f'stroke-linecap="round"{faint}/>'
            )


def _place(panel: Panel, mark: Mark) -> tuple[int, int]:
    return _x(panel, mark.x), _y(panel, mark.y)


def _x(panel: Panel, x: int) -> int:
    return MARGIN + x * panel.tick + 4


def _y(panel: Panel, y: int) -> int:
    return MARGIN + y * panel.tick + 4
