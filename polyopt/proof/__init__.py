"""The certificate: a check of the loops that are printed against the program that was written.

In: the front end's `Program` and the final `LoopFunction`.  Out: a `Certificate`.
Nothing of the scheduler, the legality check or the emitters is imported here.  All modules are
imported on use, so that none of them imports the package before itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.proof import barriers as barriers
    from polyopt.proof import block_privatization as block_privatization
    from polyopt.proof import dataflow as dataflow
    from polyopt.proof import exposed_reads as exposed_reads
    from polyopt.proof import kept_values as kept_values
    from polyopt.proof import matrix as matrix
    from polyopt.proof import mirroring as mirroring
    from polyopt.proof import regrouping as regrouping
    from polyopt.proof import rescaling as rescaling
    from polyopt.proof import sequence as sequence
    from polyopt.proof import swizzles as swizzles
    from polyopt.proof import threads as threads
    from polyopt.proof import trusted_accesses as trusted_accesses
    from polyopt.proof import turns as turns
    from polyopt.proof import views as views
    from polyopt.proof.certificate import Certificate as Certificate
    from polyopt.proof.certificate import Claim as Claim
    from polyopt.proof.certificate import ClaimKind as ClaimKind
    from polyopt.proof.certificate import Verdict as Verdict
    from polyopt.proof.certification import certify as certify
else:
    __getattr__ = names_of(__name__)
