"""Programs x schedules: `python -m tests.properties.pairs --count 20000 --seed 0 --jobs 2`.

In: how many pairs, a seed, jobs; `--state FILE` keeps what is done, so that a run can be resumed.
Out: a table, with `--json FILE` the same as data; failures are shrunk.  Exit code 1 if any.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

from tests.conftest import call_entry
from tests.properties.batch import build_batch
from tests.properties.pair_trial import (
    SCHEDULES,
    Trial,
    differs,
    expected,
    make_case,
    meaning_of,
    run_program,
    run_steps,
)
from tests.properties.random_specs import rich_spec
from tests.properties.spec import Spec, show_spec, shrunk

PROGRAMS = 10
"""Programs of a chunk, which is one process, one C file and one line of the state."""

LIMIT = 300
"""Seconds a chunk may take; then its programs run one by one, each with `ALONE` seconds."""

ALONE = 150


@dataclass(slots=True)
class Total:
    """What all chunks found."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[dict[str, Any]] = field(default_factory=list)
    open: list[dict[str, Any]] = field(default_factory=list)

    def add(self, record: dict[str, Any]) -> None:
        self.counts.update(record["counts"])
        self.failures += record["failures"]
        self.refusals += record.get("refusals", [])
        self.open += record.get("open", [])

    @property
    def record(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "counts": dict(self.counts),
            "failures": self.failures,
            "refusals": self.refusals,
            "open": self.open,
        }


def run_chunk(seed: int, numbers: range, compiled: bool) -> dict[str, Any]:
    """Run the pairs of some programs; return plain data."""
    trials = [run_program(seed, number, compiled) for number in numbers]
    total = Total()
    for trial in trials:
        total.add(
            {
                "counts": trial.counts,
                "failures": trial.failures,
                "refusals": trial.refusals,
                "open": trial.open,
            }
        )
    if compiled:
        total.add(run_compiled(trials))
    return total.record


def run_compiled(trials: list[Trial]) -> dict[str, Any]:
    """Build the kernels of some programs as one C file and run each at two sizes."""
    kernels = [kernel for trial in trials for kernel in trial.kernels]
    counts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    if not kernels:
        return {"counts": counts, "failures": failures}
    with tempfile.TemporaryDirectory() as name:
        try:
            library = build_batch([source for _, _, source, _ in kernels], Path(name))
        except AssertionError as error:
            text = str(error)[:2000]
            failures.append({"kind": "not built", "text": text, "program": -1, "steps": []})
            return {"counts": counts, "failures": failures}
    for case, loops, source, steps in kernels:
        number, _, turn = loops.name.removeprefix("k").partition("_")
        place = {"program": int(number), "turn": int(turn), "steps": steps.split("; ")}
        runs = expected(case)
        for sizes, before, after in runs:
            arrays = {array: value.copy() for array, value in before.items()}
            call_entry(library, source, arrays, sizes, {})
            wrong = differs(after, arrays)
            if wrong is not None:
                failures.append({"kind": "wrong result", "text": f"{wrong} at {sizes}", **place})
                break
        else:
            counts["run as C"] += bool(runs)
    return {"counts": counts, "failures": failures}


@dataclass(slots=True)
class Job:
    """A chunk that runs in a process of its own."""

    key: str
    numbers: range
    process: Any
    answer: Connection
    end: float


def run_all(
    seed: int,
    count: int,
    jobs: int,
    compiled: bool,
    state: Path | None,
    show: bool,
    seconds: float = float("inf"),
) -> Total:
    """Run all chunks that `state` does not know, `jobs` at a time; begin none after `seconds`."""
    total, done, end = Total(), set(), time.monotonic() + seconds
    for record in _known(state, seed):
        done.add(record["key"])
        total.add(record)
    waiting = [key for key in _chunks(count) if f"{key.start}+{len(key)}" not in done]
    running: list[Job] = []
    while waiting or running:
        if time.monotonic() > end:
            waiting.clear()
            if not running:
                break
        while waiting and len(running) < jobs:
            numbers = waiting.pop(0)
            running.append(_start(seed, numbers, compiled, LIMIT if len(numbers) > 1 else ALONE))
        for job in _finished(running):
            running.remove(job)
            record = _answer(job)
            if record is None and len(job.numbers) > 1:
                waiting = [range(n, n + 1) for n in job.numbers] + waiting
                continue
            record = record or _lost(job)
            total.add(record)
            _remember(state, seed, job.key, record)
            if show:
                print(_progress(total, count), end="\r", flush=True)
    if show:
        print()
    return total


