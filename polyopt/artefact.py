"""A compiled function as a file that can be checked again: program, loops, digest, proof.

In: what a compilation made.  Out: the text of `NAME.certificate.json`; and back, for `check`.
Refuses: files that are too large, malformed (PO0622), or not what they say they are (PO0623).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from typing import Any

from polyopt import __version__
from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.emit.text import emit, emit_for_readers
from polyopt.errors import PolyoptError, UsageError
from polyopt.ir.affine import ISL_VERSION, quota
from polyopt.ir.host import Emitted
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.record import RecordError, decode, encode
from polyopt.ir.record_sets import is_same_formula
from polyopt.proof import Certificate, certify

FORMAT = "polyopt-certificate 1"
SUFFIX = ".certificate.json"
MAX_BYTES = 128 * 1024 * 1024
PROOF_BUDGET = 100_000_000
"""isl operations of one proof: half a minute, a hundred times what kernels need."""
_KEYS = {
    "format", "function", "schedule", "language", "text", "program", "loops", "certificate",
    "versions", "digest",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Artefact:
    """What a certificate file holds; `certificate` is None where nothing was proven.

    `digest` is of the text in `language`.
    """

    function: str
    schedule: str
    language: str
    digest: str
    program: Program
    loops: LoopFunction
    certificate: Mapping[str, Any] | None
    versions: Mapping[str, str]


def digest_of(text: str) -> str:
    """Return the digest of a text."""
    return "blake2b-256:" + hex_digest(text.encode())


def write_artefact(
    program: Program,
    loops: LoopFunction,
    source: Emitted,
    schedule: str,
    certificate: Mapping[str, Any] | None,
    versions: Mapping[str, str],
) -> str:
    """Return the text of the certificate file; raises `RecordError`."""
    record = {
        "format": FORMAT,
        "function": program.name,
        "versions": dict(versions),
        "language": source.language,
        "text": digest_of(source.text),
        "schedule": schedule,
        "certificate": certificate,
        "program": encode(program, os.path.basename),
        "loops": encode(loops, os.path.basename),
    }
    return sealed(record)


def sealed(record: Mapping[str, Any]) -> str:
    """Return the text of a certificate file's data, with the digest of everything else in it."""
    parts = _members(record)
    parts["digest"] = _laid_out("digest", digest_of(_joined(parts)))
    return _joined(parts)


