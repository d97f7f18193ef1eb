"""Programs on several machines: blocks of arrays, derived messages, MPI.

Names are loaded when they are first used.
"""

from __future__ import annotations
