"""The files of compiled kernels: text, header, schedule, certificate; and of programs of them.

In: programs and their compilations, a name.  Out: texts by name.
Refuses: programs of devices (PO0640), names that files would share (PO0643), and what
`exporting.program` refuses.
Files for pkg-config and CMake, and a manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polyopt import __version__
from polyopt.artefact import SUFFIX, artefact_text, digest_of, text_for_readers
from polyopt.dataclass import dataclass, replace
from polyopt.emit.frame import ENTRY_PREFIX
from polyopt.errors import UsageError
from polyopt.exporting.cuda import cuda_source
from polyopt.exporting.program import (
    RUNNER,
    General,
    described,
    main_text,
    result_prefixes,
    runner_files,
)
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


Kernel = tuple[Program, "Compilation"]
"""A program as it was written, and its compilation."""


def exported(
    name: str, kernels: Sequence[Kernel], general: Mapping[str, Kernel] | None = None
) -> Exported:
    """Return the package `name` of some kernels and the program that calls them in order.

    `general`: code for any sizes, by the name of the kernel that refuses some.
    """
    made: dict[str, KernelFiles] = {}
    others: dict[str, General] = {}
    for program, compilation in kernels:
        signature = compilation.source.signature
        if signature.name in made:
            raise UsageError(
                "PO0643",
                f"two kernels have the name `{signature.name}`",
                hint="rename one of the functions: files and entries are called as they are",
            )
        made[signature.name] = _called(signature.name, program, compilation)
    for stem, kernel in (general or {}).items():
        other = kernel_files(kernel[0].name, *kernel)
        if isinstance(other.source, Source):
            others[stem] = _beside(stem, made[stem].source, other.source)
            made |= {kernel[0].name: other} if others[stem].stem != stem else {}
    every = {stem: one.source for stem, one in made.items() if isinstance(one.source, Source)}
    beside = {one.stem: stem for stem, one in others.items() if one.stem != stem}
    sources = {stem: source for stem, source in every.items() if stem not in beside}
    if len({source.language for source in sources.values()}) > 1:
        raise UsageError(
            "PO0640",
            "some of the kernels are for a device, and others are not",
            hint="give the target of all of them with --target",
        )
    _require_names(name, sources)
    about = f"Kernels that polyopt {__version__} compiled: {', '.join(sources)}."
    files = {file: text for one in made.values() for file, text in one.files.items()}
    files |= {f"{name}_main.c": main_text(name, sources, about, others), **runner_files()}
    prefixes = result_prefixes(sources)
    prefixes |= {stem: prefixes[usual] for stem, usual in beside.items()}
    more = package_files(every, name, name, files, prefixes)
    return Exported({**files, **more}, command_line(every, name))


def _beside(stem: str, usual: Emitted, general: Source) -> General:
    """Return code for any sizes; where only the sizes that it takes differ, the usual one's."""
    assert isinstance(usual, Source)
    name = general.signature.name
    is_same = general.text.replace(name, stem).split() == usual.text.split()  # lines are wrapped
    if is_same and general.params == usual.params:
        return General(stem, replace(general, entry=usual.entry))
    return General(name, general)


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


FORMAT = "polyopt-package 2"
_C_FLAGS = ["-O3", "-ffp-contract=off", "-fwrapv", "-fopenmp-simd"]


