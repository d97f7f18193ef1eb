"""The certificate: a check of the loops that are printed against the program that was written.

In: the front end's `Program` and the final `LoopFunction`.  Out: a `Certificate`.
Nothing of the scheduler, the legality check or the emitters is imported here.  What only programs
of a device need, or loops that the first way does not prove, is imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of
from polyopt.proof.certificate import Certificate, Claim, ClaimKind, Verdict
from polyopt.proof.certify import certify

if TYPE_CHECKING:
    from polyopt.proof import (
        barriers,
        block_privatization,
        dataflow,
        exposed_reads,
        matrix,
        swizzles,
        threads,
        trusted_accesses,
    )
else:
    __getattr__ = names_of(
        __name__,
        {
            "barriers": "",
            "block_privatization": "",
            "dataflow": "",
            "exposed_reads": "",
            "matrix": "",
            "swizzles": "",
            "threads": "",
            "trusted_accesses": "",
        },
    )

__all__ = [
    "Certificate",
    "Claim",
    "ClaimKind",
    "Verdict",
    "barriers",
    "block_privatization",
    "certify",
    "dataflow",
    "exposed_reads",
    "matrix",
    "swizzles",
    "threads",
    "trusted_accesses",
]
