"""Fixtures shared by all tests: goldens, a C compiler, seeds, a cache of their own."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import shutil
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyopt.ir.source import CParam, CParamKind, Source
from tests.machines import NARROW
from tests.pure import is_pure, nothing_outside

GOLDEN = Path(__file__).parent / "golden"
SHARE = 31
"""Of a matrix of tests `--share` runs one in so many: a prime, to meet all modes and types."""
MINUTES = 45
"""When so many are over, `--share` begins no further test of a matrix."""
PAUSES = (1.0, 5.0, 20.0)
"""Seconds after which a C compiler is started again that ended and said nothing of its text: on a
machine without memory or disk left."""
VERIFIED = ("regress", "semantics")
"""Folders whose kernels are compared with Python when they are compiled."""
_START = time.monotonic()
# threads that wait for others must not keep the cores of a busy machine from them
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# nor is it a test of the machine's speed what a compilation leaves out for want of time
os.environ.setdefault("POLYOPT_BUDGET", "900")
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-ffp-contract=off")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
    text = f"of tests marked `matrix` run each {SHARE}th case, always the same ones, at the end"
    parser.addoption("--share", action="store_true", help=text)
    text = "of tests that are neither pure nor marked `machine` run one in N, always the same ones"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "slow: takes more than ten seconds",
        "toolchain: needs a C compiler",
        "gpu: needs a CUDA device",
        "machine: depends on the processor, a device or programs beside the C compiler",
        "pure: nothing but Python and gcc can change what it finds (set by tests/pure.py)",
        "matrix: one of many cases of the same kind; with --share every Nth runs, matrix(N)",
    ):
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what is collected, half of the time it took; it all stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest reads `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in filter(is_pure, items):
        item.add_marker("pure")
    if config.getoption("--share"):
        chosen = shared_out(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = sorted(chosen, key=is_of_a_matrix)
    if config.getoption("--one-in") > 1:
        left = [item for item in items if not is_drawn(item, config.getoption("--one-in"))]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]
    if compiler() is None:
        skip = pytest.mark.skip(reason="no C compiler")
        for item in items:
            if item.get_closest_marker("toolchain"):
                item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep a pure test, and the fixtures that are made for it, from what is outside."""
    with nothing_outside(item) if is_pure(item) else nullcontext():
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    late = time.monotonic() - _START > 60 * MINUTES
    if late and item.config.getoption("--share") and is_of_a_matrix(item):
        pytest.skip(f"{MINUTES} minutes are over: run `make test-all`")


def is_of_a_matrix(item: pytest.Item) -> bool:
    """Tell whether a test is a case of a matrix: every workload in every form."""
    return item.get_closest_marker("matrix") is not None


def is_drawn(item: pytest.Item, count: int) -> bool:
    """Tell whether a test is one of those in `count` that run where all others run elsewhere.

    All that depend on the machine are; of the others those whose name's digest says so.
    """
    if item.get_closest_marker("machine") is not None or is_pure(item):
        return True
    return zlib.crc32(item.nodeid.encode()) % count == 0


def shared_out(items: list[pytest.Item]) -> dict[pytest.Item, None]:
    """Return the tests that are no case of a matrix, and of each matrix every `SHARE`th case.

    `matrix(N)` asks for every `N`th.  One case is chosen at least.  Which one is the first differs
    between matrices, so that together they meet every workload.
    """
    cases = Counter(name_of_test(item) for item in items)
    seen: Counter[str] = Counter()
    chosen: dict[pytest.Item, None] = {}
    for item in items:
        mark = item.get_closest_marker("matrix")
        if mark is not None:
            matrix = name_of_test(item)
            number = seen[matrix] + zlib.crc32(matrix.encode())
            seen[matrix] += 1
            if number % min(*(mark.args or (SHARE,)), cases[matrix]):
                continue
        chosen[item] = None
    return chosen


