"""Loops for devices: kernels cut out of the loops, their threads, registers and barriers."""

from __future__ import annotations

from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.gpu.barriers import place_barriers
from polyopt.emit.gpu.kernels import cut_kernels
from polyopt.emit.gpu.last_block_fusion import fuse_into_last_block
from polyopt.emit.gpu.matrix import in_matrices, of_registers
from polyopt.emit.gpu.pipelines import in_stages
from polyopt.emit.gpu.privatization import privatize_updates
from polyopt.emit.gpu.registers import in_registers
from polyopt.emit.gpu.reuse import with_reuse
from polyopt.emit.gpu.shared_spilling import spill_shared
from polyopt.emit.gpu.unconditional import unconditional
from polyopt.ir.loops import LoopFunction

__all__ = ["device_loops"]


def device_loops(fn: LoopFunction, conditional: bool = True) -> LoopFunction:
    """Return lowered loops as kernels and the host's code around them, barriers placed.

    Without `conditional`, loops of the host stay there whose body has conditions that a block's
    threads would wait under: PoCL 3 fails to compile barriers that lie so.
    """
    kernels = in_matrices(cut_kernels(exit_on_faults(fn), conditional))
    staged = in_stages(spill_shared(with_reuse(of_registers(in_registers(kernels)))))
    placed = unconditional(place_barriers(staged))
    return privatize_updates(fuse_into_last_block(placed) if conditional else placed)
