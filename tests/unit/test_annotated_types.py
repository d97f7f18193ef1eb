"""Annotations of polyopt's are kept by every call: from Python, saved, exported, by command."""

# ruff: noqa: F722, F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polyopt as po
from polyopt.runtime.build import python_headers

Vector = Annotated[NDArray[np.float64], po.f64["N"]]


def scaled(x: po.f64["N"], y: po.f64["N"], a: po.f64, n: po.i64 = 1):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + n


def narrow(x: po.f32["N"], a: po.f32) -> po.f32["N"]:
    return x * a * a


def aliased(x: Vector) -> Vector:
    return 2.0 * x


def optional(x: po.f64["N"], mask: po.bool_["N"] = None) -> po.f64:
    return np.sum(x) if mask is None else np.sum(x[mask])


def plain(x: NDArray[np.float64], k: float):
    return x * k


def held(pair, x: po.f64["N"]):
    x[:] = pair[0] + pair[1]


ONES, ZEROS = np.ones(4), np.zeros(4)
REFUSED: list[tuple[tuple[object, ...], str, str]] = [
    ((ONES.astype("f4"), ZEROS, 2.0), "PO0207", "x.astype(np.float64)"),
    ((ONES, ZEROS.astype("f4"), 2.0), "PO0207", "y.astype(np.float64)"),
    ((ONES.astype("i8"), ZEROS, 2.0), "PO0207", "x.astype(np.float64)"),
    ((ONES.astype("c16"), ZEROS, 2.0), "PO0207", "x.real.astype(np.float64)"),
    ((ONES > 0, ZEROS, 2.0), "PO0207", "x.astype(np.float64)"),
    ((ONES, ZEROS, 2.0j), "PO0207", "np.float64(a.real)"),
    ((ONES, ZEROS, True), "PO0207", "np.float64(a)"),
    ((ONES, ZEROS, 2**53 + 1), "PO0207", "np.float64(a)"),
    ((ONES, ZEROS, 2.0, 1.5), "PO0207", "np.int64(n)"),
    ((ONES, ZEROS, 2.0, 2**63), "PO0207", "pass an integer from"),
    ((ONES, ZEROS, np.ones(1)), "PO0215", "a[0]"),
]
FOR_ANNOTATIONS_ALONE: list[tuple[tuple[object, ...], str, str]] = [
    ((np.ones((2, 2)), ZEROS, 2.0), "PO0208", 'x: po.f64[":,:"]'),
    ((2.0, ZEROS, 2.0), "PO0206", "np.array(x)"),
    (([1.0, 2.0], ZEROS, 2.0), "PO0206", "np.array(x)"),
]


def refused(call: Callable[..., object], args: tuple[object, ...]) -> po.PolyoptError:
    with pytest.raises(po.ArgumentError) as caught:
        call(*args)
    return caught.value


@pytest.mark.toolchain
@pytest.mark.parametrize(("args", "code", "hint"), REFUSED + FOR_ANNOTATIONS_ALONE)
def test_what_annotations_do_not_say_is_refused_first_and_later(args, code, hint) -> None:
    kernel = po.kernel(scaled)
    for _ in range(2):
        error = refused(kernel, args)
        assert (error.code, error.loc is not None) == (code, True)
        assert hint in (error.hint or "")
        kernel(ONES, ZEROS.copy(), 2.0)


@pytest.mark.toolchain
@pytest.mark.parametrize(("args", "code", "hint"), REFUSED)
def test_compiled_and_saved_kernels_refuse_the_same(args, code, hint, tmp_path: Path) -> None:
    compiled = po.kernel(scaled).compile()
    compiled.save(tmp_path / "k.po")
    given = (*args, 1)[:4]
    for call in (compiled, po.load(tmp_path / "k.po")):
        error = refused(call, given)
        assert error.code == code
        assert hint in (error.hint or "")
    assert "kernel itself" not in (error.hint or "")  # a saved kernel has no function


@pytest.mark.toolchain
@pytest.mark.parametrize("a", [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.array(2.0)])
def test_numbers_are_converted_where_nothing_is_lost(a: Any, tmp_path: Path) -> None:
    kernel = po.kernel(scaled)
    compiled = kernel.compile()
    compiled.save(tmp_path / "k.po")
    for call in (kernel, kernel, compiled, po.load(tmp_path / "k.po")):
        y = np.zeros(4)
        call(ONES, y, a, np.int32(3))
        assert y.tolist() == [5.0] * 4


@pytest.mark.toolchain
def test_an_integer_for_a_float_is_not_compiled_again() -> None:
    kernel = po.kernel(scaled)
    for a in (2.0, 2, 3, -1):
        kernel(ONES, ZEROS.copy(), a)
    assert "1 compiled" in repr(kernel)


def doubled(a: po.f64["N"], k: po.f64):
    return a * k


def moved(a: po.i32["N"], k: po.i32):
    return a + k


