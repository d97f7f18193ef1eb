"""The ways a program is run: interpreted, as C, as CUDA text on the emulator.

In: programs.  Out: a `Verdict` for each.
C is compiled for many programs at once: their emitted texts are one file, built with -O1.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polyopt as po
from polyopt.building import compile_stages
from polyopt.compiled import exact_values, restore
from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.ir.interp import run_program
from polyopt.ir.source import Signature, Source
from polyopt.machine import Machine
from polyopt.runtime.library import load_foreign
from polyopt.specialize import plain_values, weak_flags
from polyopt.targets import Options, detect_machine
from tests.conftest import compiler
from tests.hostile.judging import judge
from tests.hostile.program import HostileProgram, arguments, loaded
from tests.hostile.verdicts import Verdict, worst
from tests.properties.batch import FLAGS, apart

Types = tuple[ArgType, ...]
_Text = tuple[Source, tuple[bool, ...]]
"""An emitted text, and which of its numbers are Python's own."""
Values = tuple[Any, ...]
_LIBRARIES = itertools.count()


class Settled:
    """A function whose types are settled as the public face settles them, built by a stage."""

    def __init__(self, function: Callable[..., Any], make: Callable[[Types], Any]) -> None:
        self.kernel = po.kernel(function)
        self.make = make
        self.made: dict[Types, Any] = {}

    def of(self, values: Values) -> tuple[Any, Values]:
        """Return what was made for the types of `values`, and these as the kernel takes them."""
        from polyopt.specialize import types_of

        parameters = self.kernel._parameters
        plain = plain_values(parameters.bind(values, {}))
        types = types_of(parameters, plain, self.kernel._constants)
        return self.made[self.kernel._settle_types(types, plain, self._signature)], plain

    def _signature(self, types: Types) -> Signature:
        if types not in self.made:
            self.made[types] = self.make(types)
        made = self.made[types]
        if isinstance(made, PolyoptError):
            raise made
        return made.signature  # type: ignore[no-any-return]


def interpreted(program: HostileProgram, directory: Path) -> Verdict:
    """Run what the front end read in the slow interpreter."""
    with loaded(program, directory) as function:
        settled = Settled(function, lambda types: build(function, types))

        def call(*values: Any) -> Any:
            made, plain = settled.of(values)
            return restore(run_program(made, plain), plain, values)

        verdicts = [judge(function, call, t, n, exact=True) for n, t in enumerate(program.calls)]
        return worst([v for v in verdicts if not v.text.endswith(NOT_INTERPRETED)])


NOT_INTERPRETED = "shares memory: not interpreted"


def emulated(program: HostileProgram, directory: Path) -> Verdict:
    """Run the CUDA text on the emulator, as a user would."""
    with loaded(program, directory) as function:
        kernel = po.kernel(function, target="cuda", device="emulated")  # type: ignore[call-overload]
        return worst(
            [judge(function, kernel, t, n, exact=True) for n, t in enumerate(program.calls)]
        )


@dataclass(frozen=True, slots=True)
class Setting:
    """A mode, and the threads that kernels are made for and run on."""

    mode: str
    threads: int

    @property
    def options(self) -> Options:
        """What the compiler is given."""
        return Options().changed({"fp": self.mode, "threads": self.threads})


@dataclass(slots=True)
class _Pending:
    """A program's function with what was made for the types of its calls."""

    number: int
    program: HostileProgram
    function: Callable[..., Any]
    settled: Settled
    setting: Setting
    refused: dict[int, Exception] = field(default_factory=dict)


