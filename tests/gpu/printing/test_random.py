"""Kernels by chance: boxes, steps, threads, limits of every form, counted exactly once."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from polyopt.emit.cuda import emit_cuda
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import EmulatedProvider, Rules
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import LoopFunction
from tests.gpu.printing.build import function
from tests.gpu.printing.launch import Arrays, launch
from tests.gpu.runtime.needs import opencl_or_skip

ROOM = 48
SIZES = [{"N": 37, "M": 29}, {"N": 5, "M": 40}, {"N": 0, "M": 3}, {"N": 32, "M": 1}]


def nest(rng: Random, blocks: list[tuple[str, str, int]]) -> tuple[list[str], list[str]]:
    """Return lines of loops over threads, one for each loop over blocks, and their iterators."""
    lines, iters = [], []
    for number, (block, size, extent) in enumerate(blocks):
        name = "ijk"[number]
        lower, ends = block, [f"{block} + {extent}", size]
        if rng.random() < 0.3:
            shift = rng.randint(1, 5)
            lower = f"max({block}, {shift})" if rng.random() < 0.5 else f"{block} + {shift}"
            if lower[0] == "m":
                ends.append(f"max({block}, {shift}) + {extent}")
        if rng.random() < 0.3:
            by = rng.choice([2, 3, 4, 8])
            ends.append(f"({size} - {rng.randint(0, 2)}) // {by} + {block} + {rng.randint(1, 9)}")
        rng.shuffle(ends)
        upper = ends[0]
        for end in ends[1:]:
            upper = f"min({upper}, {end})"
        step = rng.choice([1, 1, 1, 2, 3])
        lines.append("    " * number + f"for {name} in thread({lower}, {upper}, {step}):")
        iters.append(name)
        if rng.random() < 0.2 and number + 1 < len(blocks):
            # a condition between loops, as deep as the loop that follows
            lines[-1] += f"  # if ({name} + {size}) % 3 != 0:"
    return lines, iters


def kernel(rng: Random, number: int) -> str:
    """Return a kernel that adds to elements of its own plane of `out`."""
    depth = rng.randint(1, 3)
    threads = rng.choice([1, 7, 16, 32, 48, 64, 100, 128])
    blocks, lines = [], [f"with kernel({threads}):"]
    pad = "    "
    for level in range(depth):
        size = rng.choice(["N", "M", "N - 1", "M + 2"]) if level < 2 else "3"
        extent = rng.choice([1, 2, 3, 4, 5, 8, 16, 33]) if level < 2 else rng.choice([1, 2, 4])
        block = f"{'abc'[level]}0"
        if rng.random() < 0.5:
            lines.append(f"{pad}for {block} in block({rng.randint(0, 1)}, {size}, {extent}):")
            blocks.append((block, size, extent))
        else:  # tiles counted one by one
            tile = f"{'abc'[level]}_tile"
            count = f"({size} - 1) // {extent} + 1"
            lines.append(f"{pad}for {tile} in block(0, {count}):")
            blocks.append((f"{extent} * {tile}", size, extent))
        pad += "    "
    for sibling in range(rng.randint(1, 2)):
        if sibling > 0:
            lines.append(f'{pad}barrier("out")')
        loops, iters = nest(rng, blocks)
        for line in loops:
            head, _, condition = line.partition("  # ")
            lines.append(pad + head)
            if condition:
                lines.append(pad + " " * (len(head) - len(head.lstrip()) + 4) + condition)
                pad += "    "
        inner = pad + "    " * len(loops)
        index = ", ".join([*iters, *["0"] * (3 - len(iters))])
        value = " + ".join(f"{3 + 2 * n} * {name}" for n, name in enumerate(iters))
        place = f"out[{number}, {index}]"
        if rng.random() < 0.4:
            base, end, _ = blocks[0]
            trips, more = rng.randint(1, 9), rng.randint(0, 6)
            lower = rng.choice([base, "0", "i", f"{base} - 3"])
            upper = f"min({lower} + {trips}, {end} - {more})"
            if rng.random() < 0.3:
                upper = f"min({upper}, ({end} + 5) // {rng.choice([2, 3, 4])})"
            lines.append(f"{inner}for q in {rng.choice(['range', 'unroll'])}({lower}, {upper}):")
            inner, value = inner + "    ", f"{value} + q * (q - {base})"
        if rng.random() < 0.3:
            value += f" + ({iters[-1]} - {rng.randint(0, 9)}) // {rng.choice([2, 3, 4])}"
            value += f" * (({iters[0]} - 5) % {rng.choice([2, 3, 8])})"
        lines.append(f"{inner}{place} += {value}")
        pad = "    " * (depth + 1)
    return "\n".join(lines)


def many(seed: int, count: int = 20) -> LoopFunction:
    rng = Random(seed)
    text = "\n".join(kernel(rng, number) for number in range(count))
    out = f"i64[{count}, {ROOM}, {ROOM}, 4]"
    return function(text, out=out, N="size", M="size")


def check(fn: LoopFunction, run: object) -> None:
    assert callable(run)
    for sizes in SIZES:
        shape = (20, ROOM, ROOM, 4)
        right: Arrays = {"out": np.zeros(shape, np.int64)}
        run_loops(fn, right, dict(sizes))
        found: Arrays = {"out": np.zeros(shape, np.int64)}
        run(found, sizes)
        for number in range(20):
            np.testing.assert_array_equal(
                found["out"][number], right["out"][number], err_msg=f"demo_{number}, {sizes}"
            )


@pytest.mark.toolchain
@pytest.mark.parametrize("seed", [1, 2])
def test_emulated_cuda(seed: int) -> None:
    fn = many(seed)
    device, source = EmulatedProvider(Rules(seed=seed)), emit_cuda(fn)
    check(fn, lambda arrays, sizes: launch(device, source, fn, arrays, sizes))


@pytest.mark.machine
def test_opencl() -> None:
    fn = many(3)
    device, source = opencl_or_skip(), emit_opencl(fn)
    check(fn, lambda arrays, sizes: launch(device, source, fn, arrays, sizes))
