"""Calls through the C wrapper and through ctypes: the same answers, the same refusals."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polyopt.errors import ArgumentError, BudgetError
from polyopt.ir.source import Layout, Source
from polyopt.ir.types import DType
from polyopt.runtime.check import check_call
from polyopt.runtime.library import Loaded, has_no_buffers
from tests.dtypes import DTYPES
from tests.unit.runtime import sources
from tests.unit.runtime.loading import WAYS, load

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]


@pytest.fixture(params=WAYS)
def loader(request: pytest.FixtureRequest) -> Callable[..., Loaded]:
    return lambda source, **more: load(source, request.param, **more)


def refused(source: Source, loaded: Loaded, values: tuple[object, ...], code: str) -> ArgumentError:
    """Assert that both checkers refuse, with `code`, and that no array changed."""
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    before = [a.copy() for a in arrays]
    assert loaded.call(*values) is NotImplemented
    assert loaded.dispatch(*values) is NotImplemented
    with pytest.raises(ArgumentError) as caught:
        check_call(source.signature, values)
    assert caught.value.code == code
    assert caught.value.hint
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    return caught.value


def test_adds(loader):
    loaded = loader(sources.add_arrays())
    A, B, C = np.arange(5.0), np.ones(5), np.zeros(5)
    assert loaded.call(A, B, C) is None
    assert C.tolist() == [1, 2, 3, 4, 5]
    assert loaded.dispatch(A, A, C) is None  # the same array read twice is no conflict
    assert C.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    "name", ["run", "call", "enter", "judge", "Buffer", "Py_DECREF", "wide", "memcpy", "index"]
)
def test_entries_may_have_any_name(loader, name):
    source = sources.add_arrays()
    name = f"polyopt_{name}"
    renamed = replace(source, entry=name, text=source.text.replace("int entry(", f"int {name}("))
    C = np.zeros(1)
    assert loader(renamed).call(np.ones(1), np.ones(1), C) is None
    assert C[0] == 2


def test_empty_arrays(loader):
    loaded = loader(sources.add_arrays())
    whole = np.zeros(0)
    assert loaded.call(whole, whole, whole) is None


def test_reference_counts():
    loaded = load(sources.outputs())
    A, B = np.arange(4.0), np.zeros(4)
    objects = (A, B, np.empty, None, NotImplemented)
    counts = [sys.getrefcount(o) for o in objects]
    for _ in range(100):
        loaded.call(A, B, 1.0)
        loaded.call(A, B[::-1], 1.0)
        loaded.call(A, A, 1.0)
        loaded.call(A, B, "x")
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(x - y) < 20 for x, y in zip(counts, after, strict=True))


def test_wrong_count(loader):
    source = sources.add_arrays()
    loaded = loader(source)
    refused(source, loaded, (np.zeros(2), np.zeros(2)), "PO0201")
    refused(source, loaded, (np.zeros(2),) * 4, "PO0201")
    refused(source, loaded, (), "PO0201")


@pytest.mark.parametrize(
    "bad, code",
    [
        (np.zeros(3, np.float32), "PO0207"),
        (np.zeros(3, np.int64), "PO0207"),
        (np.zeros(3, ">f8"), "PO0202"),
        (np.zeros(3, np.float16), "PO0207"),
        (np.zeros(3, object), "PO0202"),
        (np.zeros(3, "M8[s]"), "PO0202"),
        (np.zeros(3, [("x", "f8")]), "PO0202"),
        (np.zeros(3, np.longdouble), "PO0202"),
        (np.zeros(3, "S8"), "PO0202"),
        (np.zeros((3, 1)), "PO0208"),
        (np.float64(3), "PO0206"),
        (np.array(3.0), "PO0208"),
        (np.zeros(6)[::2], "PO0209"),
        (np.zeros(3)[::-1], "PO0209"),
        (np.zeros(4), "PO0203"),
        (np.zeros(25, np.uint8)[1:].view(np.float64), "PO0211"),
        ([1.0, 2.0, 3.0], "PO0206"),
        (None, "PO0206"),
        ("abc", "PO0206"),
        (3.0, "PO0206"),
        (np.ma.masked_array(np.zeros(3)), "PO0206"),
        (np.zeros((1, 3)).view(np.matrix), "PO0206"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refuses_array(loader, bad, code):
    source = sources.add_arrays()
    refused(source, loader(source), (np.zeros(3), bad, np.zeros(3)), code)


def test_refuses_read_only(loader):
    source = sources.add_arrays()
    C = np.zeros(3)
    C.flags.writeable = False
    error = refused(source, loader(source), (np.zeros(3), np.zeros(3), C), "PO0204")
    assert "`C`" in error.message
    A = np.arange(3.0)
    A.flags.writeable = False
    out = np.zeros(3)
    assert loader(source).call(A, A, out) is None
    assert out.tolist() == [0, 2, 4]


def test_overlaps(loader):
    source = sources.add_arrays(Layout.STRIDED)
    loaded = loader(source)
    base = np.zeros(40)
    free = np.ones(8)
    overlapping = [
        (base[:8], base[:8]),
        (base[:8], base[7:15]),
        (base[7:15], base[:8]),
        (base[8:0:-1], base[1:9]),
        (base[20:12:-1], base[13:21]),
    ]
    for written, read in overlapping:
        refused(source, loaded, (read, free, written), "PO0205")
        refused(source, loaded, (free, read, written), "PO0205")
    for written, read in [
        (base[:8], base[8:16]),
        (base[16:8:-1], base[17:25]),
        (base[0:16:2], base[1:17:2]),  # interleaved: no element is shared
    ]:
        assert loaded.call(read, free, written) is None


def test_refuses_array_overlapping_itself(loader):
    source = sources.strided_copy(2)
    loaded = loader(source)
    stride = np.lib.stride_tricks.as_strided
    A = np.zeros((3, 4))
    for strides in [(8, 8), (0, 8), (8, 0), (-8, 16)]:
        B = stride(np.zeros(40)[20:], (3, 4), strides)
        refused(source, loaded, (A, B), "PO0212")
    broadcast = np.broadcast_to(np.arange(4.0), (3, 4))  # as an input it is welcome
    B = np.zeros((3, 4))
    assert loaded.call(broadcast, B) is None
    np.testing.assert_array_equal(B, broadcast * 2 + np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_all_stride_signs(loader, rank):
    loaded = loader(sources.strided_copy(rank))
    shape = (3, 4, 5)[:rank]
    values = np.arange(float(np.prod(shape))).reshape(shape)
    steps = (1, -1, 2, -2)
    for a_steps, b_steps in itertools.product(itertools.product(steps, repeat=rank), repeat=2):
        if rank == 3 and a_steps != b_steps[::-1]:
            continue
        A = spread(values, a_steps)
        B = spread(np.zeros(shape), b_steps)
        assert loaded.call(A, B) is None
        np.testing.assert_array_equal(B, values * 2 + values)


def spread(values: np.ndarray, steps: tuple[int, ...]) -> np.ndarray:
    """Return a view with the given steps into a larger array, equal to `values`."""
    room = np.full([2 * n + 1 for n in values.shape], np.nan)
    index = tuple(
        slice(0, n * s, s) if s > 0 else slice(n * -s - 1, None, s)
        for n, s in zip(values.shape, steps, strict=True)
    )
    view = room[index][tuple(slice(0, n) for n in values.shape)]
    view[...] = values
    return view


def test_zero_stride_input(loader):
    loaded = loader(sources.strided_copy(1))
    B = np.zeros(4)
    assert loaded.call(np.broadcast_to(3.0, 4), B) is None
    assert B.tolist() == [6, 7, 8, 9]


def test_rows_layout(loader):
    source = sources.strided_copy(2, Layout.ROWS)
    loaded = loader(source)
    base = np.arange(60.0).reshape(6, 10)
    B = np.zeros((3, 4))
    A = base[5:2:-1, 2:6]
    assert loaded.call(A, B) is None
    np.testing.assert_array_equal(B, A * 2 + np.arange(12).reshape(3, 4))
    refused(source, loaded, (base[:3, 0:8:2], B), "PO0209")
    refused(source, loaded, (base.T[:3, :4], B), "PO0209")
    assert loaded.call(base[:3, 4:5], np.zeros((3, 1))) is None  # a dimension of 1 has any stride


def test_strides_that_are_no_multiple_of_an_element(loader):
    source = sources.strided_copy(1)
    records = np.zeros(4, [("x", "<f8"), ("y", "<i4")])
    error = refused(source, loader(source), (records["x"], np.zeros(4)), "PO0211")
    assert "aligned" in error.message


def test_dimensions_of_one_are_contiguous_whatever_their_stride(loader):
    loaded = loader(sources.add_arrays())
    one = np.arange(10.0)[3:4:7]
    odd = np.lib.stride_tricks.as_strided(one, (1,), (-123,))
    C = np.zeros(1)
    assert loaded.call(odd, one, C) is None
    assert C[0] == 6


def test_large_arrays_of_a_regular_layout_are_declined_by_general_code():
    loaded = load(sources.strided_copy(2))
    small, large = np.ones((4, 4)), np.ones((100, 100))
    assert loaded.dispatch(small, np.zeros((4, 4))) is None
    assert loaded.dispatch(large, np.zeros((100, 100))) is NotImplemented
    assert loaded.dispatch(large.T[::-1], np.zeros((200, 100))[::2].T) is None
    assert loaded.call(large, np.zeros((100, 100))) is None


def test_results(loader):
    loaded = loader(sources.outputs())
    A, B = np.arange(4.0), np.zeros(4)
    result = loaded.call(A, B, 2.5)
    assert isinstance(result, tuple)
    R, s, same = result
    assert R.tolist() == [2.5, 3.5, 4.5, 5.5, -1]
    assert R.flags.owndata
    assert R.flags.writeable
    assert type(s) is np.float64
    assert s == 6
    assert same is B
    assert B.tolist() == [2.5] * 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(loader, dtype):
    source = sources.one_array(dtype)
    loaded = load(source, "ctypes") if has_no_buffers(source) else loader(source)
    A = np.zeros(3, dtype.numpy)
    assert loaded.call(A) is None
    assert (A == 1).all()
    for other in DTYPES:
        if other is not dtype:
            assert loaded.call(np.zeros(3, other.numpy)) is NotImplemented


def test_both_names_of_a_64_bit_integer(loader):
    loaded = loader(sources.one_array(DType.INT64))
    for name in "lq":
        A = np.zeros(3, name)
        if A.itemsize == 8:
            assert loaded.call(A) is None
            assert (A == 1).all()


def test_rank_zero_and_high_ranks(loader):
    for rank in (0, 4, 7):
        A = np.zeros((2,) * rank)
        assert loader(sources.one_array(DType.FLOAT64, rank=rank)).call(A) is None
        assert (A == 1).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(loader, dtype):
    source = sources.one_number(dtype)
    is_plain = has_no_buffers(source)
    loaded = load(source, "ctypes") if is_plain else loader(source, weak=(False,))
    value = dtype.numpy.type(1)
    result = loaded.call(value)
    assert result == value
    assert type(result) is dtype.numpy.type


def test_python_numbers(loader):
    assert loader(sources.one_number(DType.FLOAT64)).call(2.5) == 2.5
    assert loader(sources.one_number(DType.INT64)).call(-(2**63)) == -(2**63)
    assert loader(sources.one_number(DType.BOOL)).call(True) == np.True_
    assert loader(sources.one_number(DType.COMPLEX128)).call(1 + 2j) == 1 + 2j


@pytest.mark.parametrize("number", [2.5, True, 3, 1 + 2j])
def test_weak_and_strong_numbers_are_told_apart(loader, number):
    other = np.asarray(number)[()]
    source = sources.one_number(DType(other.dtype.name))
    weak, strong = loader(source, weak=(True,)), loader(source, weak=(False,))
    assert weak.dispatch(number) == number
    assert weak.dispatch(other) is NotImplemented
    assert strong.dispatch(other) == number
    assert strong.dispatch(number) is NotImplemented


@pytest.mark.parametrize("value", ["1", None, [1], 1j, np.zeros(2), 2**64, object()])
def test_refuses_numbers(loader, value):
    source = sources.one_number(DType.INT64)
    loaded = loader(source)
    assert loaded.call(value) is NotImplemented
    with pytest.raises(ArgumentError):
        check_call(source.signature, (value,))


def test_sizes_given_as_integers_are_bounded(loader):
    source = sources.one_number(DType.INT64, is_param=True)
    loaded = loader(source)
    assert loaded.call(-7) == -7
    assert loaded.call(2**48) == 2**48
    refused(source, loaded, (2**48 + 1,), "PO0210")
    refused(source, loaded, (-(2**48) - 1,), "PO0210")


def test_shape_expressions_and_checks(loader):
    source = sources.checked()
    loaded = loader(source)
    A, B = np.arange(5.0), np.ones((3, 3))
    assert loaded.call(A, B, 2).tolist() == [1, 2, 3]
    error = refused(source, loaded, (A, np.ones((3, 4)), 2), "PO0203")
    assert "dimension 1" in error.message
    assert any("N = 5" in note for note in error.notes)
    error = refused(source, loaded, (A, B, 6), "PO0203")
    assert "shorter" in error.message
    refused(source, loaded, (A, B, 105), "PO0214")
    assert loaded.call(A, B, -96)[:1] == 1  # Python's `%`: -96 % 100 is 4


def test_constants(loader):
    source = sources.constant(2)
    loaded = loader(source)
    A = np.ones(2)
    assert loaded.call(A, 2) is A
    assert A.tolist() == [2, 2]
    refused(source, loaded, (A, 3), "PO0213")
    refused(source, loaded, (A, 2.0), "PO0213")
    refused(source, loaded, (A, True), "PO0213")
    text = loader(sources.constant("left"))
    assert text.call(A, "".join(["le", "ft"])) is A


def test_no_memory_is_told_apart(loader):
    loaded = loader(sources.without_memory())
    for call in (loaded.call, loaded.dispatch):
        with pytest.raises(BudgetError) as caught:
            call(np.zeros(3))
        assert caught.value.code == "PO0702"
    assert loaded.call(np.zeros((3, 3))) is NotImplemented


def test_outputs_too_large_for_memory(loader):
    loaded = loader(sources.checked())
    with pytest.raises(BudgetError) as caught:
        loaded.call(np.zeros(4), np.zeros((3, 3)), -100 * 2**40)
    assert caught.value.code == "PO0702"


def test_threads_in_python_run_side_by_side(loader):
    loaded = loader(sources.add_arrays())
    wrong: list[int] = []

    def work(number: int) -> None:
        A, B = np.full(500, float(number)), np.ones(500)
        for _ in range(200):
            C = np.zeros(500)
            if loaded.call(A, B, C) is not None or np.any(C - number != 1):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_parallel_code_leaves_the_thread_count_as_it_was(loader):
    loaded = loader(sources.add_arrays(openmp=True), threads=2)
    A, B, C = np.arange(500.0), np.ones(500), np.zeros(500)
    for count in (2, 1, 3):
        loaded.set_threads(count)
        C[:] = 0
        assert loaded.call(A, B, C) is None
        np.testing.assert_array_equal(C, A + B)