def _chunks(count: int) -> Iterator[range]:
    programs = -(-count // SCHEDULES)
    for first in range(0, programs, PROGRAMS):
        yield range(first, min(first + PROGRAMS, programs))


def _start(seed: int, numbers: range, compiled: bool, limit: int) -> Job:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_serve, args=(seed, numbers, compiled, sender)
    )
    process.start()
    sender.close()
    key = f"{numbers.start}+{len(numbers)}"
    return Job(key, numbers, process, receiver, time.monotonic() + limit)


def _serve(seed: int, numbers: range, compiled: bool, sender: Connection) -> None:
    sender.send(run_chunk(seed, numbers, compiled))


def _finished(running: list[Job]) -> list[Job]:
    """Wait until a job has answered, died or run out of time; return those."""
    now = time.monotonic()
    wait([job.answer for job in running], max(0.0, min(job.end for job in running) - now))
    late = time.monotonic()
    return [job for job in running if job.answer.poll() or late > job.end]


def _answer(job: Job) -> dict[str, Any] | None:
    """Return what a job found; None if it died or ran out of time."""
    record: dict[str, Any] | None = None
    if job.answer.poll():
        try:
            record = job.answer.recv()
        except EOFError:
            record = None
    else:
        job.process.kill()
    job.process.join()
    return record


def _lost(job: Job) -> dict[str, Any]:
    """Return the record of a program that crashed or did not end."""
    text = f"exit code {job.process.exitcode}"
    kind = "endless" if job.process.exitcode == -9 else "crash"
    failure = {"kind": kind, "program": job.numbers.start, "turn": 0, "steps": [], "text": text}
    return {"counts": {"pairs": SCHEDULES}, "failures": [failure]}


def _known(state: Path | None, seed: int) -> Iterator[dict[str, Any]]:
    if state is None or not state.exists():
        return
    for line in state.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:  # the line of a run that was stopped
            continue
        if record["seed"] == seed:
            yield record


def _remember(state: Path | None, seed: int, key: str, record: dict[str, Any]) -> None:
    if state is None:
        return
    with state.open("a") as file:
        file.write(json.dumps({"seed": seed, "key": key, **record}) + "\n")


def _progress(total: Total, count: int) -> str:
    return f"{total.counts['pairs']} of {count} pairs, {len(total.failures)} failures"


def summary(total: Total) -> dict[str, Any]:
    """Return the figures of a run."""
    counts = total.counts
    accepted = sum(n for name, n in counts.items() if name.startswith("accepted "))
    refused = sum(n for name, n in counts.items() if name.startswith("refused "))
    legal = accepted + counts["false refusals"]
    return {
        "pairs": counts["pairs"],
        "loops compared symbolically": counts["enumerated"],
        "kernels run as C": counts["run as C"],
        "steps accepted": accepted,
        "steps refused": refused,
        "witnesses confirmed": counts["witnesses confirmed"],
        "false refusals": counts["false refusals"],
        "false refusals of legal steps": f"{counts['false refusals'] / max(legal, 1):.2%}",
        "certificates proven": counts["certificates proven"],
        "certificates open": counts["certificates open"],
        "certificates that refute": counts["certificates refuted"],
        "failures": len(total.failures),
        "kinds of failures": dict(Counter(f["kind"] for f in total.failures)),
    }


