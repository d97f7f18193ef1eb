"""Races of emitted OpenMP code, found exactly: one thread for each iteration, every access seen.

In: emitted C, arguments.  Out: the pairs of iterations that touch one element unordered.
"""

from polyopt.racecheck.checker import Checked, Checker, check_races
from polyopt.racecheck.library import Cell, Level, Race, RaceKind, SourceLine, Touch

__all__ = [
    "Cell",
    "Checked",
    "Checker",
    "Level",
    "Race",
    "RaceKind",
    "SourceLine",
    "Touch",
    "check_races",
]  # fmt: skip
