"""Codes of lazy arrays and comprehensions."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

LAZY: dict[str, Entry] = {
    "PO0801": Entry(
        "the elements of a lazy array are needed while it is recorded",
        "if x.sum() > 0: ..., where x is lazy",
        "use `np.where` for choices, or `.compute()` for values that need no input",
    ),
    "PO0802": Entry(
        "an output is not a lazy array",
        "po.compile(3)",
        "give lazy arrays, or a tuple, list or dict of them",
    ),
    "PO0803": Entry(
        "a size known only at a call is needed as a number while it is recorded",
        'x = po.tensor("x", po.f64["N"]); np.zeros(x.shape[0])',
        "keep the size in the computation: `x / n`, `np.full((n,), 0.0, like=x)`; "
        "or declare a number",
    ),
    "PO0804": Entry(
        "a store into a lazy array that shares its elements with others in use",
        "y = x.T; y[0] = 1.0, where x is lazy",
        "store into the array itself before views of it are made, or copy the views",
    ),
    "PO0805": Entry(
        "the inputs of a graph do not fit its placeholders",
        "po.compile(x @ w, inputs=[x])",
        "list every placeholder once",
    ),
    "PO0806": Entry(
        "a placeholder whose name, shape or element type makes no sense",
        'po.tensor("2x", po.f64["N"])',
        "use a Python name, sizes that are names or numbers, and an element type",
    ),
    "PO0807": Entry(
        "a comprehension whose indices, extents or subscripts do not fit",
        "po.comprehend[i](A[i, k])",
        "bind every index, use affine subscripts, and give extents that are not inferred",
    ),
    "PO0808": Entry(
        "a value that depends on inputs is computed without them",
        'po.tensor("x", po.f64["N"]).compute()',
        "compile it with `po.compile` and pass the inputs",
    ),
}