def package_files(
    kernels: Mapping[str, Source],
    name: str,
    stem: str,
    files: Mapping[str, str],
    prefixes: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return further files of the package `name` whose files so far are `files`.

    `kernels` are by the stem of their files, `stem` is that of the package's own; `prefixes`: the
    names of their results in the program that calls them, if the package has one.
    """
    openmp = any(source.openmp for source in kernels.values())
    sources = kernel_sources(kernels)
    program = program_sources(stem) if prefixes is not None else ()
    headers = [f"{one}.h" for one in kernels]
    made = {"CMakeLists.txt": _cuda_project(name, [*sources, *program])}
    if not _is_cuda(kernels):
        made = _c_files(name, sources, headers, program, openmp=openmp)
    manifest = f"{stem}.manifest.json"
    return {
        **made,
        manifest: _manifest(kernels, prefixes or result_prefixes(kernels), name, {**files, **made}),
    }


def _is_cuda(kernels: Mapping[str, Source]) -> bool:
    return any(source.language == "cuda" for source in kernels.values())


def kernel_sources(kernels: Mapping[str, Source]) -> list[str]:
    """Return the names of the files with the kernels' entries."""
    return [
        f"{stem}{'_host.cu' if one.language == 'cuda' else '.c'}" for stem, one in kernels.items()
    ]


def _c_files(
    name: str,
    sources: Sequence[str],
    headers: Sequence[str],
    program: Sequence[str],
    *,
    openmp: bool,
) -> dict[str, str]:
    return {
        f"{name}.pc": _pkg_config(name, sources),
        f"{name}Config.cmake": _cmake_config(name, sources, openmp=openmp),
        "CMakeLists.txt": _cmake_project(name, headers, program),
    }


def program_sources(stem: str) -> tuple[str, ...]:
    """Return the names of the sources of the package's program."""
    return (f"{stem}_main.c", *RUNNER)


def command_line(kernels: Mapping[str, Source], stem: str) -> str:
    """Return the one command that builds the program, for the processor that it is given on."""
    has_threads = any(source.openmp for source in kernels.values())
    sources = [*kernel_sources(kernels), *program_sources(stem)]
    if _is_cuda(kernels):
        return " ".join([_NVCC, *sources, "-o", stem])
    openmp = "-fopenmp" if has_threads else "-fopenmp-simd"
    words = ["cc -std=c11 -O3 -march=native -ffp-contract=off -fwrapv", openmp, *sources]
    return " ".join([*words, "-o", stem, "-lm"])


_NVCC = "nvcc -std=c++17 -O3 -arch=native --fmad=false"
"""The compiler of CUDA, which rounds products and sums as the kernels' proof has it."""


def _cuda_project(name: str, sources: Sequence[str]) -> str:
    return f"""\
# Builds the program {name}, for the device of this machine.
cmake_minimum_required(VERSION 3.24)
project({name} LANGUAGES C CUDA)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES native)
endif()
add_executable({name} {_in_folder(sources)})
target_compile_options({name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)
set_target_properties({name} PROPERTIES C_STANDARD 11 CUDA_STANDARD 17)
"""


def _pkg_config(name: str, sources: Sequence[str]) -> str:
    return f"""\
# A package of sources.  A program with the kernel in it, threads by -fopenmp:
#   cc -O3 -march=native -fopenmp main.c $(pkg-config --variable=sources {name}) \\
#      $(pkg-config --cflags --libs {name})
prefix=${{pcfiledir}}
sources={" ".join(f"${{prefix}}/{_quoted(source)}" for source in sources)}

Name: {name}
Description: kernel {name}, generated by polyopt, as C source
Version: 0
Cflags: -I${{prefix}}
Libs: -lm
"""


def _quoted(name: str) -> str:
    return re.sub(r"[^\w.+-]", lambda match: "\\" + match[0], name)


def _in_folder(names: Sequence[str]) -> str:
    return " ".join(f'"${{CMAKE_CURRENT_LIST_DIR}}/{name}"' for name in names)


def _cmake_config(name: str, sources: Sequence[str], *, openmp: bool) -> str:
    threads = f"""
if({name}_OPENMP)
  find_package(OpenMP QUIET COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_compile_options({name} PRIVATE ${{OpenMP_C_FLAGS}})
    target_link_libraries({name} PUBLIC ${{OpenMP_C_LIBRARIES}})
  endif()
endif()
"""
    option = f'option({name}_OPENMP "Run {name} on several threads" ON)\n'
    return f"""\
# Defines the library {name}::{name}, built from source:
#   find_package({name} CONFIG REQUIRED PATHS this-directory)
#   target_link_libraries(program PRIVATE {name}::{name})
if(TARGET {name}::{name})
  return()
endif()
set({name}_ARCH "native" CACHE STRING "Processor to build {name} for, as in -march; may be empty")
{option if openmp else ""}\
add_library({name} {_in_folder(sources)})
add_library({name}::{name} ALIAS {name})
set_target_properties({name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON
  POSITION_INDEPENDENT_CODE ON)
target_include_directories({name} INTERFACE "$<BUILD_INTERFACE:${{CMAKE_CURRENT_LIST_DIR}}>")
target_compile_options({name} PRIVATE {" ".join(_C_FLAGS)})
if({name}_ARCH AND NOT CMAKE_CROSSCOMPILING)
  target_compile_options({name} PRIVATE "-march=${{{name}_ARCH}}")
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
{threads if openmp else ""}"""


def _cmake_project(name: str, headers: Sequence[str], program: Sequence[str]) -> str:
    runs = f"""\
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  add_executable({name}_program {_in_folder(program)})
  set_target_properties({name}_program PROPERTIES OUTPUT_NAME {name} C_STANDARD 11)
  target_compile_options({name}_program PRIVATE -O3)
  target_link_libraries({name}_program PRIVATE {name})
  install(TARGETS {name}_program RUNTIME DESTINATION ${{CMAKE_INSTALL_BINDIR}})
endif()
"""
    return f"""\
# Alone, or in a project by add_subdirectory(); `cmake --install` installs library and header.
cmake_minimum_required(VERSION 3.13)
project({name} LANGUAGES C)
include("${{CMAKE_CURRENT_LIST_DIR}}/{name}Config.cmake")
include(GNUInstallDirs)
install(TARGETS {name} EXPORT {name} ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}}
  LIBRARY DESTINATION ${{CMAKE_INSTALL_LIBDIR}} RUNTIME DESTINATION ${{CMAKE_INSTALL_BINDIR}}
  INCLUDES DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(FILES {_in_folder(headers)} DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {name} NAMESPACE {name}:: FILE {name}Config.cmake
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
{runs if program else ""}"""


def _manifest(
    kernels: Mapping[str, Source], prefixes: Mapping[str, str], name: str, files: Mapping[str, str]
) -> str:
    """Return what the package is, for programs: kernels, flags, digests of its files."""
    digests = {file: digest_of(text) for file, text in sorted(files.items())}
    record = {
        "format": FORMAT,
        "name": name,
        "polyopt": __version__,
        "language": next(iter(kernels.values())).language,
        "standard": "c++17" if _is_cuda(kernels) else "c11",
        "openmp": any(source.openmp for source in kernels.values()),
        "flags": _NVCC.split()[1:] if _is_cuda(kernels) else _C_FLAGS,
        "libraries": [] if _is_cuda(kernels) else ["m"],
        "kernels": [
            {
                "function": source.signature.name,
                "entry": source.entry,
                "file": file,
                "certificate": digests.get(stem + SUFFIX),
                **described(source, prefixes[stem]),
            }
            for (stem, source), file in zip(kernels.items(), kernel_sources(kernels), strict=True)
        ],
        "files": digests,
    }
    return json.dumps(record, indent=2) + "\n"
