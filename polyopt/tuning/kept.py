"""Schedules that tuning found, kept for the same function, types, options and machine.

In: a function, types, options.  Out: `Tuned`, or the options with its schedule in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from polyopt.capture.reads import Read
from polyopt.dataclass import asdict, dataclass, replace
from polyopt.errors import ScheduleError, ToolchainError
from polyopt.frontend.syntax.annotations import ArgType, ConstType
from polyopt.runtime import lookup
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.notices import PolyoptWarning, notice
from polyopt.runtime.records import RecordError, to_json
from polyopt.runtime.store import Entry, Store, open_store
from polyopt.runtime.toolchain import find_compiler, processor_features
from polyopt.settings import setting
from polyopt.targets import Options, detect_machine

KIND = "tunings"
MOST_THREADS = 1 << 16


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found: a schedule and a number of threads, for which sizes, how much it helped.

    `seconds` of a call, `before` with the schedule that tuning began with; `origin`: the line of a
    file of the user's that says so, if it is from there.
    """

    text: str
    threads: int | None
    sizes: tuple[str, ...]
    seconds: float
    before: float
    tried: int
    origin: str = ""

    def record(self) -> dict[str, object]:
        """Return what `tuned_of` reads."""
        return {name: value for name, value in asdict(self).items() if name != "origin"}

    def lines(self) -> tuple[str, ...]:
        """Return the words for `polyopt explain`."""
        gain = self.before / self.seconds if self.seconds > 0 else 1.0
        threads = "" if self.threads is None else f", threads: {self.threads}"
        return (
            f"the best of {self.tried} schedules measured at {', '.join(self.sizes)}{threads}",
            f"{self.seconds * 1e3:.4g} ms a call, {gain:.2f} times as fast as the first one",
        )


Types = tuple[ArgType, ...]
T = TypeVar("T")


def tuned(function: Callable[..., object], types: Types, options: Options) -> Tuned | None:
    """Return what was found for a kernel before, None where nothing was.

    The file of the option `tuned` goes before the cache, and the cache before the file that the
    setting `tunings` names.  A warning says so where the option's file has no line for the kernel.
    """
    if not options.target.is_host:
        return None
    if options.tuned is not None:
        found = _in_file(options.tuned, function, types, options)
        if found is None:
            name = getattr(function, "__name__", repr(function))
            reason = "for this text, these types and options, on this machine"
            notice(PolyoptWarning, f"`{options.tuned}` has no schedule of `{name}` {reason}")
        return found
    found = _in_cache(function, types, options)
    path = setting("tunings")
    return found if found is not None or path is None else _in_file(path, function, types, options)


def _in_file(
    path: str, function: Callable[..., object], types: Types, options: Options
) -> Tuned | None:
    from polyopt.tuning.saved import last_saved

    saved = last_saved(path, function, types, options, tuned_of)
    return None if saved is None else replace(saved[0], origin=saved[1])


def _in_cache(function: Callable[..., object], types: Types, options: Options) -> Tuned | None:
    store = open_store()
    if store.root is None or not (store.root / KIND).is_dir():
        return None
    key = _key(store, function, types, options)
    found = lookup.find(store, KIND, key, function, _from_entry)
    return None if found is None else found.value


def _from_entry(entry: Entry) -> Tuned:
    return tuned_of(entry.json("tuned.json"))


def tuned_of(record: object) -> Tuned:
    """Return what a record of JSON says; raises `ValueError` where it says something else."""
    match record:
        case {
            "text": str(text),
            "threads": (int() | None) as threads,
            "sizes": list(sizes),
            "seconds": float(seconds),
            "before": float(before),
            "tried": int(tried),
        } if all(type(size) is str for size in sizes):
            if threads is not None and not 0 < threads <= MOST_THREADS:
                raise ValueError("its number of threads is out of range")
            return Tuned(text, threads, tuple(sizes), seconds, before, tried)
        case _:
            raise ValueError("it does not hold a schedule")


def keep(
    function: Callable[..., object],
    types: Types,
    options: Options,
    found: Tuned,
    reads: tuple[Read, ...],
) -> None:
    """Keep what was found for a function with these values, in place of an earlier one."""
    store = open_store()
    key = None if store.root is None else _key(store, function, types, options)
    files = {"tuned.json": json.dumps(found.record()).encode()}
    lookup.keep(store, KIND, key, reads, files, anew=True)


def as_tuned(
    function: Callable[..., object],
    types: Types,
    options: Options,
    known: dict[Types, Tuned | None],
    make: Callable[[Options], T],
) -> T:
    """Return what `make` makes of the options with what tuning found before, if it did.

    `known` is what this process found, and takes what others did.  A schedule in a file may be
    older than the function or polyopt: where it is refused, a warning says so, and the schedule is
    chosen as without it.
    """
    better = known.get(types) or tuned(function, types, options)
    if better is None:
        return make(replace(options, tuned=None))
    known[types] = better
    try:
        return make(with_tuned(options, better))
    except ScheduleError as error:
        if not better.origin:
            raise
        known[types] = None
        reason = f"the schedule of {better.origin} is refused: {error.message}"
        notice(PolyoptWarning, f"`{function.__name__}`: {reason}")
        return make(replace(options, tuned=None))


def with_tuned(options: Options, found: Tuned | None) -> Options:
    """Return the options with what was found."""
    if found is None:
        return options
    threads = options.threads if found.threads is None else found.threads
    return replace(options, schedule=found.text, threads=threads, tuned=None)


def _key(
    store: Store, function: Callable[..., object], types: Types, options: Options
) -> str | None:
    """Return the text of all that decides which schedule is best, but for sizes."""
    try:
        constants = [to_json(kind.value) for kind in types if isinstance(kind, ConstType)]
        compiler = find_compiler(store, options.compiler).identity
    except (RecordError, ToolchainError):
        return None
    facts = {
        "types": [repr(kind) for kind in types],
        "constants": constants,
        "options": repr(replace(options, budget=None, tune=None, tuned=None)),
        "compiler": compiler,
        "machine": repr(detect_machine()),
        "processor": list(processor_features()),
        "versions": versions(),
    }
    return lookup.key_of(function, facts)
