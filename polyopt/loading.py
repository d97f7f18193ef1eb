"""Saved kernels: files that run with NumPy alone, without compiler or front end.

In: a file's path.  Out: `LoadedKernel`, called as the kernel was.
Refuses: files that are damaged or something else (PO0633), of another version (PO0634), for another
processor or system (PO0635); calls that do not fit, as kernels do.
A file is one line with the format and the digest of the rest, one of JSON, and a shared library:
two where calls whose arrays end early have code of their own, unless its text is the same.
Nothing is executed or unpickled but that library, where the digest is right.  The digest finds
damage, not malice: to load a file is to run its code, as to import a module.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.errors import InternalError, PolyoptError, ToolchainError, UsageError
from polyopt.files import read_regular
from polyopt.ir.source import ArrayArg, ScalarArg, Signature, Source
from polyopt.runtime.check import check_call
from polyopt.runtime.elf import ElfKind, check_elf
from polyopt.runtime.library import Loaded, load_foreign
from polyopt.runtime.records import RecordError, from_json, to_json
from polyopt.runtime.threads import thread_count, warn_forked
from polyopt.runtime.toolchain import listed_features

MAGIC = "polyopt-kernel"
FORMAT = 2
MOST_BYTES = 256 * 1024 * 1024
MOST_FACTS = 16 * 1024 * 1024
"""Bytes of the line of JSON."""
_SETS = ("sse", "ssse", "avx", "bmi", "fma", "amx", "sha", "vaes", "gfni", "vpclmul", "movdir")
_OTHERS = frozenset({"pni", "popcnt", "cx16", "lahf_lm", "abm", "f16c", "movbe", "xsave", "xop"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file says of its libraries: how they are called, what they were built for.

    `general`: how the code for any sizes is called, if there is any.
    """

    source: Source
    weak: tuple[bool, ...]
    system: str
    machine: str
    features: tuple[str, ...]
    polyopt: str
    general: Source | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """The code for usual sizes, and that for any."""
        return (self.source,) if self.general is None else (self.source, self.general)


class LoadedKernel:
    """A kernel from a file."""

    def __init__(self, facts: Facts, loaded: tuple[Loaded, ...]) -> None:
        self._facts = facts
        self._loaded = loaded
        self.__name__ = facts.source.signature.name

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401
        """Run the kernel; raises what calls of the compiled kernel do."""
        values = _bound(self.signature, args, kwargs)
        result = self._run(values)
        if result is NotImplemented and self._loaded[0].is_forked():
            warn_forked()
            for loaded in self._loaded:
                loaded.set_threads(1)
            result = self._run(values)
        if result is NotImplemented:
            check_call(self.signature, values, alone=True)
            raise InternalError("PO0901", "the library refused a call that fits")
        return result

    def _run(self, values: tuple[object, ...]) -> Any:  # noqa: ANN401
        for loaded in self._loaded:
            result = loaded.call(*values)
            if result is not NotImplemented:
                return result
        return NotImplemented

    @property
    def signature(self) -> Signature:
        """How the kernel is called."""
        return self._facts.source.signature

    @property
    def source(self) -> str:
        """The C text that was built."""
        return self._facts.source.text

    @property
    def header(self) -> str:
        """The C declaration of the entry."""
        return self._facts.source.header

    def __repr__(self) -> str:
        kinds = [
            f"{a.name}: {a.dtype}[{', '.join(':' * len(a.shape))}]"
            if isinstance(a, ArrayArg)
            else f"{a.name}: {a.dtype}"
            for a in self.signature.arguments
            if isinstance(a, ArrayArg | ScalarArg)
        ]
        return f"<LoadedKernel {self.__name__}({', '.join(kinds)})>"


def load(path: str | os.PathLike[str], *, threads: int | None = None) -> LoadedKernel:
    """Return the kernel that `CompiledKernel.save` wrote; needs NumPy only.

    Its library runs in this process: load only what you would import.
    """
    name = os.path.basename(os.fspath(path))
    try:
        data = read_regular(path, MOST_BYTES)
    except FileNotFoundError:
        raise UsageError(
            "PO0601",
            f"there is no file `{os.fspath(path)}`",
            hint="`kernel.compile(...).save(path)` writes one",
        ) from None
    except OSError as error:
        raise UsageError("PO0633", f"`{name}` cannot be read: {error.strerror}") from None
    facts, libraries = _parts(data, name)
    _require_fit(facts, libraries, name)
    count, pairs = thread_count(threads), zip(facts.sources, libraries, strict=True)
    return LoadedKernel(
        facts, tuple(_loaded(source, facts.weak, library, count) for source, library in pairs)
    )


def written(facts: Facts, libraries: Sequence[bytes]) -> bytes:
    """Return the contents of a file; `libraries` are those of `facts.sources`."""
    distinct = tuple(dict.fromkeys(libraries))
    record = {
        "source": to_json(facts.source),
        "weak": list(facts.weak),
        "system": facts.system,
        "machine": facts.machine,
        "features": list(facts.features),
        "polyopt": facts.polyopt,
        "general": None if facts.general is None else to_json(facts.general),
        "bytes": len(distinct[0]),
    }
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    rest = text.encode() + b"\n" + b"".join(distinct)
    return f"{MAGIC} {FORMAT} blake2b-256:{hex_digest(rest)}\n".encode() + rest