class Compiled:
    """Programs as C, one compiler run for all of them."""

    def __init__(self, directory: Path, settings: tuple[Setting, ...]) -> None:
        self.directory = directory
        self.settings = settings
        self.machine = detect_machine()
        self.sources: list[_Text] = []

    def run(
        self, programs: list[HostileProgram], begin: Callable[[int], None] = lambda number: None
    ) -> Iterator[tuple[int, Verdict]]:
        """Give each program's number and verdict; `begin` is told before a program is run."""
        with ExitStack() as stack:
            pending: list[_Pending] = []
            for number, program in enumerate(programs):
                begin(number)
                function = stack.enter_context(loaded(program, self.directory))
                pending += [
                    self._prepare(number, program, function, setting)
                    for setting in self._settings(program)
                ]
            begin(-1)
            kernels = self._library()
            for number in range(len(programs)):
                begin(number)
                mine = [p for p in pending if p.number == number]
                yield number, worst([self._judge(p, kernels) for p in mine])

    def _settings(self, program: HostileProgram) -> tuple[Setting, ...]:
        """Return one setting for each program of a seed, in turn; all for others."""
        if program.seed < 0:
            return self.settings
        return (self.settings[program.seed % len(self.settings)],)

    def _prepare(
        self, number: int, program: HostileProgram, function: Callable[..., Any], setting: Setting
    ) -> _Pending:
        machine = replace(self.machine, cores=setting.threads)

        def make(types: Types) -> Any:
            return self._staged(function, types, setting.options, machine)

        pending = _Pending(number, program, function, Settled(function, make), setting)
        for position, text in enumerate(program.calls):
            try:
                pending.settled.of(arguments(text))
            except Exception as error:
                pending.refused[position] = error
        return pending

    def _staged(
        self, function: Callable[..., Any], types: Types, options: Options, machine: Machine
    ) -> _Emitted:
        source = compile_stages(function, types, options, machine).source
        assert isinstance(source, Source)
        entry = f"entry_{len(self.sources)}"
        text = re.sub(rf"\b{re.escape(source.entry)}\b", entry, source.text)
        self.sources.append((replace(source, text=text, entry=entry), weak_flags(types)))
        return _Emitted(source.signature, len(self.sources) - 1)

    def _library(self) -> dict[int, Any]:
        """Build the emitted texts; text that does not compile is left out and found missing."""
        listed = list(enumerate(self.sources))
        self.sources = []
        return self._built(listed) if listed else {}

    def _built(self, listed: list[tuple[int, _Text]]) -> dict[int, Any]:
        text = "\n".join(apart(source.text, number) for number, (source, _) in listed)
        path = self.directory / f"batch_{os.getpid()}_{next(_LIBRARIES)}"  # loaded once by its name
        path.with_suffix(".c").write_text(text)
        tool = compiler()
        assert tool is not None
        names = str(path.with_suffix(".c")), "-o", str(path.with_suffix(".so"))
        command = [tool, *FLAGS, "-shared", "-fPIC", *names, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        path.with_suffix(".c").unlink()
        if done.returncode != 0:
            if len(listed) == 1:
                return {listed[0][0]: done.stderr}
            half = len(listed) // 2
            return {**self._built(listed[:half]), **self._built(listed[half:])}
        threads = max(setting.threads for setting in self.settings)
        kernels = {
            number: load_foreign(path.with_suffix(".so"), source, weak, threads)
            for number, (source, weak) in listed
        }
        path.with_suffix(".so").unlink()
        return kernels

    def _judge(self, pending: _Pending, kernels: dict[int, Any]) -> Verdict:
        verdicts = []
        for number, text in enumerate(pending.program.calls):
            call = self._call(pending, kernels, number)
            exact = pending.setting.mode == "strict"
            verdicts.append(judge(pending.function, call, text, number, exact=exact))
        found = worst(verdicts)
        if found.outcome.is_finding:
            where = f"[{pending.setting.mode}, {pending.setting.threads} threads] "
            return replace(found, text=where + found.text)
        return found

    def _call(self, pending: _Pending, kernels: dict[int, Any], number: int) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            if number in pending.refused:
                raise pending.refused[number]
            emitted, plain = pending.settled.of(values)
            loaded_kernel = kernels[emitted.number]
            if isinstance(loaded_kernel, str):
                raise NotCompiled(loaded_kernel)
            loaded_kernel.set_threads(pending.setting.threads)
            exact = _exact(emitted.signature, plain)
            result = loaded_kernel.call(*exact)
            if result is NotImplemented:
                raise AssertionError("the kernel refuses a call that fits")
            return restore(result, plain, values)

        return call


class NotCompiled(Exception):
    """The C compiler refuses emitted text."""


@dataclass(frozen=True, slots=True)
class _Emitted:
    signature: Signature
    number: int


def _exact(signature: Signature, values: Values) -> Values:
    from polyopt.runtime.check import check_call

    return exact_values(signature, values, check_call(signature, values).symbols)


def settings(mode: str, threads: tuple[int, ...]) -> tuple[Setting, ...]:
    """Return the settings that a command line asks for."""
    modes = ("strict", "reassociate") if mode == "both" else (mode,)
    return tuple(Setting(m, t) for m in modes for t in threads)


def one(
    program: HostileProgram, target: str, directory: Path, chosen: tuple[Setting, ...]
) -> Verdict:
    """Return the verdict on one program."""
    match target:
        case "interp":
            return interpreted(program, directory)
        case "emulator":
            return emulated(program, directory)
        case _:
            return next(iter(Compiled(directory, chosen).run([program])))[1]
