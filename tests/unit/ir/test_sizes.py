"""Work on some of very many sizes: the same values, and what is known of the others left out."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir import affine, scop
from polyopt.ir.affine import condition_set, covering_map, param_space, pw_aff, time_map
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Iter,
    Load,
    Param,
    add,
    integer,
    mul,
)
from polyopt.ir.parameters import bare
from polyopt.ir.scop import SizeFacts
from polyopt.ir.types import DType

NAMES = tuple(f"n{k}" for k in range(40))
I, J, K = Iter("i"), Iter("j"), Param("n7")
CONTEXT = isl.Set(
    f"[{', '.join(NAMES)}] -> {{ : n1 <= n2 and n2 <= n30 and n7 >= 3 and n8 = n9 + 1 }}"
)
DOMAIN = isl.Set(f"[{', '.join(NAMES)}] -> {{ S[i, j] : 0 <= i < n7 and 0 <= j < n3 }}")
DATA = Load("x", (I,), DType.INT64)


def both(monkeypatch, make):
    """Return a value made without regard to sizes that do not matter, and as it is made."""
    found = make()
    monkeypatch.setattr(affine, "FEW", 100)
    return make(), found


@pytest.mark.parametrize(
    "expr", [add(I, K), mul(integer(2), J), integer(3), Binary(BinaryOp.MAX, I, K, DType.INT64)]
)
def test_functions_of_few_of_many_sizes(expr, monkeypatch):
    space = DOMAIN.get_space()
    plain, found = both(monkeypatch, lambda: pw_aff(expr, space))
    assert found.is_equal(plain)
    assert found.get_domain_space().is_equal(space)


def test_conditions_on_few_of_many_sizes(monkeypatch):
    for space in (DOMAIN.get_space(), param_space(NAMES)):
        condition = Compare(CompareOp.LT, K, Param("n39"))
        plain, found = both(monkeypatch, lambda s=space, c=condition: condition_set(c, s))
        assert found.is_equal(plain)
        assert found.get_space().is_equal(space)


@pytest.mark.parametrize("index", [(add(I, K), J), (DATA,), (integer(0), DATA)])
def test_relations_of_few_of_many_sizes(index, monkeypatch):
    plain, found = both(monkeypatch, lambda: covering_map(DOMAIN, "a", index))
    assert found[1] is plain[1]
    assert found[0].is_equal(plain[0])
    assert found[0].get_space().is_equal(plain[0].get_space())
    plain, found = both(monkeypatch, lambda: time_map(DOMAIN, (I, integer(1), J), 4))
    assert found.is_equal(plain)


def test_parameters_that_do_not_matter_are_left_out():
    assert str(bare(DOMAIN)) == "[n3, n7] -> { S[i, j] : 0 <= i < n7 and 0 <= j < n3 }"
    union = bare(isl.UnionSet.from_set(DOMAIN))
    assert union.is_equal(isl.UnionSet.from_set(DOMAIN))
    function = isl.UnionPwAff.from_pw_aff(pw_aff(add(I, K), DOMAIN.get_space()))
    assert bare(function).plain_is_equal(function)
    assert bare(function).dim(isl.dim_type.param) == 1


def test_what_is_known_of_sizes_and_those_they_are_linked_to():
    facts = SizeFacts(CONTEXT)
    assert facts.linked(("n1",)) == ("n1", "n2", "n30")
    assert facts.linked(("n9", "n7", "n0", "other")) == ("n0", "n7", "n8", "n9")
    assert facts.about(("n1", "n0")).is_equal(
        isl.Set(f"[{', '.join(NAMES)}] -> {{ : n1 <= n2 and n2 <= n30 }}")
    )
    assert str(facts.alone(("n0", "n7"))) == "[n0, n7] -> {  : n7 >= 3 }"


def test_a_context_of_several_pieces_links_all_sizes():
    facts = SizeFacts(CONTEXT.union(isl.Set(f"[{', '.join(NAMES)}] -> {{ : n7 = 0 }}")))
    assert facts.linked(("n0",)) == NAMES
    assert facts.about(("n0",)).is_equal(facts.context)


def test_all_is_known_where_there_are_few_sizes(monkeypatch):
    monkeypatch.setattr(scop, "FEW", 100)
    assert SizeFacts(CONTEXT).about(("n0",)).is_equal(CONTEXT)
