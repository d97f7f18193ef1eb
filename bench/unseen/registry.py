"""The programs by name."""

from __future__ import annotations

from bench.unseen.program import Program
from bench.unseen.programs import (
    algebra,
    fields,
    graphs,
    images,
    points,
    recurrences,
    signals,
    stencils,
)

PROGRAMS: dict[str, Program] = {
    program.name: program
    for module in (images, stencils, recurrences, algebra, points, signals, fields, graphs)
    for program in module.PROGRAMS
}
