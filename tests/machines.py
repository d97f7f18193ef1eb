"""Machines to compile for, the same ones wherever the tests run."""

from __future__ import annotations

from polyopt.machine import Machine

NARROW = Machine(cores=4, vector_bytes=32, vector_registers=16)
WIDE = Machine(cores=4, vector_bytes=64, vector_registers=32, l1=48 << 10, l2=1 << 20)
MACHINES = {"narrow": NARROW, "wide": WIDE}
