"""`python -m tests.digests`: record what is emitted for every workload, and compare two records.

In: names of workloads (all if none), targets, modes, instruction-set levels.  Out: a JSON file with
a digest for each form x target x mode x level; with `--texts` the texts themselves.
`--compare A B` prints what differs between two records; exit code 1 if anything does.
A change that moves code and must not change what is emitted is checked with it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

TARGETS = ("c", "cuda", "opencl")
MODES = ("strict", "reassociate")
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
SECONDS = 3600.0
"""The budget: what is emitted must not depend on how fast the machine is."""


def _emitted(work: tuple[str, str, str, str, str]) -> tuple[str, str]:
    """Return the key and the text of one form, or why there is none."""
    name, form, target, mode, level = work
    os.environ["POLYOPT_MACHINE"] = level
    from polyopt.building import compile_stages
    from polyopt.errors import PolyoptError
    from polyopt.machine import Machine
    from polyopt.targets import Options, detect_machine
    from tests.hostile.stages import Settled
    from workloads import registry

    options = Options().changed({"fp": mode, "target": target, "budget": SECONDS})
    workload = registry.get(name)
    function: Any = workload.forms[form]
    machine: Machine | None = detect_machine() if target == "c" else None
    made = Settled(function, lambda types: compile_stages(function, types, options, machine).source)
    try:
        source, _ = made.of(tuple(workload.make("MINI").values()))
        text = source.text
    except PolyoptError as error:
        text = f"refused: {error.code}"
    return "|".join((f"{name}:{form}", target, mode, level)), text


def _work(options: argparse.Namespace) -> Iterator[tuple[str, str, str, str, str]]:
    from workloads import registry

    for name in options.names or registry.names():
        for form, target, mode in product(registry.get(name).forms, options.target, options.mode):
            levels = options.level if target == "c" else options.level[-1:]
            yield from ((name, form, target, mode, level) for level in levels)


def record(options: argparse.Namespace) -> dict[str, str]:
    """Return a digest for each of the texts, which are also written into `options.texts`."""
    found: dict[str, str] = {}
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=50) as pool:
        for key, text in pool.imap_unordered(_emitted, _work(options)):
            found[key] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
            if options.texts:
                options.texts.mkdir(parents=True, exist_ok=True)
                (options.texts / key.replace("|", "_").replace(":", "_")).write_text(text)
    return dict(sorted(found.items()))


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Return a line for each text that two records do not share."""
    lines = [f"only in the first:  {key}" for key in one if key not in other]
    lines += [f"only in the second: {key}" for key in other if key not in one]
    return lines + [f"differs: {key}" for key in one if key in other and one[key] != other[key]]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="tests.digests", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads")
    parser.add_argument("--output", type=Path, default=Path("digests.json"), help="the record")
    parser.add_argument("--texts", type=Path, help="a folder for the texts")
    parser.add_argument("--target", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--mode", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--level", nargs="+", default=LEVELS, help="instruction sets, of C only")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"))
    options = parser.parse_args()
    if options.compare:
        one, other = (json.loads(path.read_text()) for path in options.compare)
        lines = differences(one, other)
        print(*lines, f"{len(one)} and {len(other)} texts, {len(lines)} differences", sep="\n")
        return 1 if lines else 0
    options.output.write_text(json.dumps(record(options), indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