def table(total: Total) -> str:
    """Return the figures for people: the whole, then each kind of step."""
    lines = [f"{name:32} {value}" for name, value in summary(total).items()]
    steps = sorted({n.partition(" ")[2] for n in total.counts if n.split(" ")[0] in _STEP})
    lines.append(f"\n{'step':16} {'accepted':>9} {'refused':>9} {'budget':>9}")
    for step in steps:
        numbers = [total.counts[f"{word} {step}"] for word in _STEP]
        lines.append(f"{step:16} " + " ".join(f"{n:9}" for n in numbers))
    other = {n: c for n, c in sorted(total.counts.items()) if n.split(" ")[0] not in _STEP}
    return "\n".join([*lines, "", *(f"{name:32} {number}" for name, number in other.items())])


_STEP = ("accepted", "refused", "budget")


def shrink(seed: int, failure: dict[str, Any], budget: float = 60.0) -> str:
    """Return the smallest program found by deletion that fails alike under the failing steps."""
    number = failure["program"]
    rng = Random(f"{seed}/{number}")
    spec, meaning = rich_spec(rng), meaning_of(rng)
    steps = list(failure["steps"])
    end = time.monotonic() + budget

    def fails(candidate: Spec, text: list[str]) -> bool:
        found = _alone(candidate, meaning, text)
        return found is not None and found.split(":")[0] == failure["kind"].split(":")[0]

    if not fails(spec, steps):
        return show_spec(spec) + f"# {'; '.join(steps)}\n# not reproduced by its steps alone\n"
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        fewer = [(spec, steps[:n] + steps[n + 1 :]) for n in range(len(steps))]
        for smaller, text in (*fewer, *((s, steps) for s in shrunk(spec))):
            if time.monotonic() > end:
                break
            if fails(smaller, text):
                spec, steps, progress = smaller, text, True
                break
    found = _alone(spec, meaning, steps)
    head = f"# {meaning}, sizes from {spec.least}: {'; '.join(steps)}"
    return f"{head}\n{show_spec(spec)}{found}\n"


def _alone(spec: Spec, meaning: str, steps: list[str]) -> str | None:
    """Return how the program fails under `steps`, in a process of its own."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_try, args=(spec, meaning, steps, sender))
    process.start()
    sender.close()
    process.join(ALONE)
    if process.is_alive():
        process.kill()
        process.join()
        return "endless"
    try:
        answer: str | None = receiver.recv()
    except EOFError:
        return "crash"
    return answer


def _try(spec: Spec, meaning: str, steps: list[str], sender: Connection) -> None:
    sender.send(run_steps(make_case(spec, meaning), steps))


def main() -> int:
    """Run the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="pairs of a program and a schedule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="build and run no C")
    parser.add_argument("--state", type=Path, help="file of what is done; resumes from it")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--json", type=Path, help="write figures, failures and refusals here")
    parser.add_argument("--shrink", type=int, default=3, help="shrink so many failures")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    start = time.monotonic()
    compiled = not options.no_compile
    seconds = 60.0 * options.minutes if options.minutes else float("inf")
    total = run_all(
        options.seed, options.count, options.jobs, compiled, options.state, True, seconds
    )
    print(table(total))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")
    for refusal in total.refusals[:20]:
        print(f"false refusal: {refusal['step']} after {'; '.join(refusal['steps'])}")
    reasons: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in total.open:
        reasons.setdefault((one["verdict"], one["why"].split("reason=")[-1]), []).append(one)
    for (verdict, reason), found in sorted(reasons.items(), key=lambda item: -len(item[1])):
        example = f"{found[0]['place']}: {'; '.join(found[0]['steps'])}"
        print(f"certificate {verdict}, {len(found)} times: {reason}, for example {example}")
    kinds: Counter[str] = Counter()
    for failure in total.failures:
        kinds[failure["kind"]] += 1
        if kinds[failure["kind"]] <= options.shrink:
            print(f"--- {failure['kind']}: program {failure['program']} {failure['text']}")
            if failure["program"] >= 0:
                print(shrink(options.seed, failure))
    if options.json is not None:
        record = {"seed": options.seed, "summary": summary(total), **total.record}
        options.json.write_text(json.dumps(record, indent=1))
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
