"""The schedule language: what it reads, what it refuses and how."""

from __future__ import annotations

from random import Random

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.schedule import source_schedule
from polyopt.schedule.sizes import Named, show_steps
from polyopt.schedulefile import with_sizes
from polyopt.transforms import (
    Affine,
    Cut,
    Diamond,
    Distribute,
    Fuse,
    Fusion,
    Interchange,
    Overlap,
    Parallelize,
    Peel,
    Reorder,
    Reverse,
    Separate,
    Shift,
    Sink,
    Skew,
    Split,
    Strip,
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
    Diamond("L0", (32,)),
    Diamond("L0", (32, 64)),
    Distribute("L0"),
    Distribute("L0", 2),
    Fuse("L0", "L1"),
    Fuse("L0", "L1", 2),
    Interchange("i", "L0.tile[1]"),
    Overlap("t", 2, (16, 32)),
    Parallelize("L0.point.tile[0]"),
    Peel("L0"),
    Reorder("L0", (1, 0, 2)),
    Reverse("i"),
    Separate("L0.tile", "L0.point", (6, 0, 16)),
    Shift("i", -2),
    Shift("L0[1]", 2, "S1"),
    Sink("i"),
    Skew("i", "t", -1),
    Split("j", 8),
    Strip("i", 32),
    Tile("L0", (32,)),
    Tile("L0", (1, 2, 3)),
    Unroll("j"),
    Vectorize("j"),
)


@pytest.mark.parametrize("step", EVERY, ids=str)
def test_round_trip(step):
    assert parse_steps(str(step)) == (step,)


def varied(example: str, rng: Random) -> str:
    """A step written like the example, with other numbers, names and amounts."""
    numbers = ("0", "1", "7", "-3", "2147483647", "-2147483647", "T", "N_0", "i")
    amounts = (*numbers, "N - 1", "2*T + 3*(N - i)", "-(N//4) + T % 5", "min(N, max(M, 3)) - 2")
    names = ("i", "L0", "L0[1]", "L3.point.tile[0]", "L0.low.high2", "j_tile", "größe", "S12")
    head, _, rest = example.rstrip(")").partition("(")
    words = [word.strip() for word in rest.split(",")] if rest else []
    kinds = [(word, *(numbers if word.isdecimal() else names)) for word in words]
    if head in ("shift", "split"):
        kinds[-1] = amounts
    return f"{head}({', '.join(rng.choice(kind) for kind in kinds)})"


@pytest.mark.parametrize("name", STEPS)
def test_print_parse_print(name):
    """What is printed reads back as the same record and prints the same, whatever it holds."""
    rng = Random(name)
    lets = "let T = 32; let N_0 = -5; let i = 3; "
    read, wrong = 0, set()
    for _ in range(200):
        text = varied(STEPS[name].example, rng)
        try:
            (step,) = parse_steps(lets + text)
        except ScheduleError as refused:
            wrong |= {refused.code}
            continue
        read += 1
        again = parse_steps(show_steps((step,)))
        assert again == (step,), text
        assert str(again[0]) == str(step)
        assert show_steps(again) == show_steps((step,))
    assert read >= 10
    assert wrong <= {"PO0323"}