@pytest.mark.toolchain
@pytest.mark.skipif(python_headers() is None, reason="calls go through ctypes")
@pytest.mark.parametrize(
    ("function", "dtype", "taken", "left"),
    [
        (doubled, np.float64, (3, -(2**53), 0.5), (2**53 + 1, 2**70, True, np.float64(2))),
        (narrow, np.float32, (3, 2**24, 0.1, float("inf")), (2**24 + 1, 1e300, True)),
        (moved, np.int32, (3, -(2**31)), (2**31, -(2**31) - 1, 2**70, 1.0, True)),
    ],
)
def test_the_module_itself_converts_what_annotations_let_it(
    function: Any, dtype: type, taken: tuple[Any, ...], left: tuple[Any, ...]
) -> None:
    kernel, a = po.kernel(function), np.ones(3, dtype)
    kernel(a, taken[0])
    for number in taken:
        np.testing.assert_array_equal(kernel._fast(a, number), function(a, dtype(number)))
    assert all(kernel._fast(a, number) is NotImplemented for number in left)


@pytest.mark.toolchain
def test_pythons_floats_are_rounded_to_the_annotated_type() -> None:
    x = np.linspace(0.0, 1.0, 7, dtype=np.float32)
    assert np.array_equal(po.kernel(narrow)(x, 0.1), narrow(x, np.float32(0.1)))
    assert refused(po.kernel(narrow), (x, np.float64(0.1))).code == "PO0207"


@pytest.mark.toolchain
def test_any_layout_fits_an_annotation() -> None:
    kernel, y = po.kernel(scaled), np.zeros(8)
    kernel(np.ones(8)[::2], y[::2], 2.0)
    assert y.tolist() == [3.0, 0.0] * 4


@pytest.mark.toolchain
def test_annotations_are_read_through_aliases_and_defaults() -> None:
    assert po.kernel(aliased)(ONES).tolist() == [2.0] * 4
    assert refused(po.kernel(aliased), (ONES.astype("f4"),)).code == "PO0207"
    assert po.kernel(optional)(ONES) == 4.0
    assert po.kernel(optional)(ONES, ONES > 0) == 4.0
    assert refused(po.kernel(optional), (ONES, ONES)).code == "PO0207"


@pytest.mark.toolchain
def test_pythons_own_annotations_are_for_type_checkers() -> None:
    kernel = po.kernel(plain)
    assert kernel(ONES.astype("f4"), 2).dtype == np.float32


@pytest.mark.toolchain
def test_annotations_hold_beside_arguments_that_are_taken_apart() -> None:
    kernel = po.kernel(held)
    x = np.zeros(3)
    kernel((1.0, 2.0), x)
    assert x.tolist() == [3.0] * 3
    assert refused(kernel, ((1.0, 2.0), x.astype("f4"))).code == "PO0207"
    assert refused(kernel, ((1.0, 2.0), [1.0])).code == "PO0206"


@pytest.mark.parametrize("method", ["compile", "schedule", "verify", "explain"])
def test_types_and_examples_fit_the_annotations_too(method: str) -> None:
    call = getattr(po.kernel(aliased), method)
    assert refused(call, (po.f32["N"],)).code == "PO0207"
    assert refused(call, (po.f64["N,M"],)).code == "PO0208"
    assert refused(call, (np.ones(3, np.float32),)).code == "PO0207"


def test_a_result_is_what_its_annotation_says() -> None:
    def vector(x: po.f64["N"]) -> po.f64["N"]:
        return np.sum(x)

    def nothing(x: po.f64["N"]) -> po.f64:
        x[:] = 0.0

    for function in (vector, nothing):
        with pytest.raises(po.FrontendError) as caught:
            po.kernel(function).schedule()
        assert caught.value.code == "PO0178"


@pytest.mark.parametrize("dims", ["N,M-", "N,,M", "N/2", "2.5", "f(N)", "", -1, 2.5])
def test_a_dimension_that_is_none_is_refused(dims: object) -> None:
    with pytest.raises(po.UsageError) as caught:
        po.f64[dims]
    assert caught.value.code == "PO0239"


def test_a_wrong_dimension_in_a_text_is_refused_at_the_call() -> None:
    def wrong(x: po.f64["N-"]):
        return x

    with pytest.raises(po.UsageError) as caught:
        po.kernel(wrong)(ONES)
    assert caught.value.code == "PO0239"


@pytest.mark.parametrize("dims", ["N", "N, M", "T+1,2*N", "N//2,:", "1,8", (slice(None), "N", 3)])
def test_dimensions_are_sums_and_products(dims: object) -> None:
    assert po.f64[dims].dims


def test_names_are_suggested() -> None:
    kernel = po.kernel(scaled)
    error = refused(lambda: kernel.compile(n=3, M=4), ())
    assert "the sizes are N" in (error.hint or "")
    error = refused(lambda: kernel(x=ONES, Y=ZEROS, a=2.0), ())
    assert "did you mean `y`" in (error.hint or "")
    error = refused(kernel.compile, ([1.0], [2.0], 1.0))
    assert "np.array(x)" in (error.hint or "")


def test_a_schedule_shows_its_loops() -> None:
    shown = repr(po.kernel(scaled).schedule())
    assert shown.startswith("<KernelSchedule, ")
    assert "for i" in shown
    assert len(shown) < 1000
