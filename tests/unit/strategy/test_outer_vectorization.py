"""Lanes across an outer loop, where the inner loop has none."""

from polyopt import building
from polyopt.frontend import infer_types
from polyopt.machine import Machine
from polyopt.targets import FpMode, Options
from tests.heldout.sums import attraction


def test_sums_that_only_their_end_reads_have_lanes_of_their_own():
    """The distances of a pair are computed where they are used, not stored for strips of pairs."""
    options, machine = Options(fp=FpMode.REASSOCIATE), Machine(cores=2, vector_bytes=32)
    made = building.compile_stages(attraction, infer_types(attraction), options, machine)
    assert "sink(" not in made.schedule_text
    assert "po_d" not in made.source.text
