"""What the cookbook shows: for each step a program, the steps before it, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from docs.cookbook import programs as p

PLANE = {"N": 6, "M": 8}


@dataclass(frozen=True)
class Recipe:
    """An example of a step.

    `across` and `down` are the loops of the source that the picture has as axes; without `down`,
    each statement has a row.  `cells` draws the elements of an array over time in their place.
    """

    step: str
    program: Callable[..., object]
    why: str
    sizes: Mapping[str, int] = field(default_factory=lambda: PLANE)
    prepare: str = ""
    then: str = ""
    across: str = "j"
    down: str = "i"
    cells: tuple[str, str] = ("", "")
    fp: str = "strict"


def _row(step: str, program: Callable[..., object], why: str, **more: object) -> Recipe:
    """Return a recipe of loops over `i` alone: each statement has a row of the picture."""
    given = {"sizes": {"N": 10}, "across": "i", "down": ""} | more
    return Recipe(step, program, why, **given)  # type: ignore[arg-type]


RECIPES = (
    _row(
        "affine(max)", p.follow_up,
        "Let isl's scheduler find the loops: all statements that can share a nest do, delayed "
        "where they must be. A value is used soon after it is made, while it is in a cache.",
    ),
    _row(
        "atomic(S1)", p.count,
        "Make an update that several iterations may do to one element uninterruptible, so that "
        "its loop may run across threads of a device.",
        sizes={"N": 10, "M": 4}, then="threads(i)",
    ),
    Recipe(
        "clone(L0.high)", p.mirror,
        "Give a nest temporaries of its own, so that a split's parts can have layouts, tiles and "
        "vectors that differ.",
        sizes={"N": 6, "M": 4}, prepare="split(i, 3)", cells=("T", "T_own"),
    ),
    Recipe(
        "combine(j)", p.row_sums,
        "Let neighbouring threads of a warp make a sum together, as a tree.",
        sizes={"N": 5}, prepare="threads(i)", fp="reassociate",
    ),
    Recipe(
        "contract(T, 2, 0)", p.blur,
        "Keep only the rows of a temporary that are still needed: they stay in a cache, and the "
        "temporary takes two rows of memory.",
        sizes={"N": 6, "M": 4}, prepare="fuse(L0, L1, 1)", cells=("T", "T"),
    ),
    Recipe(
        "cut(L0, 1)", p.double,
        "Split a band in two, so that steps which take a whole band take a part of it. The order "
        "of iterations stays.",
    ),
    Recipe(
        "deal(j, 4)", p.double,
        "Give each of four lanes every fourth iteration. Neighbouring lanes then use neighbouring "
        "elements, as threads of a warp should.",
        sizes={"N": 4, "M": 12}, then="interchange(j_lane, i); parallelize(j_lane)",
    ),
    Recipe(
        "diamond(L0, 4)", p.heat,
        "Tile time and space by diamonds. All diamonds of a front start together, so all threads "
        "have work from the first front on.",
        sizes={"T": 9, "N": 17}, across="i", down="t", then="parallelize(L0.tile[1])",
    ),
    _row(
        "distribute(L0, 1)", p.pair,
        "Give each statement a loop of its own, so that each can be scheduled by itself.",
    ),
    Recipe(
        "embed(L1, i)", p.triangle,
        "Make a loop inside a body the last one of the band around it. Both can then be tiled "
        "together; a statement beside the loop runs in its iteration number `i`.",
        sizes={"N": 7}, then="tile(L0, 3, 3)",
    ),
    Recipe(
        "expand(s, i)", p.rows,
        "Give each iteration its own copy of an array that all iterations use, so that they may "
        "run at the same time.",
        sizes={"N": 4, "M": 4}, then="parallelize(i)", cells=("s", "s_own"),
    ),
    Recipe(
        "replicate(A)", p.product,
        "Let each rank of a mesh have all of an array. What one rank runs stays the same.",
        sizes={"N": 4, "M": 4, "K": 2},
    ),
    _row(
        "finish(s_join)", p.total,
        "Let the block that ends last add the partial results of all blocks, instead of a kernel "
        "launched after them.",
        sizes={"N": 16}, fp="reassociate",
        prepare="deal(L0[0], 4); deal(L0[1], 2); interchange(L0[0], L0[1]); rfactor(S0, L0[0]); "
        "rfactor(S0, L0.inner[0]); threads(L0.inner[0]); grid(L0[0]); "
        "strip(s_join[0], 2); rfactor(s_join, s_join[0]); threads(s_join[0]); "
        "combine(s_join.inner[0]); combine(s_join2[0])",
    ),
    _row(
        "fuse(L0, L1)", p.chain,
        "Run two nests as one. Each value is used right after it is made.",
    ),
    Recipe(
        "grid(i_tile, j_tile)", p.double,
        "Run tiles on the blocks of a device's grid.",
        prepare="tile(L0, 3, 4)",
    ),
    Recipe(
        "hold(D, L0.inner)", p.paths,
        "Let a nest read a copy of what it does not write of an array that it writes. The row and "
        "the column of the pivot are copied before each sweep.",
        sizes={"N": 5}, prepare="cut(L0, 1)", cells=("D", "D_held"),
    ),
    Recipe(
        "interchange(i, j)", p.walk,
        "Swap two loops: here the elements of `B`, in place of those of `A`, are used in the "
        "order of memory.",
    ),
    Recipe(
        "layout(T, 1, 0)", p.blur,
        "Keep a temporary in another layout: here transposed, so that its columns are in one "
        "piece.",
        sizes={"N": 4, "M": 4}, cells=("T", "T"),
    ),
    Recipe(
        "library(S0)", p.product,
        "Let a BLAS library compute a product. Its loops stay what the proof is about, and run "
        "where no library is linked.",
        sizes={"N": 4, "M": 4, "K": 2}, fp="reassociate",
    ),
    Recipe(
        "mirror(S1, 3)", p.gram,
        "Compute a symmetric result for the tiles on and below the diagonal alone, and copy them "
        "to those above.",
        sizes={"N": 2, "M": 8},
    ),
    _row(
        "move(L1, L0)", p.lines,
        "Run a nest directly before another one: two nests that are to be fused become "
        "neighbours.",
    ),
    Recipe(
        "online(S1, 4, 4)", p.softmax,
        "Take the maximum of a row and sum the exponentials below it in one pass over blocks of "
        "columns: where a block raises the maximum, the sum so far is multiplied by a factor.",
        sizes={"N": 6, "M": 8}, fp="reassociate",
    ),
    Recipe(
        "overlap(L0, 2, 4)", p.jacobi,
        "Run two time steps for a tile and its halo before the next tile. What two tiles need is "
        "computed in both, so tiles do not wait for each other.",
        sizes={"steps": 4, "N": 14}, across="i", down="t",
        then="parallelize(L0.there); parallelize(L0.back)",
    ),
    Recipe(
        "pack(B, k_tile)", p.product,
        "Copy the elements that a tile uses into a small array of their own: they are neighbours "
        "in memory and stay in a cache.",
        sizes={"N": 2, "M": 4, "K": 4}, prepare="tile(L0, 2, 2, 2)", cells=("B", "B_pack"),
    ),
    Recipe(
        "parallelize(i)", p.double,
        "Run the iterations of a loop on several threads. Each colour is one iteration; they run "
        "at the same time.",
    ),
    Recipe(
        "peel(L0)", p.pivot,
        "Run the one iteration that all others depend on by itself. Those before it and after it "
        "may then run in any order.",
        prepare="", then="parallelize(L0.before[0]); parallelize(L0.after[0])",
    ),
    Recipe(
        "pipeline(k_tile, 2)", p.product,
        "Copy operands of the next iteration while this one computes. A device has a second copy "
        "of the packed array for it; the order of the sums stays.",
        sizes={"N": 2, "M": 4, "K": 4},
        prepare="tile(L0, 2, 2, 2); pack(B, k_tile); threads(B_in); grid(i_tile, j_tile)",
        cells=("B", "B_pack"),
    ),
    Recipe(
        "privatise(s, i)", p.rows,
        "Another name of `expand`.",
        sizes={"N": 4, "M": 4}, then="parallelize(i)", cells=("s", "s_own"),
    ),
    Recipe(
        "rearrange(B, L0, 1, 0)", p.walk,
        "Keep an array in another layout while a nest runs: it is copied before, and back if it "
        "was written.",
        sizes={"N": 4, "M": 4}, cells=("B", "B_pack"),
    ),
    Recipe(
        "recompute(T, L1[0])", p.blur,
        "Compute the values of a temporary again where they are used. Nothing is stored for "
        "longer than an iteration.",
        sizes={"N": 5, "M": 4}, cells=("T", "T_again"),
    ),
    _row(
        "reorder(L0, 1, 0)", p.pair,
        "Run the parts of a body in another order.",
    ),
    Recipe(
        "reverse(i)", p.double,
        "Run a loop from its last iteration to its first.",
    ),
    _row(
        "rfactor(S0, i_tile)", p.total,
        "Split a sum into partial sums, one for each iteration of a loop, which may then run at "
        "the same time.",
        sizes={"N": 12}, prepare="strip(i, 4)", then="parallelize(i_tile)", fp="reassociate",
    ),
    Recipe(
        "scan(j)", p.running,
        "Run a recurrence whose terms may be regrouped as a parallel scan of a device's block.",
        prepare="grid(i)",
    ),
    Recipe(
        "separate(L0.tile, L0.point, 4, 4)", p.double,
        "Run full tiles in loops of constant length, and the partial ones at the border in a copy "
        "of the nest. Loops of constant length can be unrolled and vectorized.",
        sizes={"N": 6, "M": 10}, prepare="tile(L0, 4, 4)",
    ),
    Recipe(
        "shard(C, 0)", p.product,
        "Cut an array over the ranks of a mesh: each one runs what writes to its block. One rank "
        "has the whole array, and its loops stay the same.",
        sizes={"N": 4, "M": 4, "K": 2},
    ),
    _row(
        "shift(i, S1, 2)", p.follow,
        "Delay a statement by two iterations: what it reads is ready by then.",
    ),
    Recipe(
        "sink(i)", p.columns,
        "Make a loop the innermost one of everything below it: rows become lanes beside each "
        "other.",
        then="vectorize(L0.lanes)",
    ),
    Recipe(
        "skew(j, i, 1)", p.sweep,
        "Replace loop `j` by `i + j`. Iterations with the same sum do not depend on each other: "
        "they are a wavefront.",
        sizes={"N": 7, "M": 9}, then="interchange(i, j); parallelize(i)",
    ),
    Recipe(
        "split(i, 3)", p.double,
        "Split a loop at a point. Each part is a nest with steps of its own.",
        then="interchange(L0.high[0], L0.high[1])",
    ),
    Recipe(
        "strip(j, 4)", p.double,
        "Strip-mine one loop; a step after it can move the loop over strips outwards.",
        then="interchange(j_tile, i)",
    ),
    Recipe(
        "swizzle(i_tile, j_tile, 2)", p.double,
        "Number the blocks of a grid down columns of two rows. Blocks that run at the same time "
        "then share more of their operands.",
        sizes={"N": 8, "M": 8}, prepare="tile(L0, 2, 2); grid(i_tile, j_tile)",
    ),
    Recipe(
        "tensorize(L0.point, 16, 8)", p.double,
        "Give each warp a part of a tile, and each of its lanes the elements that matrix "
        "instructions keep in it.",
        sizes={"N": 16, "M": 16}, prepare="tile(L0, 16, 16)",
    ),
    Recipe(
        "threads(i, j)", p.double,
        "Run the loops of a band across the threads of a block. The last loop is the fastest "
        "one.",
        sizes={"N": 6, "M": 8}, prepare="tile(L0, 3, 4); grid(i_tile, j_tile)",
    ),
    Recipe(
        "tile(L0, 3, 4)", p.double,
        "Split loops into tile loops and point loops: the elements of a tile are used together, "
        "while they are in a cache.",
    ),
    Recipe(
        "unroll(j)", p.square,
        "Write the iterations of a loop of constant length one after the other. The order stays; "
        "the loop's counter goes.",
        sizes={},
    ),
    Recipe(
        "vectorize(j)", p.double,
        "Run iterations in the lanes of vector registers. A bar joins those that run as one.",
    ),
    Recipe(
        "version(N <= 4)", p.double,
        "Copy the program for small sizes and for all others, and schedule each copy by itself. "
        "The sizes of a call choose.",
        then="parallelize(L0.v1[0])",
    ),
)  # fmt: skip