@pytest.mark.parametrize("name", STEPS)
def test_the_examples_in_hints_can_be_read(name):
    (step,) = parse_steps(STEPS[name].example)
    assert str(step).startswith((f"{name}(", "expand("))  # privatise is another name of expand


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
    ("tile L0", "PO0321", "1:1", "`tile L0` is not a step"),
    ("tile(L0, 4", "PO0321", "1:1", "`tile(L0, 4` is not a step"),
    ("tile(L0, 4))", "PO0321", "1:1", "`tile(L0, 4))` is not a step"),
    ("unroll(i) unroll(j)", "PO0321", "1:1", "`unroll(i) unroll(j)` is not a step"),
    ("unroll(i);  unroll(i;j)", "PO0321", "1:13", "`unroll(i` is not a step"),
    ("let T", "PO0321", "1:1", "`let T` is not a step"),
    ("let 3 = 3", "PO0321", "1:1", "`let 3 = 3` is not a step"),
    ("unroll(i)\n\n  rotate(i)", "PO0322", "3:3", "there is no step `rotate`"),
    ("Tile(L0, 4)", "PO0322", "1:1", "there is no step `Tile`"),
    ("tile(L0, (4))", "PO0323", "1:10", "`tile(L0, (4))`: `(4)` is not a whole number"),
    ("tile(L0, 1.5)", "PO0323", "1:10", "`tile(L0, 1.5)`: `1.5` is not a whole number"),
    ("tile(L0, 1_0)", "PO0323", "1:10", "`tile(L0, 1_0)`: `1_0` is not a whole number"),
    (
        "tile(L0,   2147483648)",
        "PO0323",
        "1:12",
        "`tile(L0,   2147483648)`: 2147483648 is too large: 2147483647 is the largest number",
    ),
    ("tile()", "PO0323", "1:1", "`tile()`: at least 2 arguments are needed, 0 were given"),
    ("interchange(i)", "PO0323", "1:1", "`interchange(i)`: 2 arguments are needed, 1 was given"),
    (
        "parallelize(i, j)",
        "PO0323",
        "1:1",
        "`parallelize(i, j)`: 1 argument is needed, 2 were given",
    ),
    ("cut(L0)", "PO0323", "1:1", "`cut(L0)`: 2 arguments are needed, 1 was given"),
    ("fuse(L0)", "PO0323", "1:1", "`fuse(L0)`: 2 to 3 arguments are needed, 1 was given"),
    (
        "distribute(L0, 1, 2, 3)",
        "PO0323",
        "1:1",
        "`distribute(L0, 1, 2, 3)`: 1 to 3 arguments are needed, 4 were given",
    ),
    (
        "skew(i, j, 1, 2)",
        "PO0323",
        "1:1",
        "`skew(i, j, 1, 2)`: 2 to 3 arguments are needed, 4 were given",
    ),
    ("affine(most)", "PO0323", "1:8", "`affine(most)`: `most` is neither max nor min"),
    ("tile(L0,, 4)", "PO0323", "1:9", "`tile(L0,, 4)`: `` is not a whole number"),
    ("unroll('i')", "PO0323", "1:8", "`unroll('i')`: `'i'` is not a name"),
    ("tile(L0, x)", "PO0326", "1:10", "`tile(L0, x)`: the size `x` has no value"),
    ("tile(L0, x); let x = 3", "PO0326", "1:10", "`tile(L0, x)`: the size `x` has no value"),
    ("let x = 99999999999", "PO0326", "1:1", "the size `x` is 99999999999"),
    (
        "polyopt-schedule 2",
        "PO0329",
        "1:1",
        "`polyopt-schedule 2`: this version of polyopt does not read it",
    ),
    (
        "unroll(i)\npolyopt-schedule 1",
        "PO0329",
        "2:1",
        "`polyopt-schedule 1` stands inside a schedule",
    ),
    ("unroll(i); part(3); unroll(i)", "PO0324", "1:21", None),
    ("part(x)", "PO0323", "1:6", "`part(x)`: `x` is not a whole number"),
    ("part(-1)", "PO0323", "1:1", "`part(-1)`: parts are numbered from 0"),
]


@pytest.mark.parametrize(("text", "code", "place", "message"), REFUSED)
def test_refusals(text, code, place, message):
    with pytest.raises(ScheduleError) as refused:
        parse_steps(text)
    error = refused.value
    assert (error.code, str(error.loc)) == (code, f"<schedule>:{place}")
    assert message is None or error.message == message
    assert error.hint is not None


def test_names_that_are_nearly_right():
    with pytest.raises(ScheduleError) as refused:
        parse_steps("paralellize(i)")
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("did you mean `parallelize`? steps: affine, ")


def test_named_sizes():
    (step,) = parse_steps("let T = 32; tile(L0, T, 8, T)")
    assert step == Tile("L0", (Named("T", 32), 8, Named("T", 32)))
    assert str(step) == "tile(L0, T, 8, T)"
    text = "let T = 4;\ntile(L0, T, T);\nlet T = 2;\ntile(L0.point, T)"
    schedule = parse_schedule(source_schedule(scops.gemm()), text)
    assert schedule.text == text
    plain = parse_schedule(source_schedule(scops.gemm()), "tile(L0, 4, 4); tile(L0.point, 2)")
    assert str(schedule) == str(plain)


def test_values_given_with_a_text():
    text = "polyopt-schedule 1\n# sizes\nlet T = 32; tile(L0, T, U)\nlet T = 16\ntile(L1, T)"
    assert with_sizes(text, {}) == text
    assert with_sizes(text, {"T": 5, "U": 6}) == (
        "polyopt-schedule 1\n# sizes\nlet U = 6; let T = 5; tile(L0, T, U)\nlet T = 5\ntile(L1, T)"
    )
    for sizes, hint in (({"t": 5}, "did you mean"), ({"X": 1}, "the sizes it names: T")):
        with pytest.raises(ScheduleError) as refused:
            with_sizes(text, sizes)
        assert refused.value.code == "PO0326"
        assert refused.value.hint is not None
        assert refused.value.hint.startswith(hint)
    for value in (2**31, "8", 1.0, True, None):
        with pytest.raises(ScheduleError) as refused:
            with_sizes(text, {"T": value})
        assert refused.value.code == "PO0326"


def test_a_text_that_is_too_long():
    for text in ("#" * 1_000_001, ";".join(["unroll(i)"] * 10_001)):
        with pytest.raises(ScheduleError) as refused:
            parse_steps(text)
        assert refused.value.code == "PO0329"


@pytest.mark.parametrize("digits", ["²2", "9" * 5000, "--1", "-"])
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
