"""The certificate: a check of the loops that are printed against the program that was written.

In: the front end's `Program` and the final `LoopFunction`.  Out: a `Certificate`.
Nothing of the scheduler, the legality check or the emitters is imported here.  All modules are
imported on use, so that none of them imports the package before itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

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
    from polyopt.proof.certificate import Certificate, Claim, ClaimKind, Verdict
    from polyopt.proof.certification import certify
else:
    __getattr__ = names_of(
        __name__,
        {
            "barriers": "",
            "block_privatization": "",
            "certificate": "Certificate Claim ClaimKind Verdict",
            "certification": "certify",
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
