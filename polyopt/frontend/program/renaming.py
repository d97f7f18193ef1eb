"""From working names of parameters (`A.shape[0]`) to identifiers of the Scop.

In: the parameters, what the user calls them.  Out: `Renaming`, applied to expressions and drafts.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, field, replace
from polyopt.frontend.program.drafts import Binding, Draft, Mark
from polyopt.frontend.program.statement_domains import Scope
from polyopt.ir.expr import Cast, Expr, Load, Param, Symbol, rewrite
from polyopt.ir.source import Fault


@dataclass(frozen=True, slots=True)
class Renaming:
    """`params`: working name -> identifier; `symbols`: integer arguments that are no sizes;
    `computed`: what computed sizes without an identifier are computed from."""

    params: Mapping[str, str]
    symbols: Mapping[str, Symbol]
    computed: Mapping[str, Expr] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        """Return `expr` under the final names."""
        return rewrite(expr, self._rule)

    def _rule(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Cast) and isinstance(expr.operand, Param):
            symbol = self.symbols.get(expr.operand.name)
            return symbol if symbol is not None and symbol.dtype is expr.dtype else None
        if not isinstance(expr, Param):
            return None
        if expr.name in self.symbols:
            symbol = self.symbols[expr.name]
            return symbol if symbol.dtype is expr.dtype else Cast(symbol, expr.dtype)
        if expr.name not in self.params and expr.name in self.computed:
            return self.expr(self.computed[expr.name])
        return Param(self.params[expr.name])


def renamed_scope(rename: Renaming, scope: Scope) -> Scope:
    """Return the scope under the final names."""
    loops = tuple(
        replace(loop, lower=rename.expr(loop.lower), upper=rename.expr(loop.upper))
        for loop in scope.loops
    )
    return Scope(
        loops,
        tuple(rename.expr(c) for c in scope.conditions),
        rename.expr(scope.guard),
        tuple(rename.expr(e) for e in scope.order),
    )


def renamed_mark(rename: Renaming, mark: Mark) -> Mark:
    """Return the mark under the final names."""
    what = mark.what
    if isinstance(what, Binding):
        what = Binding(rename.params[what.param], what.value)
    return Mark(renamed_scope(rename, mark.scope), what)


def renamed_fault(rename: Renaming, fault: Fault) -> Fault:
    """Return the fault under the final names; an extent that has none is left out."""
    if fault.subscripts is None:
        return fault
    try:
        extent = rename.expr(fault.subscripts.extent)
    except KeyError:
        return replace(fault, subscripts=None)
    return replace(fault, subscripts=replace(fault.subscripts, extent=extent))


def renamed_draft(rename: Renaming, draft: Draft) -> Draft:
    """Return the draft under the final names."""
    target = rename.expr(draft.target)
    assert isinstance(target, Load)
    return replace(
        draft,
        scope=renamed_scope(rename, draft.scope),
        target=target,
        value=rename.expr(draft.value),
    )
