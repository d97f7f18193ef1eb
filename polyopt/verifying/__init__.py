"""Verification: a program as the front end read it against the Python function itself.

In: a function, its Program, argument types.  Out: `Verification`.
Python is the oracle: the undecorated function runs on small random arguments, and the slow
interpreter runs the Program on copies of them.  No C compiler and no process is involved.
"""

from polyopt.verifying.record import Mismatch, Skip, Verification
from polyopt.verifying.verify import verify_program

__all__ = ["Mismatch", "Skip", "Verification", "verify_program"]
