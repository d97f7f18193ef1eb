"""The schedule language: what it reads, what it refuses and how."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.schedule import source_schedule
from polyopt.transforms import (
    Affine,
    Cut,
    Distribute,
    Fuse,
    Fusion,
    Interchange,
    Parallelize,
    Peel,
    Reorder,
    Separate,
    Sink,
    Skew,
    Tile,
    Unroll,
    Vectorize,
    parse_schedule,
    parse_steps,
)
from polyopt.transforms.text import STEPS
from tests import scops

EVERY = (
    Affine(Fusion.MIN),
    Affine(Fusion.MAX),
    Cut("L0", 1),
    Distribute("L0"),
    Distribute("L0", 2),
    Fuse("L0", "L1"),
    Fuse("L0", "L1", 2),
    Interchange("i", "L0.tile[1]"),
    Parallelize("L0.point.tile[0]"),
    Peel("L0"),
    Reorder("L0", (1, 0, 2)),
    Separate("L0.tile", "L0.point", (6, 0, 16)),
    Sink("i"),
    Skew("i", "t", -1),
    Tile("L0", (32,)),
    Tile("L0", (1, 2, 3)),
    Unroll("j"),
    Vectorize("j"),
)


@pytest.mark.parametrize("step", EVERY, ids=str)
def test_round_trip(step):
    assert parse_steps(str(step)) == (step,)


def test_every_step_of_the_language_is_in_the_list():
    assert {str(step).partition("(")[0] for step in EVERY} == set(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_the_examples_in_hints_can_be_read(name):
    (step,) = parse_steps(STEPS[name].example)
    assert str(step).startswith(f"{name}(")


def test_several_lines_and_comments():
    text = """
    # the outer loops
    tile(L0, 2, 3);  parallelize( L0.tile[0] )   # threads; not lanes
    ;;
    vectorize(L0.point[1])
    """
    assert parse_steps(text) == (
        Tile("L0", (2, 3)),
        Parallelize("L0.tile[0]"),
        Vectorize("L0.point[1]"),
    )
    assert parse_steps("") == ()
    assert parse_steps("# nothing\n\n;") == ()


def test_a_schedule_replays_from_its_text():
    first = source_schedule(scops.transposed()).apply(
        Tile("L0", (2, 3)), Parallelize("L0.tile[0]"), Vectorize("L0.point[1]")
    )
    again = parse_schedule(source_schedule(scops.transposed()), first.text)
    assert again.trace == first.trace
    assert str(again) == str(first)
    assert first.text == "tile(L0, 2, 3);\nparallelize(L0.tile[0]);\nvectorize(L0.point[1])"


def test_text_is_proven_not_trusted():
    with pytest.raises(IllegalSchedule) as refused:
        parse_schedule(source_schedule(scops.prefix()), "parallelize(i)")
    assert refused.value.code == "PO0312"


REFUSED = [
    ("tile L0", "PO0321", "schedule line 1: `tile L0` is not a step"),
    ("tile(L0, 4", "PO0321", "schedule line 1: `tile(L0, 4` is not a step"),
    ("tile(L0, (4))", "PO0321", "schedule line 1: `tile(L0, (4))` is not a step"),
    ("unroll(i) unroll(j)", "PO0321", "schedule line 1: `unroll(i) unroll(j)` is not a step"),
    ("unroll(i)\n\nrotate(i)", "PO0322", "schedule line 3: there is no step `rotate`"),
    ("Tile(L0, 4)", "PO0322", "schedule line 1: there is no step `Tile`"),
    ("tile(L0, x)", "PO0323", "schedule line 1: `tile(L0, x)`: `x` is not a whole number"),
    ("tile(L0, 1.5)", "PO0323", "schedule line 1: `tile(L0, 1.5)`: `1.5` is not a whole number"),
    ("tile(L0, 1_0)", "PO0323", "schedule line 1: `tile(L0, 1_0)`: `1_0` is not a whole number"),
    ("tile()", "PO0323", "schedule line 1: `tile()`: wrong number of arguments"),
    (
        "interchange(i)",
        "PO0323",
        "schedule line 1: `interchange(i)`: 2 arguments are needed, 1 was given",
    ),
    (
        "parallelize(i, j)",
        "PO0323",
        "schedule line 1: `parallelize(i, j)`: 1 argument is needed, 2 were given",
    ),
    ("cut(L0)", "PO0323", "schedule line 1: `cut(L0)`: 2 arguments are needed, 1 was given"),
    ("fuse(L0)", "PO0323", "schedule line 1: `fuse(L0)`: wrong number of arguments"),
    (
        "distribute(L0, 1, 2)",
        "PO0323",
        "schedule line 1: `distribute(L0, 1, 2)`: wrong number of arguments",
    ),
    (
        "skew(i, j, 1, 2)",
        "PO0323",
        "schedule line 1: `skew(i, j, 1, 2)`: wrong number of arguments",
    ),
    ("affine(most)", "PO0323", "schedule line 1: `affine(most)`: `most` is neither max nor min"),
    (
        "tile(L0,, 4)",
        "PO0323",
        "schedule line 1: `tile(L0,, 4)`: an argument is neither a name nor a number",
    ),
    (
        "unroll(i;j)",
        "PO0321",
        "schedule line 1: `unroll(i` is not a step",
    ),
    (
        "unroll('i')",
        "PO0323",
        "schedule line 1: `unroll('i')`: an argument is neither a name nor a number",
    ),
]


@pytest.mark.parametrize(("text", "code", "message"), REFUSED)
def test_refusals(text, code, message):
    with pytest.raises(ScheduleError) as refused:
        parse_steps(text)
    assert (refused.value.code, refused.value.message) == (code, message)
    assert refused.value.hint is not None


@pytest.mark.parametrize("digits", ["²", "9" * 5000])
def test_odd_digits(digits):
    with pytest.raises(ScheduleError) as refused:
        parse_steps(f"tile(L0, {digits})")
    assert refused.value.code == "PO0323"


@pytest.mark.parametrize(
    "name", ["L0[", "L0[1", "L0[1]]", "L0[]", "L0[-1]", "L0[²]", "L0[9]", "L0]"]
)
def test_odd_references(name):
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(source_schedule(scops.gemm()), f"unroll({name})")
    assert refused.value.code in ("PO0301", "PO0323")