def instruction_sets(features: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of a processor's features that compilers make code for."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return features
    return tuple(f for f in features if f.startswith(_SETS) or f in _OTHERS)


def _parts(data: bytes, name: str) -> tuple[Facts, tuple[bytes, ...]]:
    """Return what a file says and the library of each source; raises PO0633, PO0634."""
    head, _, rest = data.partition(b"\n")
    match head[:200].decode("ascii", "replace").split(" "):
        case [magic, version, digest] if magic == MAGIC and len(head) < 200:
            pass
        case _:
            raise _damaged(name, "it does not begin as one")
    if version != str(FORMAT):
        raise UsageError(
            "PO0634",
            f"`{name}` has format {version[:20]}, this polyopt reads {FORMAT}",
            hint="save the kernel again, with the version of polyopt that loads it",
        )
    if digest != f"blake2b-256:{hex_digest(rest)}":
        raise _damaged(name, "its digest is another one")
    text, _, library = rest.partition(b"\n")
    if len(text) > MOST_FACTS:
        raise _damaged(name, "it says too much")
    try:
        record = json.loads(text)
        facts, first = _facts(record), record["bytes"]
        last = first == len(library) if facts.general is None else first <= len(library)
        if type(first) is not int or first <= 0 or not last:
            raise RecordError("a length is that of no library")
        both = library[:first], library[first:] or library[:first]
        return facts, both[: len(facts.sources)]
    except (ValueError, RecordError, RecursionError, TypeError, KeyError) as error:
        raise _damaged(
            name, f"what it says of itself is malformed ({type(error).__name__})"
        ) from None


def _facts(record: Mapping[str, Any]) -> Facts:
    source = from_json(record["source"])
    texts = [record[key] for key in ("system", "machine", "polyopt")]
    weak, features = record["weak"], record["features"]
    are_texts = all(isinstance(text, str) for text in (*texts, *features))
    if not isinstance(source, Source) or not are_texts or not all(type(w) is bool for w in weak):
        raise RecordError("a field holds something else")
    general = None if record["general"] is None else from_json(record["general"])
    if not isinstance(general, Source | None):
        raise RecordError("the code for any sizes is none")
    return Facts(source, tuple(weak), texts[0], texts[1], tuple(features), texts[2], general)


def _require_fit(facts: Facts, libraries: Sequence[bytes], name: str) -> None:
    """Check that the libraries are for this system and processor; raises PO0635, PO0633."""
    here = platform.system(), platform.machine()
    if (facts.system, facts.machine) != here:
        raise UsageError(
            "PO0635",
            f"`{name}` is for {facts.system} on {facts.machine}, this is {here[0]} on {here[1]}",
            hint="save the kernel on such a machine, or build its C file here (`polyopt compile`)",
        )
    missing = sorted(set(facts.features).difference(listed_features()))
    if missing:
        raise UsageError(
            "PO0635",
            f"`{name}` needs instructions that this processor lacks: {', '.join(missing)[:200]}",
            hint="save it with POLYOPT_MACHINE=x86-64-v3, for all processors of that level",
        )
    try:
        for library in libraries:
            check_elf(library, ElfKind.LIBRARY)
    except ValueError as error:
        raise _damaged(name, f"its library: {error}") from None


def _loaded(source: Source, weak: tuple[bool, ...], library: bytes, threads: int) -> Loaded:
    """Load a library from a private folder, which is gone once it is in memory."""
    folder = Path(tempfile.mkdtemp(prefix="polyopt-kernel-"))
    try:
        path = folder / "kernel.so"
        path.write_bytes(library)
        return load_foreign(path, source, weak, threads)
    except OSError as error:
        raise ToolchainError("PO0503", f"the library cannot be loaded: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bound(
    signature: Signature, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[object, ...]:
    """Return the values of all arguments, in order; raises `UsageError` PO0636."""
    names = [argument.name for argument in signature.arguments]
    given = dict(zip(names, args, strict=False))
    twice = [name for name in kwargs if name in given]
    unknown = [name for name in kwargs if name not in names]
    missing = [name for name in names if name not in given and name not in kwargs]
    if len(args) > len(names) or twice or unknown or missing:
        raise _misfit(signature.name, names, len(args), [*twice, *unknown, *missing])
    return tuple({**given, **kwargs}[name] for name in names)


def _misfit(name: str, names: list[str], count: int, wrong: list[str]) -> PolyoptError:
    which = f", and `{wrong[0]}` is missing, unknown or given twice" if wrong else ""
    return UsageError(
        "PO0636",
        f"`{name}` takes {len(names)} arguments, {count} were given by position{which}",
        hint=f"call {name}({', '.join(names)}): a saved kernel has no defaults",
    )


def _damaged(name: str, reason: str) -> UsageError:
    return UsageError(
        "PO0633",
        f"`{name}` is not a saved kernel, or damaged: {reason}",
        hint="save the kernel again: `compiled.save(path)`",
    )
