"""Compare polyopt with Numba and gcc on programs that are in no suite.

In: `python -m bench.unseen [NAMES] [--threads 1,2] [--isa v3] [--dtype float32]
[--clock processor] [--json FILE]`.
Out: a row for each program and number of threads, as measured; counts, geometric means, seconds
of compiling.  The ratio is the faster peer's time over polyopt's.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from bench import clock
from bench.environment import describe
from bench.keep import json_text, prepare_file, replace_file
from bench.levels import LEVELS, choose
from bench.loop import PATIENCE, Loop
from bench.peers.folder import packages
from bench.unseen.measure import PEERS, ROUNDS, Options, Row, measure
from bench.unseen.registry import PROGRAMS

COLUMNS = ("polyopt", *PEERS, "numpy")


def asked(words: Sequence[str]) -> argparse.Namespace:
    """Return the options; ends the process with a message where there is no such option."""
    parser = argparse.ArgumentParser(prog="python -m bench.unseen", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--threads", type=_counts, default=(1,), metavar="1,2")
    parser.add_argument("--isa", choices=list(LEVELS))
    parser.add_argument("--clock", choices=clock.NAMES, default=clock.NAMES[0])
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--wait", type=float, default=PATIENCE, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the names")
    found = parser.parse_args(words)
    unknown = [name for name in found.names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    if found.clock != clock.NAMES[0] and found.threads != (1,):
        parser.error(f"--clock {found.clock} compares one thread: --threads 1")
    return found


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(part) for part in text.split(","))
    if min(counts) < 1:
        raise ValueError(text)
    return counts


def main(words: Sequence[str]) -> None:
    """Measure, print rows as they come, keep them."""
    options = asked(words)
    if options.list:
        print(*PROGRAMS, sep="\n")
        return
    clock.choose(options.clock)
    if options.isa is not None:
        choose(options.isa)
    if options.json is not None:
        prepare_file(options.json)
    peers = PEERS
    sys.path += packages("numba")  # behind this environment's own, here and in the workers
    if importlib.util.find_spec("numba") is None:
        print("numba is not installed here: polyopt bench --install numba")
        peers = tuple(peer for peer in PEERS if peer != "numba")
    chosen = [(n, t) for t in options.threads for n in options.names or PROGRAMS]
    rows: list[Row] = []
    environment = describe()
    environment["versions"] |= {"numba": metadata.version("numba")} if "numba" in peers else {}
    print(head())
    with tempfile.TemporaryDirectory(prefix="polyopt-unseen-cache-") as cache:
        os.environ["POLYOPT_CACHE_DIR"] = cache  # so that compiling is seen in every run

        def one(item: tuple[str, int], deadline: Any, busy: float) -> None:  # noqa: ANN401
            name, threads = item
            how = Options(threads, options.dtype, options.rounds, peers)
            rows.append(measure(PROGRAMS[name], how, deadline, busy))
            print(line(rows[-1]), flush=True)
            if options.json is not None:
                replace_file(options.json, json_text(record(environment, options.dtype, rows)))

        def say(text: str) -> None:
            print(text, file=sys.stderr)

        ended = Loop(
            chosen,
            "programs",
            one,
            say,
            patience=0.0 if options.clock == "processor" else options.wait,
        ).run()
    print(*summary(rows), sep="\n")
    if ended.note:
        print(ended.note)
    sys.exit(128 + ended.signal if ended.signal else 0)


def head() -> str:
    """Return the names of the columns."""
    times = " ".join(f"{name:>9}" for name in COLUMNS)
    return f"{'milliseconds':22} threads {times}   ratio  fastest  compile"


def line(row: Row) -> str:
    """Return a row as a line; reasons for missing times follow it."""
    times = " ".join(_cell(row, name) for name in COLUMNS)
    ratio, fastest = (
        "      -" if value is None else f"{value:7.2f}" for value in (row.ratio, row.fastest_ratio)
    )
    seconds = "      -" if row.compile_seconds is None else f"{row.compile_seconds:5.1f} s"
    text = f"{row.name:22} {row.threads:7} {times} {ratio}  {fastest}  {seconds}"
    return "\n".join([text, *(f"    {who}: {why}" for who, why in row.failures.items())])


def _cell(row: Row, name: str) -> str:
    return f"{row.times[name]:9.2f}" if name in row.times else f"{'-':>9}"


def summary(rows: Sequence[Row]) -> list[str]:
    """Return counts and geometric means for each number of threads, and seconds of compiling."""
    lines = []
    for threads in dict.fromkeys(row.threads for row in rows):
        mine = [row for row in rows if row.threads == threads]
        for what, found in (
            ("medians", [row.ratio for row in mine]),
            ("fastest samples", [row.fastest_ratio for row in mine]),
        ):
            ratios = [ratio for ratio in found if ratio is not None]
            if ratios:
                ahead = sum(ratio >= 1.0 for ratio in ratios)
                mean = statistics.geometric_mean(ratios)
                lines.append(
                    f"threads {threads}, {what}: {ahead} of {len(mine)} at least as fast as the"
                    f" faster peer, geometric mean {mean:.2f}"
                )
        slower = [row.name for row in mine if row.times.get("numpy", 1e300) < _own(row)]
        if slower:
            lines.append(f"threads {threads}: slower than NumPy: {', '.join(slower)}")
        failed = [row.name for row in mine if "polyopt" in row.failures]
        if failed:
            lines.append(f"threads {threads}: refused or wrong: {', '.join(failed)}")
    seconds = [row.compile_seconds for row in rows if row.compile_seconds is not None]
    if seconds:
        most = max(rows, key=lambda row: row.compile_seconds or 0.0)
        lines.append(
            f"polyopt compiled in {statistics.median(seconds):.1f} s (median),"
            f" {max(seconds):.1f} s at most ({most.name})"
        )
    return lines


def _own(row: Row) -> float:
    return row.times.get("polyopt", 0.0)


def record(environment: dict[str, Any], dtype: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return a run as JSON values."""
    return {
        "environment": environment,
        "dtype": dtype,
        "rows": [
            {**asdict(row), "ratio": row.ratio, "fastest_ratio": row.fastest_ratio} for row in rows
        ],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
