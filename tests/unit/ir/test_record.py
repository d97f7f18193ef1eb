"""Programs and loop functions as data: the round trip, and refusal of what is not one."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.errors import BudgetError, Loc
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.budget import query
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Param
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Bind, Program, all_parts
from polyopt.ir.record import MAX_SIZE, VERSION, RecordError, decode, encode
from polyopt.ir.record_sets import text_set
from polyopt.ir.source import ConstArg, LibraryCall, Operand
from polyopt.ir.types import DType
from polyopt.pipeline import compile_program
from polyopt.targets import Machine, Options

MACHINE = Machine(cores=4, vector_bytes=32)


def heat(u, steps):
    v = np.empty_like(u)
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u[1:-1] = v[1:-1]


def matmul(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def sparse(y, value, column, start, x):
    for i in range(y.shape[0]):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def until(a, b):
    count = 0
    while np.sum(a) > 1.0 and count < 100:
        a *= 0.5
        count += 1
    return np.linalg.solve(b, a), count, np.sum(a > 0.25)


PROGRAMS = (heat, matmul, sparse, until)


def program_of(function: Callable[..., Any]) -> Program:
    return build(function, infer_types(function))


def there_and_back(value: Program | LoopFunction) -> Any:
    return decode(json.loads(json.dumps(encode(value))), type(value))


def text_of(value: object) -> str:
    return json.dumps(encode(value), sort_keys=True)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_and_its_loops_come_back(function):
    program = program_of(function)
    stages = compile_program(program, Options(), MACHINE)
    loops = there_and_back(stages.loops)
    assert loops == stages.loops
    assert emit_c(loops).text == stages.source.text
    assert_same_program(there_and_back(program), program)
    assert text_of(program) == text_of(program_of(function))
    assert text_of(loops) == text_of(stages.loops)


def assert_same_program(one: Program, two: Program) -> None:
    assert one.signature == two.signature
    assert one.arrays == two.arrays
    for a, b in zip(all_parts(one.parts), all_parts(two.parts), strict=True):
        assert type(a) is type(b)
        if isinstance(a, Bind):
            assert a == b
    for first, second in zip(one.scops, two.scops, strict=True):
        assert first.params == second.params
        assert first.context.is_equal(second.context)
        for s, t in zip(first.statements, second.statements, strict=True):
            assert s.domain.is_equal(t.domain)
            assert s.domain.get_space().is_equal(t.domain.get_space())
            assert (s.target, s.value, s.order, s.loops) == (t.target, t.value, t.order, t.loops)


def test_equal_records_are_written_once():
    one = Binary(BinaryOp.ADD, Param("N"), Param("N"), DType.INT64)
    assert encode(one)["records"] == [
        {"is": "Param", "name": "N"},
        {"is": "Binary", "op": "ADD", "left": 0, "right": 0, "dtype": "INT64"},
    ]


def test_numbers_keep_their_bits_and_types():
    for value in (True, 1, 1.0, 1 + 0j, 0.1, -0.0, float("inf"), 5e-324, complex(-0.0, 2), 2**64):
        back = decode(json.loads(text_of(Const(value, DType.INT64))), Const).value
        assert (type(back), repr(back)) == (type(value), repr(value))


def test_constants_and_what_only_prints():
    call = LibraryCall("numpy.sum", (Operand(0), (1, None, "x", slice(1, None, 2.5))), (), (), ())
    assert decode(encode(call), LibraryCall) == call
    back = decode(encode(ConstArg("kind", np.float32)), ConstArg)
    assert (back.value.kind, back.value.text) == ("type", "<class 'numpy.float32'>")


def test_deep_expressions_need_no_deep_data():
    value: Expr = Param("N")
    for _ in range(1500):
        value = Binary(BinaryOp.ADD, value, Param("M"), DType.INT64)
    records = encode(value)
    assert encode(decode(records, Binary)) == records


# -- refusals -------------------------------------------------------------------------------------


def _table(*rows: object, version: object = VERSION) -> dict[str, object]:
    return {"version": version, "records": list(rows)}


N = {"is": "Param", "name": "N"}
ADD = {"is": "Binary", "op": "ADD", "left": 0, "right": 0, "dtype": "INT64"}


def _with_domain(domain: str) -> dict[str, object]:
    load = {"is": "Load", "array": "A", "index": [], "dtype": "INT64"}
    made = {"is": "Statement", "name": "S0", "iters": ["i"], "domain": domain, "order": [0],
            "target": 1, "value": 0, "loc": None, "text": ""}  # fmt: skip
    scop = {"is": "Scop", "params": ["N"], "context": "[N] -> { : }", "arrays": [],
            "statements": [2]}  # fmt: skip
    return _table(N, load, made, scop)


BOMB = [N, *({**ADD, "left": k, "right": k} for k in range(40))]
REFUSED: dict[str, tuple[object, str]] = {
    "not a table": ([N], "not a table of records"),
    "another key": ({**_table(N), "code": "import os"}, "not a table of records"),
    "another version": (_table(N, version=1), "version 1 is not 2"),
    "a version that equals 2": (_table(N, version=2.0), "version 2.0 is not 2"),
    "empty": (_table(), "0 records"),
    "not a record": (_table(["Param", "N"]), "record 0: not a record"),
    "unknown record": (_table({"is": "Popen"}), "there is no record 'Popen'"),
    "unknown field": (_table({**N, "shell": True}), "Param has no field 'shell'"),
    "missing field": (_table({"is": "Param"}), "Param without `name`"),
    "wrong type": (_table({"is": "Param", "name": 1}), "Param.name is 1"),
    "no name": (_table({"is": "Param", "name": 'N; system("rm")'}), "not a name"),
    "a name with a line end": (_table({"is": "Param", "name": "N\n"}), "not a name"),
    "wrong enum": (_table({**N, "dtype": "OBJECT"}), "Param.dtype is 'OBJECT'"),
    "enum by value": (_table(N, {**ADD, "op": "+"}), "Binary.op is '+'"),
    "forward": (_table({**ADD, "left": 1}, N), "Binary.left is 1, not an earlier record"),
    "itself": (_table(ADD), "Binary.left is 0, not an earlier record"),
    "negative": (_table(N, {**ADD, "left": -1}), "not an earlier record"),
    "a truth value as number": (_table(N, N, {**ADD, "left": True}), "not an earlier record"),
    "wrong record": (_table({"is": "Origin", "statement": "S0"}, ADD), "Binary.left is a Origin"),
    "not the root": (_table(N), "a Param where a Program is needed"),
    "bomb": (_table(*BOMB), "holds too many others"),
    "huge number": (_table({"is": "Const", "value": 1 << 200, "dtype": "INT64"}), "digits"),
    "float": (_table({"is": "Const", "value": {"float": "1e5x"}, "dtype": "INT64"}), "a number"),
    "another domain": (_with_domain("{ S1[i] }"), "domain is not over S0[i]"),
    "another iterator": (_with_domain("{ S0[j] }"), "domain is not over S0[i]"),
    "another size": (_with_domain("[K] -> { S0[i] }"), "the sizes of S0 are not those of"),
    "JSON's float": (_table({"is": "Const", "value": 0.5, "dtype": "INT64"}), "0.5 is not"),
}  # fmt: skip


@pytest.mark.parametrize("data, message", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_program_is_refused(data, message):
    with pytest.raises(RecordError) as caught:
        decode(data, Program)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 200


def test_the_bomb_is_large_enough():
    assert 2 ** len(BOMB) > MAX_SIZE


SETS = (
    "{ S0[i] : i >= 0 }; system(1)",
    '{ S0["x"] }',
    "{ S0[i] : i >= 0 # comment\n }",
    "[N] -> { S0[i] : rm rf }",
    "{ S0[i] ",
    "{ " + "(" * 1000 + "1 = 1" + ")" * 1000 + " }",
    "{ S0[i] : i = " + "9" * 50 + " }",
    "{ S0[i] -> A[i] }",
    "{ S0[" + ", ".join(f"i{d}" for d in range(100)) + "] }",
    "{ S0["
    + ", ".join(f"i{d}" for d in range(30))
    + "] : "
    + " and ".join(f"(i{d} < 3 or i{d} > 5)" for d in range(30))
    + " }",
    "[N] -> { S0[i] : i < N /* */ }",
    "",
)


@pytest.mark.parametrize("text", SETS, ids=range(len(SETS)))
def test_text_that_is_no_set_is_refused(text):
    with pytest.raises(RecordError):
        text_set(text)


def test_changed_data_is_refused_or_is_a_program():
    """Whatever is changed, `decode` gives a value or its own error, and `encode` writes it."""
    draw = random.Random(5)
    record = json.loads(text_of(program_of(heat)))
    decoded = 0
    for _ in range(400):
        changed = mutated(record, draw)
        try:
            value = decode(changed, Program)
        except RecordError:
            continue
        decoded += 1
        encode(value)
    assert 5 < decoded < 395


JUNK = (None, True, -1, 0, 3, 10**30, "", "x y", "[N] -> { S0[i] }", [], ["tuple"], {}, 0.5)


def mutated(record: Any, draw: random.Random) -> Any:
    """Return the record with one value at any depth replaced, removed or doubled."""
    changed = copy.deepcopy(record)
    at: Any = changed
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw.choice(keys)
        inside = at[key]
        if isinstance(inside, dict | list) and inside and draw.random() < 0.9:
            at = inside
            continue
        match draw.randrange(3):
            case 0:
                del at[key]
            case 1 if isinstance(at, list):
                at.insert(key, inside)
            case _:
                at[key] = draw.choice(JUNK)
        return changed


def test_places_come_back():
    assert decode(encode(Loc("a b/ü.py", 1, 2, 3, 4)), Loc) == Loc("a b/ü.py", 1, 2, 3, 4)


def test_other_threads_may_run_out_of_operations_meanwhile() -> None:
    begun, ends = threading.Event(), threading.Event()
    program = build(matmul, infer_types(matmul))

    def exhausted() -> None:
        with contextlib.suppress(BudgetError), query("all of them", 1):
            begun.set()
            ends.wait(60)

    thread = threading.Thread(target=exhausted)
    thread.start()
    begun.wait(60)
    threading.Timer(0.3, ends.set).start()
    data = encode(program)
    thread.join()
    assert encode(decode(data, Program)) == data
