"""Domains, accesses, checks and roles of small functions, compared by isl."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from polyopt.ir.expr import BinaryOp
from polyopt.ir.integers import evaluate
from polyopt.ir.program import Program
from polyopt.ir.scop import AccessKind, Role, Statement
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, IntegerOf, ResultKind, ScalarArg, SizeOf
from polyopt.ir.types import DType
from tests.unit.frontend.harness import agree, compiled

V = np.zeros(5)
M = np.zeros((5, 6))
S = np.zeros((5, 5))
WRAPPED = "[x_0] -> { S0[i] -> x[i - 1] : 0 < i < x_0; S0[0] -> x[x_0 - 1] : x_0 > 0 }"


def same_set(found: isl.Set, text: str) -> None:
    expected = isl.Set(text).align_params(found.get_space())
    assert found.align_params(expected.get_space()).is_equal(expected), f"{found} is not {text}"


def same_map(found: isl.Map, text: str) -> None:
    expected = isl.Map(text).align_params(found.get_space())
    assert found.align_params(expected.get_space()).is_equal(expected), f"{found} is not {text}"


def only(program: Program) -> Statement:
    (statement,) = program.scop.statements
    return statement


def names(program: Program) -> list[str]:
    return [array.name for array in program.scop.arrays]


def test_loops_give_exact_domains_and_accesses() -> None:
    def kernel(A, B):
        n, m = A.shape
        for i in range(1, n):
            for j in range(i, m, 2):
                A[i, j] = B[j - 1, i] + A[i - 1, j]

    statement = only(compiled(kernel, S, S))
    same_set(
        statement.domain,
        "[n, m] -> { S0[i, j] : 1 <= i < n and i <= j < m and (j - i) mod 2 = 0 }",
    )
    same_map(
        statement.write.relation,
        "[n, m] -> { S0[i, j] -> A[i, j] : 1 <= i < n and i <= j < m and (j - i) mod 2 = 0 }",
    )
    assert statement.write.kind is AccessKind.MUST_WRITE
    assert [read.array for read in statement.reads] == ["B", "A"]
    assert [show(part) for part in statement.order] == ["0", "i", "0", "j", "0"]


def test_downward_loop_keeps_its_variable_and_reverses_its_time() -> None:
    def kernel(x):
        for i in range(len(x) - 2, -1, -3):
            x[i] = x[i + 1]

    statement = only(agree(kernel, np.arange(11.0)))
    same_set(statement.domain, "[x_0] -> { S0[i] : 0 <= i <= x_0 - 2 and (x_0 - 2 - i) mod 3 = 0 }")
    assert show(statement.order[1]) == "-i"


def test_slices_and_steps() -> None:
    def kernel(x, y):
        y[1:-1] = x[:-2] + x[2:]
        y[::-1] = x
        y[1::2] = 0.0

    first, second, third = compiled(kernel, V, V).scop.statements
    n = "[x_0] -> "
    same_map(first.write.relation, n + "{ S0[i] -> y[i + 1] : 0 <= i < x_0 - 2 }")
    same_map(first.reads[0].relation, n + "{ S0[i] -> x[i] : 0 <= i < x_0 - 2 }")
    same_map(first.reads[1].relation, n + "{ S0[i] -> x[i + 2] : 0 <= i < x_0 - 2 }")
    same_map(second.write.relation, n + "{ S1[i] -> y[x_0 - 1 - i] : 0 <= i < x_0 }")
    same_map(third.write.relation, n + "{ S2[i] -> y[2i + 1] : i >= 0 and 2i + 1 < x_0 }")


def test_broadcast_transpose_and_newaxis_are_access_maps() -> None:
    def kernel(A, B, x):
        A[:] = B.T[:, 0, None] * x[None, :]

    statement = only(compiled(kernel, M, S, np.zeros(6)))
    shape = "0 <= i < A_0 and 0 <= j < A_1"
    same_map(statement.reads[0].relation, f"[A_0, A_1] -> {{ S0[i, j] -> B[0, i] : {shape} }}")
    same_map(statement.reads[1].relation, f"[A_0, A_1] -> {{ S0[i, j] -> x[j] : {shape} }}")


def test_wraparound_splits_the_statement() -> None:
    def kernel(x, y):
        for i in range(len(x)):
            y[i] = x[i - 1]

    program = agree(kernel, np.arange(4.0), np.zeros(4))
    domains = [statement.domain for statement in program.scop.statements]
    assert len(domains) == 2
    assert domains[0].intersect(domains[1].set_tuple_name("S0")).is_empty()
    reads = [statement.reads[0].relation for statement in program.scop.statements]
    same_map(reads[0].union(reads[1].set_tuple_name(isl.dim_type.in_, "S0")).coalesce(), WRAPPED)


def test_a_distance_that_a_loop_counts_does_not_split() -> None:
    def clamped(x, y):
        for i in range(len(x)):
            for d in range(-2, 3):
                y[i] += x[min(max(i + d, 0), len(x) - 1)]

    def one_apart(x, y):
        for i in range(len(x)):
            y[i] += x[min(i + 1, len(x) - 1)]

    program = agree(clamped, np.arange(4.0), np.zeros(4))
    (statement,) = program.scop.statements
    read = next(access for access in statement.reads if access.array == "x")
    assert read.exact
    assert read.relation.is_single_valued()
    assert len(agree(one_apart, np.arange(4.0), np.zeros(4)).scop.statements) == 2


def test_many_choices_in_subscripts_are_made_where_they_are_read() -> None:
    def best(a, b, c, d, keep):
        for i in range(len(a)):
            for j in range(len(a)):
                if a[j] < a[i] and b[j] < b[i] and c[j] <= c[i] and d[j] <= d[i]:
                    keep[i] = 0.0

    values = [np.array([3.0, 1.0, 2.0, 1.0]) + k for k in range(4)]
    program = agree(best, *values, np.ones(4))
    assert len(program.scop.statements) <= 40  # 188 with a statement for each choice


def test_no_temporary_without_a_dependence() -> None:
    def shift_left(x):
        x[:-1] = x[1:]

    def shift_right(x):
        x[1:] = x[:-1]

    def scaled(x):
        x[:] = 2 * x + 1

    for func in (shift_left, shift_right, scaled):
        program = agree(func, np.arange(6.0))
        assert names(program) == ["x"]
    assert show(only(compiled(shift_right, V)).order[1]) == "-i"


def test_temporary_where_one_is_needed() -> None:
    def reversed_in_place(x):
        x[:] = x[::-1]

    def transposed(A):
        A[:] = A.T

    assert names(agree(reversed_in_place, np.arange(6.0))) == ["x", "x_new"]
    assert names(agree(transposed, np.arange(9.0).reshape(3, 3))) == ["A", "A_new"]


def test_sizes_are_unified_and_named() -> None:
    def kernel(A, B, x):
        n, m = A.shape
        B[:] = A @ B
        x += A[0]
        return n * m

    program = compiled(kernel, S, S, V)
    assert program.scop.params == ("n", "B_1")
    shapes = [[show(extent) for extent in a.shape] for a in program.signature.arguments]
    assert shapes == [["n", "n"], ["n", "B_1"], ["n"]]
    assert program.signature.sizes == (SizeOf("n", 0, 0), SizeOf("B_1", 1, 1))


def test_integer_arguments_are_parameters_only_where_isl_needs_them() -> None:
    def kernel(x, n: int, k: int):
        for i in range(n):
            x[i] = k * 2.5

    program = compiled(kernel, V, 3, 4)
    assert program.scop.params == ("n", "x_0")
    scalars = [a for a in program.signature.arguments if isinstance(a, ScalarArg)]
    assert [(a.name, a.is_param) for a in scalars] == [("n", True), ("k", False)]
    assert IntegerOf("n", 1) in program.signature.sizes
    (check,) = program.signature.checks
    assert check.code == "PO0170"
    assert evaluate(check.condition, {"n": 5, "x_0": 5}) == 1
    assert evaluate(check.condition, {"n": -1, "x_0": 0}) == 1
    assert evaluate(check.condition, {"n": 6, "x_0": 5}) == 0


def test_provable_accesses_need_no_check() -> None:
    def kernel(A):
        for i in range(A.shape[0]):
            for j in range(i % 2, A.shape[1] - 1):
                A[i, j] = A[i, j + 1]

    assert compiled(kernel, M).signature.checks == ()


def test_reductions_are_marked() -> None:
    def explicit(A, x):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                x[i] -= A[i, j]

    def whole(A):
        return A.sum(axis=0)

    update = only(compiled(explicit, M, V))
    assert update.reduction is not None
    assert (update.reduction.op, update.reduction.reassociable) == (BinaryOp.ADD, False)
    _, summed = compiled(whole, M).scop.statements
    assert summed.reduction is not None
    assert summed.reduction.reassociable


def test_updates_of_slices_are_reductions_of_the_loops_around() -> None:
    def kernel(A, x):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                x[i] += A[i, j]
                A[i] -= x[i, j]

    first, second = compiled(kernel, M, M).scop.statements
    for statement in (first, second):
        assert statement.reduction is not None
        assert (statement.reduction.op, statement.reduction.reassociable) == (BinaryOp.ADD, False)


def test_elementwise_update_is_no_reduction() -> None:
    def kernel(x, y):
        for i in range(len(x)):
            x[i] += y[i]

    assert only(compiled(kernel, V, V)).reduction is None


def test_product_goes_straight_into_its_target() -> None:
    def direct(A, B, C):
        C[:] = A @ B

    def aliased(A, B):
        A[:] = A @ B

    assert names(compiled(direct, S, S, S)) == ["A", "B", "C"]
    assert names(agree(aliased, np.arange(9.0).reshape(3, 3), np.ones((3, 3)))) == ["A", "B", "tmp"]


def test_roles_and_results() -> None:
    def kernel(a, b):
        t = a * 2
        b[:] = t
        return t + 1, b, t.sum()

    program = agree(kernel, np.arange(4.0), np.zeros(4))
    roles = {array.name: array.role for array in program.scop.arrays}
    assert roles["a"] is Role.INPUT
    assert roles["b"] is Role.INOUT
    assert roles["t"] is Role.TEMP
    kinds = [result.kind for result in program.signature.results]
    assert kinds == [ResultKind.OUTPUT, ResultKind.ARGUMENT, ResultKind.SCALAR]
    written = {a.name: a.written for a in program.signature.arguments if isinstance(a, ArrayArg)}
    assert written == {"a": False, "b": True}


def test_dead_temporaries_vanish() -> None:
    def kernel(a):
        unused = a * 3
        b = unused + 1  # noqa: F841
        a[0] = 1.0

    assert names(compiled(kernel, V)) == ["a"]


def test_guard_of_a_data_dependent_branch() -> None:
    def kernel(x, y):
        for i in range(len(x)):
            if x[i] > 0:
                y[i] = 1.0

    statements = compiled(kernel, V, V).scop.statements
    (statement,) = (s for s in statements if s.target.array == "y")
    assert statement.guard is not None
    assert statement.write.kind is AccessKind.MAY_WRITE


def test_guard_is_stored_when_the_body_changes_it() -> None:
    def kernel(x):
        for i in range(len(x)):
            if x[i] > 0:
                x[i] = -1.0
            else:
                x[i] = 2.0

    program = agree(kernel, np.array([1.0, -1.0, 0.5]))
    assert "cond" in names(program)


def test_affine_scalars_stay_symbolic() -> None:
    def kernel(A):
        last = A.shape[0] - 1
        for i in range(last):
            m = i + 1
            k = last - m
            A[m] = A[k] * 0.5

    program = agree(kernel, np.arange(6.0))
    assert names(program) == ["A"]


def test_sizes_that_clip() -> None:
    def kernel(x):
        return x[:3] + 0, x[-3:] + 0, x[2:5] + 0, x[-1:] + 0, x[7::-2] + 0

    for n in range(9):
        agree(kernel, np.arange(float(n)))


def test_slice_bound_of_unknown_sign_is_checked() -> None:
    def kernel(x, h: int):
        x[h:-h] = 0.0

    program = agree(kernel, np.ones(7), 2)
    codes = {check.code for check in program.signature.checks}
    assert codes == {"PO0171"}


def test_names_are_safe_and_distinct() -> None:
    def kernel(int_, double, I, lambda_):
        register = double * 2
        for printf in range(len(I)):
            I[printf] = register[printf] + lambda_
        return register

    program = agree(kernel, 1.0, np.ones(3), np.ones(3), 2.0)
    every = [*names(program), *program.scop.params]
    every += [i for s in program.scop.statements for i in s.iters]
    assert not {"int", "double", "I", "register", "printf"} & set(every)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.complex64])
def test_dtypes_of_results(dtype: type) -> None:
    def kernel(x):
        return x + x, x * 2, x.sum(), x * x

    program = agree(kernel, np.arange(1, 4).astype(dtype))
    assert program.scop.array("x").dtype is DType(np.dtype(dtype).name)


def test_annotations_unify_and_name_sizes() -> None:
    from polyopt.frontend.syntax.annotations import f64

    def kernel(A, b, c):
        b[0] = A[0, 0]

    kernel.__annotations__ = {"A": f64["N,N"], "b": f64["N"], "c": f64["N+1"]}
    program = compiled(kernel, S, V, V)
    assert program.scop.params == ("N",)
    shapes = [[show(e) for e in a.shape] for a in program.signature.arguments]
    assert shapes[:2] == [["N", "N"], ["N"]]
    assert evaluate(program.signature.arguments[2].shape[0], {"N": 4}) == 5
