"""What Ctrl-C ends: `python -m tests.gates.interrupts --count 50`.

In: how many commands, compilations and running kernels to interrupt at random moments.
Out: those that do not end within a second of it, that end otherwise than interrupted ones should,
or that leave a torn file in the cache or beside what they write.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.gates.series import series

LIMIT = 1.0
"""Seconds from the signal to the end, of a processor where others use the machine as well."""

PATIENCE = 60.0
"""Seconds of the clock after which a process is killed."""

ENDS = (0, 130, -signal.SIGINT)
"""It had ended before, it said so, it had not begun or is Python's own."""

FILE = """\
import numpy as np
import polyopt as po


def heat(u: "f64[:,:]", v: "f64[:,:]", steps: "i64"):
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]


def chain(a: "f64[:,:]", b: "f64[:,:]", c: "f64[:,:]", d: "f64[:,:]"):
    d[:] = (a @ b) @ c + d * 2.0 - a.T


def rows(u: "f64[:,:]", v: "f64[:,:]", steps: "i64"):
    for i in range(u.shape[0]):
        s = 0.0
        for t in range(steps):
            for j in range(u.shape[1]):
                s = s * 0.5 + u[i, j] * t
        v[i, 0] = s


def counting(limit: "i64"):
    m = 0
    k = 0
    while m < limit:
        m += 1
        k = (k * 3 + m) % 1000
    return k


def deep(a: "f64[:,:,:,:]", n: "i64"):
    for t in range(n):
        for i in range(1, n - t):
            for j in range(i, n - 1):
                for k in range(j, n + i):
                    for l in range(k - t, n):
                        a[(i + 2 * j) % 7, (j + 3 * k) % 5, (k + t) % 3, l // 3] += a[t, i, j, k]
"""

CALLS = """\
import sys
import numpy as np
import polyopt as po
from module import *
what = sys.argv[1]
u, v = np.linspace(0, 1, 400 * 50).reshape(400, 50), np.zeros((400, 50))
if what == "serial":
    kernel, short, long = po.kernel(heat, threads=1), (u, v, 2), (u, v, 10**8)
elif what == "while":
    kernel, short, long = po.kernel(counting), (10,), (10**12,)
elif what == "parallel":
    kernel, short, long = po.kernel(rows, threads=2), (u, v, 2), (u, v, 10**5)
elif what == "long":  # one iteration of the outermost loop takes minutes
    kernel, short, long = po.kernel(rows, threads=1), (u, v, 2), (u[:2], v[:2], 10**10)
elif what == "saved":
    import polyopt.loading
    po.kernel(heat, threads=1).compile(u, v, 2).save("heat.po")
    kernel, short, long = polyopt.loading.load("heat.po"), (u, v, 2), (u, v, 10**8)
kernel(*short)
print("begins", flush=True)
kernel(*long)
"""


@dataclass(frozen=True, slots=True)
class Work:
    """A process: its arguments of Python, and whether the signal waits until it says `begins`."""

    arguments: tuple[str, ...]
    running: bool = False

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return " ".join(self.arguments[-4:])


def _command(*words: str) -> Work:
    return Work(("-m", "polyopt", *words))


WORK = (
    _command("compile", "module.py:heat", "-o", "out"),
    Work(("calls.py", "serial"), True),
    _command("check", "module.py", "--all", "--compiled"),
    Work(("calls.py", "while"), True),
    _command("run", "module.py:chain", "--out", "out.npz"),
    Work(("calls.py", "saved"), True),
    _command("compile", "module.py:deep", "-o", "out"),
    _command("view", "module.py:heat", "-o", "page.html"),
    Work(("calls.py", "parallel"), True),
    Work(("calls.py", "long"), True),
    _command("tune", "module.py:heat"),
    _command("verify", "module.py:chain"),
    _command("bench", "module.py:chain"),
    _command("explain", "module.py:heat"),
    _command("doctor"),
    _command("machine", "--measure"),
    _command("run", "module.py:heat"),
)


def trial(number: int) -> str | None:
    """Start one of the processes, interrupt it at a random moment, look at how it ends."""
    work, rng = WORK[number % len(WORK)], Random(number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "module.py").write_text(FILE)
        (folder / "calls.py").write_text(CALLS)
        after = rng.uniform(0.05, 0.3) if work.running else 12.0 ** rng.uniform(-0.7, 1.0)
        with (folder / "said").open("w+") as said:
            problem = _interrupted(work, after, folder, said.fileno())
            said.seek(0)
            text = said.read()
        if problem is None and "Traceback" in text and "-m" in work.arguments:
            problem = f"it shows a traceback: {text[-300:]}"
        problem = problem or _left(folder)
    return problem and f"{work.name}, after {after:.2f} s: {problem}"


def _interrupted(work: Work, after: float, folder: Path, said: int) -> str | None:
    root = str(Path(__file__).resolve().parent.parent.parent)
    environment = {
        **os.environ, "POLYOPT_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": root,
        "POLYOPT_CONFIG": str(folder / "none"),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, *work.arguments], cwd=folder, env=environment, stderr=said,
        stdout=subprocess.PIPE if work.running else said, start_new_session=True,
    )  # fmt: skip
    if process.stdout is not None and process.stdout.readline() != b"begins\n":
        return f"it did not begin, exit code {process.wait()}"
    time.sleep(after)
    before, start = _used(process.pid), time.monotonic()
    os.kill(process.pid, signal.SIGINT)  # `send_signal` would forget a process that has ended
    end, seconds, late = start + PATIENCE, 0.0, 0.0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        late, seconds = time.monotonic() - start, _used(process.pid) - before
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.005)
    status = process.wait()
    if min(seconds, late) > LIMIT:
        return f"it ended after {late:.1f} s, {seconds:.1f} s of a processor"
    return None if status in ENDS else f"exit code {status}"


def _used(process: int) -> float:
    """Return the seconds of processors that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _left(folder: Path) -> str | None:
    from polyopt.runtime.store import KINDS, MANIFEST

    cache = folder / "cache"
    kept = [entry for kind in KINDS for entry in (cache / kind).glob("*")]
    torn = [entry for entry in kept if not (entry / MANIFEST).exists()]
    staged = [path for name in ("staging", "quarantine") for path in (cache / name).glob("*")]
    hidden = [*folder.glob(".*"), *(folder / "out").glob(".*")]
    left = [*torn, *staged, *hidden]
    return f"left {[str(path.relative_to(folder)) for path in left]}" if left else None


if __name__ == "__main__":
    sys.exit(series("Interrupt processes.", trial, len(WORK)))