def _members(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the JSON texts of the members of a record, by key, without that of its digest."""
    return {key: _laid_out(key, value) for key, value in record.items() if key != "digest"}


def _joined(parts: Mapping[str, str]) -> str:
    """Return the JSON text of the members of a record, which begin a line each."""
    return "{" + ",\n".join(parts[key] for key in sorted(parts)) + "}\n"


def _laid_out(key: str, value: object) -> str:
    """Return the JSON text of a member: the records of a table and the claims stand one a line."""
    table = value.get("records") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(table, list):
        rows = ",\n".join(map(_json, table))
        shown = f'{{"version":{_json(value["version"])},"records":[\n{rows}]}}'
    elif isinstance(value, dict) and isinstance(value.get("claims"), list):
        rest = ",".join(f"{_json(k)}:{_json(v)}" for k, v in value.items() if k != "claims")
        rows = ",\n".join(map(_json, value["claims"]))
        shown = f'{{{rest},"claims":[\n{rows}]}}'
    else:
        shown = _json(value)
    return f"{_json(key)}:{shown}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def artefact_text(
    program: Program,
    loops: LoopFunction,
    source: Emitted,
    schedule: str,
    certificate: Certificate | None = None,
) -> str:
    """Return the text of the certificate file; the proof is made now if there is none.

    Raises `RecordError`.
    """
    proof = certify(program, loops) if certificate is None else certificate
    return write_artefact(program, loops, source, schedule, proof.to_record(), _versions())


def text_for_readers(program: Program, loops: LoopFunction, language: str) -> Emitted:
    """Return the text that is handed over, with the version of polyopt that prints it."""
    return emit_for_readers(loops, language, program, __version__)


def _versions() -> dict[str, str]:
    """Return the versions of what made the loops and the proof."""
    return {
        "python": platform.python_version(),
        "polyopt": __version__,
        "islpy": ISL_VERSION,
    }


def read_artefact(text: str, name: str) -> Artefact:
    """Return what the text of a certificate file called `name` holds; raises PO0622, PO0623."""
    if len(text) > MAX_BYTES:
        raise _malformed(name, f"it has over {MAX_BYTES} characters")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise _malformed(name, f"it is not JSON: {str(error)[:80]}") from None
    match data:
        case {"format": str(form)} if form != FORMAT:
            raise _malformed(name, f"its format is {form[:40]!r}, this polyopt reads {FORMAT!r}")
        case {
            "format": str(),
            "function": str(function),
            "schedule": str(schedule),
            "language": str(language),
            "text": str(digest),
            "digest": str(seal),
            "certificate": (dict() | None) as certificate,
            "versions": dict(versions),
        } if set(data) == _KEYS and _are_texts(versions) and _is_known(language):
            pass
        case _:
            raise _malformed(name, "it has other fields than a certificate")
    if seal != digest_of(_joined(_members(data))):
        raise UsageError(
            "PO0623",
            f"`{name}` was changed after it was written: its digest is another one",
            hint="compile the function again; certificates are not edited",
        )
    from polyopt.ir.wellformed import check_loops, check_program

    try:
        program = decode(data["program"], Program)
        loops = decode(data["loops"], LoopFunction)
        check_program(program)
        check_loops(loops, program)
    except (RecordError, RecursionError, MemoryError) as error:
        raise _malformed(name, str(error)) from None
    return Artefact(function, schedule, language, digest, program, loops, certificate, versions)


def emitted(artefact: Artefact, name: str) -> Emitted:
    """Return what the recorded loops print; raises PO0622 where they are no kernel.

    Of the editions it is the one that the artefact was made for; for readers if it is neither.
    """
    made_by = artefact.versions.get("polyopt", "")
    try:
        built = emit(artefact.loops, artefact.language)
        if digest_of(built.text) == artefact.digest:
            return built
        return emit_for_readers(artefact.loops, artefact.language, artefact.program, made_by)
    except PolyoptError:
        raise
    except Exception as error:  # well-typed records need not be a kernel: undeclared arrays, say
        raise _malformed(name, f"its loops are no kernel ({type(error).__name__})") from None


def says_the_same(certificate: Certificate, recorded: object) -> bool:
    """Tell whether a record makes the claims of `certificate`, in any of isl's texts of them."""
    made = certificate.to_record()
    try:
        mine, theirs = _without_formulas(made), _without_formulas(recorded)
    except (TypeError, KeyError, AttributeError):
        return False
    if mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1], theirs[1], strict=True)
    return all(isinstance(b, str) and is_same_formula(a, b) for a, b in pairs)


def _without_formulas(record: Any) -> tuple[object, list[Any]]:  # noqa: ANN401
    claims = [{**claim, "formula": ""} for claim in record["claims"]]
    return {**record, "claims": claims}, [claim["formula"] for claim in record["claims"]]


def proven_again(artefact: Artefact, name: str) -> Certificate:
    """Return the certificate of the recorded loops, proven here and now.

    Raises PO0622 where they are no kernel, `BudgetError` where the proof takes too long.
    """
    try:
        with quota(PROOF_BUDGET):
            return certify(artefact.program, artefact.loops)
    except PolyoptError:
        raise
    except Exception as error:  # as in `emitted`
        raise _malformed(name, f"its loops are no kernel ({type(error).__name__})") from None


def first_difference(one: str, two: str) -> tuple[int, str, str]:
    """Return the first line, from 1, in which two texts differ, and both lines."""
    first, second = one.split("\n"), two.split("\n")
    for number, (a, b) in enumerate(zip(first, second, strict=False), start=1):
        if a != b:
            return number, a, b
    number = min(len(first), len(second)) + 1
    longer = first if len(first) > len(second) else second
    line = longer[number - 1] if number <= len(longer) else ""
    return (number, line, "") if longer is first else (number, "", line)


def _malformed(name: str, reason: str) -> UsageError:
    return UsageError(
        "PO0622",
        f"`{name}` is not a certificate: {reason}",
        hint="compile the function again with `polyopt compile`",
    )


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not a number")


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _is_known(language: str) -> bool:
    from polyopt.offered import target_named  # for readers of certificates only

    return target_named(language) is not None


def _are_texts(values: Mapping[object, object]) -> bool:
    return all(isinstance(k, str) and isinstance(v, str) for k, v in values.items())
