"""`polyopt doctor`: what is installed, what is found, what to install.

In: the machine.  Out: one line a fact, with the fix where something is missing; exit 3 without a
compiler.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from textwrap import fill

import click

from polyopt.cli.cmd_cache import cache_info, show_size
from polyopt.cli.console import own_version, result, result_json
from polyopt.cli.exits import Exit
from polyopt.cli.prepare import json_option
from polyopt.dataclass import asdict, dataclass
from polyopt.errors import PolyoptError, ToolchainError

_CORE = ("numpy", "islpy", "sympy", "click", "platformdirs")
_OPTIONAL = {
    "report": ("jinja2", "pages of `polyopt view`"),
    "c": ("tree_sitter_c", "regions of C programs"),
    "cuda": ("cuda", "running on NVIDIA GPUs"),
    "opencl": ("pyopencl", "running on OpenCL devices"),
    "halffloat": ("ml_dtypes", "16-bit floating point"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One finding: `state` is ok, note, or fix; `fix` says what to do."""

    state: str
    subject: str
    text: str
    fix: str | None = None

    def __str__(self) -> str:
        advice = f": {self.fix}" if self.fix else ""
        return f"{self.state:<6}{self.subject:<14}{self.text}{advice}"


@click.command("doctor")
@click.option("--numpy", "numpy_too", is_flag=True, help="List the supported NumPy functions.")
@json_option
@click.pass_context
def command(context: click.Context, numpy_too: bool, as_json: bool) -> None:
    """Show versions, compiler, OpenMP, cache, machine and optional packages."""
    if numpy_too:
        _show_numpy(as_json)
        return
    facts = list(_facts())
    if as_json:
        result_json({"facts": [asdict(fact) for fact in facts]})
    else:
        for fact in facts:
            result(str(fact))
    if any(fact.subject == "C compiler" and fact.state == "fix" for fact in facts):
        context.exit(Exit.TOOLCHAIN)


def _show_numpy(as_json: bool) -> None:
    from polyopt.frontend.numpy.guide import GROUPS, MEANING, rows
    from polyopt.frontend.numpy.table import METHODS, functions

    if as_json:
        table = [asdict(row) for row in rows()]
        names = {"functions": sorted(functions()), "methods": sorted(METHODS)}
        result_json({**names, "table": table})
        return
    for how, meaning in MEANING.items():
        result(f"{how.value}: {meaning}")
        for group in GROUPS:
            if group.how is how and group.names:
                _show_group(group.title, group.names, group.limits)
    _show_group("methods of arrays", tuple(sorted(METHODS)), "")


def _show_group(title: str, names: tuple[str, ...], limits: str) -> None:
    lines = fill(", ".join(names), 96, initial_indent="    ", subsequent_indent="    ")
    note = f": {limits}" if limits else ""
    result(f"  {title}{note.replace('`', '')}\n{lines}")


def _facts() -> Iterator[Fact]:
    yield Fact("ok", "polyopt", own_version())
    yield Fact("ok", "python", f"{platform.python_version()} on {platform.machine()}")
    for name in _CORE:
        yield _package(name)
    yield from _compiler()
    yield _headers()
    yield _cache()
    yield _machine()
    yield from _devices()
    for extra, (module, purpose) in _OPTIONAL.items():
        if find_spec(module) is None:
            advice = f'pip install "polyopt[{extra}]"'
            text = f"not installed; this version works without it, it is for {purpose}"
            yield Fact("note", module, text, advice)
        else:
            yield Fact("ok", module, purpose)


def _package(name: str) -> Fact:
    try:
        return Fact("ok", name, version(name))
    except PackageNotFoundError:
        return Fact("fix", name, "not installed", f"pip install {name}")


def _compiler() -> Iterator[Fact]:
    from polyopt.runtime.store import open_store
    from polyopt.runtime.toolchain import find_compiler

    try:
        compiler = find_compiler(open_store())
    except ToolchainError as error:
        yield Fact("fix", "C compiler", error.message, error.hint)
        return
    yield Fact("ok", "C compiler", compiler.describe())
    yield _openmp()


def _openmp() -> Fact:
    """Build and call a parallel loop, the whole way a kernel goes."""
    import numpy as np

    from polyopt import kernel
    from polyopt.cli import probe

    try:
        values = np.zeros(64)
        compiled = kernel(threads=2)(probe.fill).compile(values)
        compiled(values)
    except PolyoptError as error:
        return Fact("fix", "OpenMP", f"[{error.code}] {error.message}", error.hint)
    if not np.array_equal(values, np.arange(64.0)):
        return Fact("fix", "OpenMP", "a parallel loop computed a wrong result")
    return Fact("ok", "OpenMP", "a parallel loop was built and run")


def _headers() -> Fact:
    from polyopt.runtime.build import python_headers

    if python_headers() is None:
        return Fact(
            "note",
            "Python.h",
            "not found; calls go through ctypes, tens of microseconds slower",
            "install the package python3-dev",
        )
    return Fact("ok", "Python.h", "calls go through a compiled wrapper")


def _cache() -> Fact:
    found = cache_info()
    if found.directory is None:
        return Fact("note", "cache", "off; every process compiles anew", "unset POLYOPT_CACHE")
    count = sum(found.entries.values())
    return Fact("ok", "cache", f"{found.directory}, {count} entries, {show_size(found.size)}")


def _devices() -> Iterator[Fact]:
    """Tell what there is besides the processor; `polyopt devices` tells more."""
    from polyopt.runtime.device.choose import survey

    known = survey()
    for device in known.devices:
        if not device.fault:
            what = f'target="{device.target.value}", device={device.number}'
            yield Fact("ok", device.target.value, f"{what}: {device.name}")
    for thing in known.missing:
        yield Fact("note", thing.what, thing.reason, thing.fix)


def _machine() -> Fact:
    from polyopt.targets import detect_machine

    machine = detect_machine()
    caches = "/".join(show_size(size) for size in (machine.l1, machine.l2, machine.l3))
    vectors = f"{machine.vector_registers} vector registers of {machine.vector_bytes} bytes"
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    return Fact("ok", "machine", f"{cores}, caches {caches}, {vectors}")
