"""`items.pop()`, and lists that may not change because something else holds or runs over them."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError, PolyoptError
from tests.unit.frontend.harness import agree, compiled, run_program


def under_a_condition(a):
    stack = [3, int(a[0])]
    if a[1] > 1:
        stack.append(7)
    v = stack.pop()
    return v, stack[-1], len(stack)


def in_a_row(a):
    stack = [1.0, 2.0]
    v = stack.pop()
    stack.append(5.0)
    stack.append(v)
    stack.pop()
    return stack[-1], sum(stack)


def in_a_loop(a):
    for i in range(len(a)):
        stack = [i, i + 1]
        if a[i] > 2:
            stack.append(5)
        v = stack.pop()
        stack.append(v + 1)
        stack.append(v + 2)
        a[i] = v + stack[-1] + sum(stack)
        u = stack.pop()
        a[i] += u
    return a


def as_long_as_there_are_items(a):
    stack = [0, 2]
    turns = 0
    while len(stack) > 0 and turns < 20:
        k = stack.pop()
        turns += 1
        a[k % len(a)] += 1
    return a, turns


def into_elements(a):
    stack = [1.5, 2.5]
    a[0] = stack.pop()
    a[1] = stack.pop()
    return a


def perhaps_not_at_all(a):
    items = [1, 2, 3]
    if a[0] > 100:
        items.pop()
    return sum(items), len(items), items[-1]


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0]], ids=len)
@pytest.mark.parametrize("function", [under_a_condition, in_a_row, in_a_loop, into_elements,
                                      as_long_as_there_are_items, perhaps_not_at_all])  # fmt: skip
def test_pop(function, values) -> None:
    agree(function, np.array(values))


def too_often(a):
    items = [1]
    for _ in range(len(a)):
        a[0] += 1
        items.pop()
    return a


def test_an_empty_list() -> None:
    agree(too_often, np.ones(1))
    args = (np.ones(2),)
    with pytest.raises(PolyoptError, match=r"PO0231.*is empty"):
        run_program(compiled(too_often, *args), args)


def runs_over_a_list_that_shrinks(a):
    items = [1, 2, 3]
    for x in items:
        a[0] += x
        items.pop()
    return a


def runs_over_a_list_that_grows(a):
    items = [1, 2, 3]
    for x in items:
        a[0] += x
        if a[0] < 4:
            items.append(4)
    return a


def held_by_another_list(a):
    items = [1, 2]
    both = [items, items]
    items.append(3)
    return len(both[0])


def same(items):
    return items


def returned_by_a_function(a):
    items = [1, 2]
    other = same(items)
    items.append(3)
    return len(other)


@pytest.mark.parametrize("function", [
    runs_over_a_list_that_shrinks, runs_over_a_list_that_grows, held_by_another_list,
    returned_by_a_function,
])  # fmt: skip
def test_lists_that_may_not_change(function) -> None:
    with pytest.raises(FrontendError, match="PO0152"):
        compiled(function, np.ones(3))


def data_say_how_often(a, b):
    items = [1.0]
    for i in range(b[0]):
        if a[i] > 0:
            items.append(2.0)
    return sum(items)


def test_lists_of_as_many_items_as_is_found_later() -> None:
    with pytest.raises(FrontendError, match="PO0152"):
        compiled(data_say_how_often, np.ones(3), np.array([2]))


def pops_in_an_expression(a):
    items = []
    for x in a:
        if x > 0:
            items.append(x)
    last = items.pop() if len(items) > 0 else -1.0
    return last


@pytest.mark.toolchain
def test_pop_inside_an_expression_says_what_to_write() -> None:
    with pytest.raises(po.PolyoptError, match="in another form") as error:
        po.kernel(pops_in_an_expression)(np.ones(3))
    assert error.value.code == "PO0152"
    assert "as a statement" in str(error.value)


def pops_as_a_statement(a):
    items = []
    for x in a:
        if x > 0:
            items.append(x)
    last = -1.0
    if len(items) > 0:
        last = items.pop()
    return last


@pytest.mark.toolchain
def test_what_the_hint_says_compiles() -> None:
    for a in (np.array([1.0, -2.0, 3.0]), -np.ones(2)):
        assert po.kernel(pops_as_a_statement)(a) == pops_as_a_statement(a)
