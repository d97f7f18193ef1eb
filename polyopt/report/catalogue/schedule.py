"""Codes of schedules: steps that do not fit, steps that would change the result."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

SCHEDULE: dict[str, Entry] = {
    "PO0301": Entry(
        "no loop, band or statement has this name",
        "parallelize(q)",
        "name an iterator (`i`), a band (`L0`) or a loop of it (`L0[1]`); the message lists them",
    ),
    "PO0302": Entry(
        "several loops have this name",
        "parallelize(i), where two nests have a loop `i`",
        "name the loop by its band: `L0[0]`",
    ),
    "PO0303": Entry(
        "a step's numbers do not fit the band",
        "tile(L0, 32, 32), where L0 has three loops",
        "give one size, at least 1, for every loop of the band",
    ),
    "PO0304": Entry(
        "a step names loops that do not belong to one band",
        "interchange(i, k), where the loops belong to different bands",
        "name two loops of one band; fuse or distribute first",
    ),
    "PO0305": Entry(
        "the bands of a fusion do not follow each other",
        "fuse(L0, L2), with L1 between them",
        "fuse neighbours first",
    ),
    "PO0306": Entry(
        "a loop has nothing to distribute",
        "distribute(L0, 1), where L0 has one statement",
        "leave the step out",
    ),
    "PO0307": Entry(
        "the affine scheduler found no schedule",
        "affine(max), on a program it cannot carry",
        "name the transformations one by one",
    ),
    "PO0308": Entry(
        "a loop cannot be peeled: its dependences do not all involve one iteration",
        "peel(L0) on a[i] = a[i - 1]",
        "leave the step out; only a loop that one iteration keeps from being parallel can be split",
    ),
    "PO0309": Entry(
        "more steps were to be undone than were taken",
        "schedule.undo(3), after two steps",
        "undo at most as many steps as `schedule.steps` holds",
    ),
    "PO0311": Entry(
        "a step would run two dependent iterations in the wrong order. A dependence leads from an "
        "iteration to a later one that accesses the same element, one of them writing; a legal "
        "schedule runs the first before the second, for all sizes",
        "interchange(i, j) on a[i, j] = a[i - 1, j + 1]",
        "see the two iterations in the message; skewing often makes tiling and interchange legal",
    ),
    "PO0312": Entry(
        "a loop that carries a dependence was asked to run in parallel. A loop carries a "
        "dependence when two of its iterations, all outer loops being equal, access the same "
        "element and one of them writes it",
        "parallelize(i) on u[i] = 0.5 * (u[i - 1] + u[i + 1])",
        "make another loop parallel; skew to get wavefronts; write a reduction as `np.sum` or `@`, "
        "which may be reordered",
    ),
    "PO0313": Entry(
        "a step would leave dependent iterations without an order",
        "a schedule that maps a producer and its consumer to the same time",
        "keep the loop that orders them",
    ),
    "PO0314": Entry(
        "a step would not run every iteration of the program exactly once",
        "a step of your own whose `rewrite` drops a part of a sequence",
        "mend the step; steps of polyopt never do this",
    ),
    "PO0316": Entry(
        "after a step that changes where values are kept, a read would get the value of another "
        "iteration, or none",
        "expand(s, i) on s = s + x[i]; contract(T, 1) where two rows of T are needed",
        "see the read in the message, what it needs and what it would get; name fewer loops, give "
        "more cells, or copy the array in and out with `pack`",
    ),
    "PO0321": Entry(
        "the text is not a schedule step",
        "tile L0 32",
        "write steps as `name(argument, ...)`, separated by `;` or line ends",
    ),
    "PO0322": Entry("there is no step of this name", "tiles(L0, 32)", "the message lists them"),
    "PO0323": Entry(
        "a step's arguments are wrong", "skew(i)", "the message shows an example of the step"
    ),
    "PO0324": Entry(
        "a schedule's text names a static control part that the program does not have",
        "part(7), in the schedule of a program with two parts",
        "number the parts from 0 in the order of the source",
    ),
    "PO0325": Entry(
        "a program with while loops or dynamic sizes has several schedules, not one",
        "k.compile(...).schedule, where `schedules` is meant",
        "use `schedules`; in a schedule's text, `part(1)` says which part the steps are for",
    ),
    "PO0326": Entry(
        "a size that a schedule names has no value, or its value is not a whole number in range",
        "tile(L0, T), without `let T = 32`",
        "give it a value: `let T = 32` in the text, `with_schedule(text, T=32)`, `--set T=32`",
    ),
    "PO0327": Entry(
        "an amount in a step is not an affine function of the program's sizes",
        "shift(i, N * M); split(i, K), where the program has no size K",
        "write sums of sizes and whole numbers, as `2*N - 1`; the message lists the sizes",
    ),
    "PO0338": Entry(
        "a loop around parts whose sizes are found at run time is not proven parallel",
        "for i in po.prange(n):\n"
        "    for k in range(start[i], start[i + 1]):\n"
        "        y[row[k]] += 1.0",
        "let each iteration write elements of its own: subscripts that are sums of loop variables",
    ),
    "PO0339": Entry(
        "a claim about a loop cannot be checked: the program has no single loop for it",
        "for axis in po.parallel((0, 1)):",
        "say it of a loop over a range; loops over tuples are written out",
    ),
    "PO0328": Entry(
        "a nest cannot be tiled by diamonds: its dependences leave no two hyperplanes across time "
        "and the first space loop that all of them cross forwards",
        "diamond(L0, 32) on an update in place",
        "tile the band and run its tiles as a wavefront: tile, skew, parallelize",
    ),
    "PO0329": Entry(
        "the text is not a schedule that this version reads: another version, too long, no text",
        "polyopt-schedule 7",
        "begin the file with `polyopt-schedule 1`, or leave the line out",
    ),
    "PO0331": Entry(
        "a step that changes where values are kept names no array that it can change",
        "pack(Z, i), where nothing in loop i accesses an array Z; layout(x, 1, 0) on an argument",
        "name an array that the loop uses; an argument keeps its place, `pack` makes a copy of it",
    ),
    "PO0332": Entry(
        "the elements of an array that one iteration accesses have no bound",
        "pack(A, i) where a subscript has no bounds",
        "choose a loop further inside, or tile the loops first",
    ),
    "PO0333": Entry(
        "a statement is not a reduction that may be computed in parts",
        "rfactor(S0, k) on c = 0.5 * c + x[k]",
        "write the reduction as `np.sum`, `@` or `+=`; the message gives the reason",
    ),
    "PO0334": Entry(
        "values cannot be computed again where they are needed",
        "recompute(T, i) where each element of T is made from the one before",
        "store the values, or choose a loop that all their producers fit in",
    ),
    "PO0335": Entry(
        "the arguments of a step do not fit the dimensions of the array",
        "layout(T, 0) on an array of two dimensions; contract(T, 2, 2, 2)",
        "name every dimension once, from 0 on; give one size per dimension, 0 to keep it",
    ),
    "PO0336": Entry(
        "loops cannot be mapped to a device: loops around or inside them are mapped already",
        "threads(i), then grid(j) inside loop i",
        "map the loops of a nest to the grid in one step, those inside to threads in one step",
    ),
    "PO0340": Entry(
        "a tile of products cannot run on matrix instructions",
        "tensorize(L0.point, 12, 8), or of float32 arrays without fp='fast'",
        "give multiples of 16 rows and 8 columns; use float16 or bfloat16 arrays, or fp='fast'",
    ),
    "PO0341": Entry(
        "a loop cannot be a pipeline",
        "pipeline(k_tile, 2) where nothing is packed at k_tile",
        "pack what the loop reads, deal the copies to threads, use `grid`, then `pipeline`",
    ),
    "PO0344": Entry(
        "time steps cannot run together in one tile: what a tile needs of its neighbours is not "
        "at constant distances, or is computed in the same time step",
        "overlap(t, 4, 32, 32) on a[i, j] = a[i - 1, j] + a[i, j - 1], in place",
        "run the time steps one after the other, or `skew` the loops and `tile` them; "
        "give one size for each dimension of what the statements write",
    ),
    "PO0345": Entry(
        "a nest cannot be run by the last block of a grid",
        "finish(L0) where L0 runs across a grid, or where no nest before it does",
        "name a nest that one block runs, after one with `grid`",
    ),
    "PO0346": Entry(
        "a loop is not a recurrence that threads can scan",
        "scan(i) on a[i] = 0.5 * a[i - 1] + x[i], or on float sums without fp='reassociate'",
        "scan a loop of one statement `a[i] = a[i - 1] op x`, of integers or with fp='reassociate'",
    ),
    "PO0347": Entry(
        "a statement cannot be an atomic update",
        "atomic(S0) on a[i] = 2 * a[i], or on float sums without fp='reassociate'",
        "name a statement like `a[i] += x`, of numbers of 32 or 64 bits whose order is open",
    ),
    "PO0348": Entry(
        "a statement is not a maximum that can be carried along",
        "online(S0, 64, 64) where S0 is a sum, or the maximum of a whole array",
        "name the statement of `np.max(x, axis=...)`, in an array of its own",
    ),
    "PO0349": Entry(
        "no exponentials are taken below a maximum",
        "online(S1, 64, 64) on `np.exp(2 * x - np.max(x, axis=1, keepdims=True))`",
        "write `np.exp(x - top)`, of the very array whose maximum `top` is",
    ),
    "PO0350": Entry(
        "exponentials below a maximum are not summed in a way that can be rescaled",
        "online(S1, 64, 64) on `np.sum(w * w, axis=1)`, or without fp='reassociate'",
        "sum products with one exponential each: `np.sum(w, axis=1)`, `t += np.exp(x - top) * v`",
    ),
    "PO0351": Entry(
        "statements of a carried maximum cannot be brought into one nest",
        "fuse(L4, L5, 1); tile(L4, 4); online(S1, 64, 64), where L5 reads the sums",
        "take the step before others: it distributes nests as they are written",
    ),
    "PO0352": Entry(
        "results are not those of a symmetric sum that begins with a constant",
        "mirror(S1, 24) on `X.T @ Y`",
        "name a sum whose terms two subscripts may exchange, such as `X.T @ X`, before other steps",
    ),
}
