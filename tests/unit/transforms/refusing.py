"""How a step that does not fit is refused."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule import Transform, source_schedule


def refused(scop: Scop, *steps: Transform) -> tuple[str, str, str | None]:
    """Return code, message and hint of the refusal of the last step."""
    schedule = source_schedule(scop).apply(*steps[:-1])
    with pytest.raises(ScheduleError) as found:
        schedule.apply(steps[-1])
    assert not isinstance(found.value, IllegalSchedule)
    assert schedule.attempt(steps[-1]) is None
    return found.value.code, found.value.message, found.value.hint
