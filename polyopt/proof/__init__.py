"""The certificate: a check of the loops that are printed against the program that was written.

In: the front end's `Program` and the final `LoopFunction`.  Out: a `Certificate`.
Nothing of the scheduler, the legality check or the emitters is imported here.
"""

from polyopt.proof.certificate import Certificate, Claim, ClaimKind, Verdict
from polyopt.proof.certify import certify

__all__ = ["Certificate", "Claim", "ClaimKind", "Verdict", "certify"]