def name_of_test(item: pytest.Item) -> str:
    """Return the identifier of a test without its case."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the tests' builds out of the user's cache."""
    path = tmp_path_factory.mktemp("cache")
    before = os.environ.get("POLYOPT_CACHE_DIR")
    os.environ["POLYOPT_CACHE_DIR"] = str(path)
    yield path
    if before is None:
        os.environ.pop("POLYOPT_CACHE_DIR", None)
    else:
        os.environ["POLYOPT_CACHE_DIR"] = before


@pytest.fixture
def wide_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for 32 registers of 64 bytes, whatever the processor: for tests that read the text.

    The C compiler makes such vectors of what the processor has, so that the code runs as well.
    """
    numbers = {"VECTOR_BYTES": 64, "VECTOR_REGISTERS": 32, "L1": 48 << 10, "L2": 1 << 20, "FMA": 1}
    for name, value in numbers.items():
        monkeypatch.setenv(f"POLYOPT_{name}", str(value))


@pytest.fixture
def narrow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make schedules for one machine, whatever the processor: for tests that build nothing."""
    monkeypatch.setattr("polyopt.targets.detect_machine", lambda: NARROW)


@pytest.fixture(autouse=True)
def verified(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare kernels with Python as they are compiled, in the folders of whole programs."""
    if request.path.parent.name in VERIFIED:
        monkeypatch.setenv("POLYOPT_VERIFY", "1")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `check(name, text)`: compares `text` with tests/golden/`name`."""
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"{path} is missing: run pytest --update-golden"
        assert text == path.read_text()

    return check


@pytest.fixture
def rng() -> np.random.Generator:
    """Return seeded random numbers."""
    return np.random.default_rng(20260101)


def compiler() -> str | None:
    """Return the C compiler the tests use."""
    return shutil.which(os.environ.get("CC", "gcc")) or shutil.which("clang")


def build(text: str, directory: Path, flags: tuple[str, ...] = FLAGS) -> ctypes.CDLL:
    """Compile C text to a shared library in `directory` and load it."""
    tool = compiler()
    assert tool is not None
    number = next(_NUMBERS)
    source, library = directory / f"unit{number}.c", directory / f"unit{number}.so"
    source.write_text(text)
    command = [tool, *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    for pause in PAUSES:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode == 0 or f"{source}:" in done.stderr:
            break
        time.sleep(pause)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return ctypes.CDLL(str(library))


_NUMBERS = itertools.count()


def call_entry(
    library: ctypes.CDLL,
    source: Source,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    params: Mapping[str, int],
    symbols: Mapping[str, Any],
) -> None:
    """Call the entry of an emitted file with arrays and numbers by their names in the Scop."""
    entry = getattr(library, source.entry)
    entry.restype = ctypes.c_int
    args = [_argument(param, arrays, params, symbols) for param in source.params]
    entry.argtypes = [type(arg) for arg in args]
    assert entry(*args) == 0


def _argument(
    param: CParam,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    params: Mapping[str, int],
    symbols: Mapping[str, Any],
) -> Any:
    match param.kind:
        case CParamKind.ARRAY:
            return ctypes.c_void_p(arrays[param.name].ctypes.data)
        case CParamKind.SIZE:
            return ctypes.c_int64(params[param.name])
        case CParamKind.STRIDE:
            array = arrays[param.name]
            return ctypes.c_int64(array.strides[param.dim] // array.itemsize)
        case CParamKind.SCALAR:
            value = symbols[param.name] if param.name in symbols else params[param.name]
            return np.ctypeslib.as_ctypes_type(param.dtype.numpy)(value)


@pytest.fixture
def compile_and_run(tmp_path: Path) -> Callable[..., None]:
    """Return `run(source, arrays, params, symbols)`: emitted text, built, called on the arrays."""

    def run(
        source: Source,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        params: Mapping[str, int],
        symbols: Mapping[str, Any] | None = None,
        flags: tuple[str, ...] = FLAGS,
    ) -> None:
        call_entry(build(source.text, tmp_path, flags), source, arrays, params, symbols or {})

    return run
