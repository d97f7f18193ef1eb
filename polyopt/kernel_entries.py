"""What a cache entry remembers of a kernel, and the key that it is found by."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from polyopt.dataclass import dataclass
from polyopt.frontend.syntax.annotations import ArgType, ConstType
from polyopt.ir.host import DeviceProgram, Emitted
from polyopt.ir.source import Signature, Source
from polyopt.machine import Machine
from polyopt.runtime import build as builder
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.lookup import key_of
from polyopt.runtime.records import RecordError, from_json, to_json
from polyopt.runtime.store import Entry
from polyopt.targets import Options, seconds_to_compile

if TYPE_CHECKING:
    from polyopt.pipeline import Compilation


ARTEFACT = "certificate.json.z"
"""The file of a cache entry with the certificate; it is unpacked when somebody asks for it."""


def kernel_key(
    function: Callable[..., Any],
    types: tuple[ArgType, ...],
    options: Options,
    machine: Machine,
    made_by: Mapping[str, object],
) -> str | None:
    """Return the text of all that decides what `build_kernel` makes but for values that it reads.

    None: do not cache.
    """
    try:
        for kind in types:
            if isinstance(kind, ConstType):
                to_json(kind.value)
    except RecordError:
        return None
    facts = {
        "abi": builder.ABI,
        "types": [repr(kind) for kind in types],
        "options": repr(options),
        "seconds": seconds_to_compile(options),
        "machine": repr(machine),
        **made_by,
        "python": builder.python_abi(),
        "libc": builder.libc(),
        "versions": versions(),
    }
    return key_of(function, facts)


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """What an entry remembers."""

    source: Emitted
    schedule: str
    library: str
    warning: str
    artefact: bytes | None


def remember(stages: Compilation) -> dict[str, bytes]:
    """Return what an entry keeps of a kernel's stages, whatever library is built of them."""
    files = {
        "source.json": json.dumps(to_json(stages.source)).encode(),
        "schedule.txt": stages.schedule_text.encode(),
    }
    text = None if stages.certificate is None else artefact_of(stages)
    return files if text is None else {**files, ARTEFACT: zlib.compress(text.encode(), 6)}


def built_as(library: str, warning: str) -> dict[str, bytes]:
    """Return what an entry keeps of the build: the library's key, and what was left out."""
    return {"library.key": library.encode(), "warning.txt": warning.encode()}


def artefact_of(stages: Compilation) -> str | None:
    """Return the text of the certificate file, None where the program cannot be recorded."""
    from polyopt.artefact import artefact_text
    from polyopt.ir.record import RecordError as Unrecorded

    if stages.written is None:
        return None
    try:
        return artefact_text(stages.written, stages.loops, stages.source, stages.schedule_text,
                             stages.certificate)  # fmt: skip
    except Unrecorded:
        return None


def readable_text(stages: Compilation) -> str:
    """Return the text that is handed over: in C, the edition for readers."""
    from polyopt.artefact import text_for_readers

    program = stages.written or stages.program
    return text_for_readers(program, stages.loops, stages.source.language).text


def unpacked(artefact: bytes) -> str | None:
    """Return the text of a certificate file that the cache keeps, None where it is damaged."""
    from polyopt.artefact import MAX_BYTES

    whole = zlib.decompressobj()
    with suppress(zlib.error, ValueError):
        text = whole.decompress(artefact, MAX_BYTES).decode()
        return text if whole.eof else None
    return None


def recall(entry: Entry) -> KnownKernel | Signature | str:
    """Return what `entry` remembers: a kernel, or the argument that has to be a constant.

    A signature: what the front end read, of a kernel that was not built.
    """
    if "need.json" in entry.files:
        argument = entry.json("need.json")
        if not isinstance(argument, str):
            raise RecordError("no argument is named")
        return argument
    if "signature.json" in entry.files:
        signature = from_json(entry.json("signature.json"))
        if not isinstance(signature, Signature):
            raise RecordError(f"a {type(signature).__name__} is no signature")
        return signature
    source = from_json(entry.json("source.json"))
    if not isinstance(source, Source | DeviceProgram):
        raise RecordError(f"a {type(source).__name__} is no kernel")
    texts = (entry.text(name) for name in ("schedule.txt", "library.key", "warning.txt"))
    schedule, library, warning = texts
    return KnownKernel(source, schedule, library, warning, entry.files.get(ARTEFACT))
