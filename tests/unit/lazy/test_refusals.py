"""What lazy arrays refuse: a code, the user's line, a hint; nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po

Refused = Callable[[Any, Any], object]
CASES: dict[str, tuple[str, Refused]] = {
    "truth": ("PO0801", lambda x, a: bool(x.sum() > 0)),
    "float": ("PO0801", lambda x, a: float(x[0])),
    "index": ("PO0801", lambda x, a: [1, 2][a.argmax()]),
    "membership": ("PO0801", lambda x, a: 3 in x),
    "concrete out": ("PO0801", lambda x, a: np.add(x, 1, out=np.zeros(3))),
    "number": ("PO0802", lambda x, a: po.compile(1.5)),
    "nothing": ("PO0802", lambda x, a: po.compile([])),
    "name": ("PO0802", lambda x, a: po.compile(x, name="2x")),
    "len": ("PO0803", lambda x, a: len(x)),
    "iteration": ("PO0803", lambda x, a: list(x)),
    "range": ("PO0803", lambda x, a: range(x.shape[0])),
    "size in creation": ("PO0803", lambda x, a: np.zeros(x.shape)),
    "comparison": ("PO0803", lambda x, a: x.shape[0] > 3),
    "store into rows of a transpose": ("PO0804", lambda x, a: a.T.reshape(-1).__setitem__(0, 1.0)),
    "store into a diagonal": ("PO0804", lambda x, a: np.diagonal(a).__setitem__(0, 1.0)),
    "missing input": ("PO0805", lambda x, a: po.compile(x, inputs=[a])),
    "no placeholder": ("PO0805", lambda x, a: po.compile(x, inputs=[x + 1])),
    "twice": ("PO0805", lambda x, a: po.compile(x + po.tensor("x", po.f64["N"]))),
    "unknown size": ("PO0805", lambda x, a: po.compile(x * a.shape[1])),
    "keyword": ("PO0806", lambda x, a: po.tensor("for", po.f64["N"])),
    "no dtype": ("PO0806", lambda x, a: po.tensor("y", ("N",))),
    "negative": ("PO0806", lambda x, a: po.tensor("y", (-1,), np.float64)),
    "unnamed": ("PO0806", lambda x, a: po.tensor("y", po.f64[:])),
    "compute": ("PO0808", lambda x, a: np.asarray(x * 2)),
    "broadcast": ("PO0140", lambda x, a: x + po.tensor("y", po.f64["K"])),
    "product": ("PO0140", lambda x, a: a @ a),
    "reshape": ("PO0151", lambda x, a: a.reshape(3, -1, -1)),
    "values of a matrix": ("PO0151", lambda x, a: np.linalg.eigvals(a)),
    "no rule": ("PO0150", lambda x, a: np.real_if_close(a)),
    "join": ("PO0140", lambda x, a: np.concatenate([x, a])),
    "subscripts": ("PO0140", lambda x, a: x[0, 1]),
    "range of a subscript": ("PO0140", lambda x, a: po.lazy(np.ones(3))[3]),
    "store": ("PO0140", lambda x, a: x.__setitem__(slice(2), np.ones(3))),
    "number product": ("PO0141", lambda x, a: a @ 2),
    "einsum": ("PO0141", lambda x, a: np.einsum("ij,jk", a)),
    "longdouble": ("PO0143", lambda x, a: x.astype(np.longdouble)),
    "object": ("PO0143", lambda x, a: x + np.array([None])),
    "complex store": ("PO0144", lambda x, a: x.__setitem__(0, 1j)),
    "narrowing": ("PO0144", lambda x, a: x.__iadd__(1j)),
    "types": ("PO0146", lambda x, a: x & 1),
    "text": ("PO0151", lambda x, a: x + "1"),
    "flat": ("PO0151", lambda x, a: x.flat),
    "attribute": ("PO0152", lambda x, a: x.tofile),
    "axis": ("PO0153", lambda x, a: x.sum(axis=1)),
}


@pytest.mark.parametrize(("code", "act"), CASES.values(), ids=CASES)
def test_refused_with_place_and_hint(code: str, act: Refused) -> None:
    with pytest.raises(po.PolyoptError) as caught:
        act(po.tensor("x", po.f64["N"]), po.tensor("a", po.f64["N,M"]))
    error = caught.value
    assert error.code == code, str(error)
    assert error.hint
    assert error.loc is not None
    assert error.loc.file == __file__


def test_attributes_that_are_missing_are_absent() -> None:
    x = po.tensor("x", po.f64["N"])
    assert not hasattr(x, "tofile")
    assert not hasattr(x, "__array_struct__")
    assert x.__array_namespace__() is np
