"""Loops for devices: kernels cut out of the loops, their threads, registers and barriers."""

from __future__ import annotations

from polyopt.emit.dead_locals import remove_dead_locals
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.gpu.barrier_hoisting import hoist_barriers
from polyopt.emit.gpu.barriers import place_barriers
from polyopt.emit.gpu.kernels import cut_kernels
from polyopt.emit.gpu.last_block_fusion import fuse_into_last_block
from polyopt.emit.gpu.matrix import form_matrix_tiles, require_register_results
from polyopt.emit.gpu.pipelines import pipeline_copies
from polyopt.emit.gpu.privatization import privatize_updates, spill_shared
from polyopt.emit.gpu.registers import promote_to_registers
from polyopt.emit.gpu.reuse import separate_reused_tiles
from polyopt.emit.passes.fma import contract
from polyopt.ir.loops import LoopFunction

__all__ = ["device_loops"]


def device_loops(fn: LoopFunction, conditional: bool = True) -> LoopFunction:
    """Return lowered loops as kernels and the host's code around them, barriers placed.

    Without `conditional`, loops of the host stay there whose body has conditions that a block's
    threads would wait under: PoCL 3 fails to compile barriers that lie so.
    """
    kernels = contract(form_matrix_tiles(cut_kernels(exit_on_faults(fn), conditional)))
    staged = pipeline_copies(
        spill_shared(separate_reused_tiles(require_register_results(promote_to_registers(kernels))))
    )
    placed = hoist_barriers(place_barriers(staged))
    fused = fuse_into_last_block(placed) if conditional else placed
    return remove_dead_locals(privatize_updates(fused))
