"""Steps of a schedule that say what ranks have: `shard(A, 0); replicate(B)`.

In: the text of a schedule.  Out: its steps for the ranks, and the text of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.dataclass import dataclass
from polyopt.distribution.mesh import Cyclic
from polyopt.errors import Loc
from polyopt.schedulefile import Call, ScheduleText, read_items
from polyopt.transforms.arguments import Arguments
from polyopt.transforms.layout import Dimension, Part
from polyopt.transforms.shard import Replicate, Shard
from polyopt.transforms.text import STEPS

NAMES = ("shard", "replicate")


@dataclass(frozen=True, slots=True)
class RankStep:
    """A step, and its place in the text."""

    step: Shard | Replicate
    loc: Loc


def without_rank_steps(text: str | None) -> tuple[tuple[RankStep, ...], str | None]:
    """Return the steps for ranks in a schedule, and what is left of it; None: nothing is.

    Raises `ScheduleError` PO0321 (syntax), PO0323 (arguments), PO0329 (version, length).
    """
    if text is None or text == "source":
        return (), text
    items = read_items(text)
    found = []
    lines = text.split("\n")
    for item in items:
        if isinstance(item, Call) and item.name in NAMES:
            known = STEPS[item.name]
            step = known.read(Arguments(item, {}, known.example))
            assert isinstance(step, (Shard, Replicate))
            found.append(RankStep(step, item.loc))
            start, line = item.loc.col - 1, lines[item.loc.line - 1]
            blank = " " * len(item.text)
            lines[item.loc.line - 1] = line[:start] + blank + line[start + len(item.text) :]
    if not found:
        return (), text
    if len(found) == len(items):
        return tuple(found), None
    origin = {"origin": text.origin} if isinstance(text, ScheduleText) else {}
    return tuple(found), ScheduleText("\n".join(lines), **origin)


def written(
    shard: Mapping[str, Sequence[int | Cyclic]], replicate: Sequence[str]
) -> tuple[Shard | Replicate, ...]:
    """Return options as steps."""
    cuts = [
        Shard(
            name,
            tuple(
                Dimension(one.axis, Part.POINT, one.block)
                if isinstance(one, Cyclic)
                else Dimension(one)
                for one in axes
            ),
        )
        for name, axes in shard.items()
    ]
    return (*cuts, *map(Replicate, sorted(replicate)))
