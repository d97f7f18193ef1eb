"""The files of compiled kernels: text, header, schedule, certificate; and of programs of them.

In: programs and their compilations, a name.  Out: texts by name.
Refuses: programs of devices (PO0640), names that files would share (PO0643), and what
`exporting.program` refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polyopt import __version__
from polyopt.artefact import SUFFIX, artefact_text, text_for_readers
from polyopt.dataclass import dataclass
from polyopt.emit.names import ENTRY_PREFIX
from polyopt.errors import UsageError
from polyopt.exporting.cuda import cuda_source
from polyopt.exporting.package import command_line, package_files
from polyopt.exporting.program import main_text, result_prefixes, runner_files
from polyopt.ir.host import Emitted
from polyopt.ir.program import Program
from polyopt.ir.record import RecordError
from polyopt.ir.source import ArrayArg, ScalarArg, Signature, Source
from polyopt.ir.target import TARGETS
from polyopt.schedulefile import HEADER

if TYPE_CHECKING:
    from polyopt.pipeline import Compilation

_TITLE = f"{HEADER}\n# {{}}: steps on the order of the source"


@dataclass(frozen=True, eq=False)
class KernelFiles:
    """The files of one kernel; `unrecorded` tells why there is no certificate among them."""

    source: Emitted
    files: Mapping[str, str]
    unrecorded: str | None = None


def kernel_files(stem: str, program: Program, compilation: Compilation) -> KernelFiles:
    """Return the texts of a kernel's files, by name; `program` is as it was written."""
    source = text_for_readers(program, compilation.loops, compilation.source.language)
    files = {
        stem + TARGETS[source.language].suffix: source.text,
        **({f"{stem}.h": source.header} if isinstance(source, Source) else {}),
        f"{stem}.schedule.txt": f"{_TITLE.format(stem)}\n{compilation.schedule_text}\n",
    }
    try:
        certificate = artefact_text(
            program, compilation.loops, source, compilation.schedule_text, compilation.certificate
        )
    except RecordError as error:
        return KernelFiles(source, files, str(error))
    return KernelFiles(source, {**files, f"{stem}{SUFFIX}": certificate})


def _called(name: str, program: Program, compilation: Compilation) -> KernelFiles:
    """Return the files of a kernel that C calls: for a device with the host's part."""
    made = kernel_files(name, program, compilation)
    if isinstance(made.source, Source):
        return made
    if made.source.language != "cuda":
        raise UsageError(
            "PO0640",
            f"the host's part of `{name}` is Python's, for {made.source.language}",
            hint="export it for C or CUDA; `polyopt compile` writes its kernels",
        )
    host = cuda_source(made.source, compilation.loops, f"{name}.cu")
    return KernelFiles(
        host,
        {**made.files, f"{name}_host.cu": host.text, f"{name}.h": host.header},
        made.unrecorded,
    )


@dataclass(frozen=True, eq=False)
class Exported:
    """The files of a package with a program, and the command that builds the program."""

    files: Mapping[str, str]
    command: str


def exported(name: str, kernels: Sequence[tuple[Program, Compilation]]) -> Exported:
    """Return the package `name` of some kernels and the program that calls them in order."""
    made: dict[str, KernelFiles] = {}
    for program, compilation in kernels:
        signature = compilation.source.signature
        if signature.name in made:
            raise UsageError(
                "PO0643",
                f"two kernels have the name `{signature.name}`",
                hint="rename one of the functions: files and entries are called as they are",
            )
        made[signature.name] = _called(signature.name, program, compilation)
    sources = {stem: one.source for stem, one in made.items() if isinstance(one.source, Source)}
    if len({source.language for source in sources.values()}) > 1:
        raise UsageError(
            "PO0640",
            "some of the kernels are for a device, and others are not",
            hint="give the target of all of them with --target",
        )
    _require_names(name, sources)
    about = f"Kernels that polyopt {__version__} compiled: {', '.join(sources)}."
    files = {file: text for one in made.values() for file, text in one.files.items()}
    files |= {f"{name}_main.c": main_text(name, sources, about), **runner_files()}
    more = package_files(sources, name, name, files, has_program=True)
    return Exported({**files, **more}, command_line(sources, name))


def package_name(source: Source) -> str:
    """Return the name of the package of one kernel."""
    return source.entry.removeprefix(ENTRY_PREFIX)


def program_name(signature: Signature) -> str:
    """Return the name of the program of a kernel: the function's, in ASCII."""
    return re.sub(r"\W", "_", signature.name, flags=re.ASCII)


def _require_names(name: str, sources: Mapping[str, Source]) -> None:
    """Refuse names that no file or target can have, and those that two values would have."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name.startswith("po_"):
        raise UsageError(
            "PO0643",
            f"`{name}` cannot be the name of a program and its files",
            hint="choose letters, digits and underscores with --name",
        )
    prefixes = result_prefixes(sources)
    for stem, source in sources.items():
        given = {a.name for a in source.signature.arguments if isinstance(a, ArrayArg | ScalarArg)}
        results = re.compile(rf"{re.escape(prefixes[stem])}\d*")
        clash = next(filter(results.fullmatch, sorted(given)), None)
        if source.signature.results and clash is not None:
            raise UsageError(
                "PO0643",
                f"the argument `{clash}` of `{stem}` has the name that its result has in files",
                hint=f"rename the argument `{clash}`",
            )
