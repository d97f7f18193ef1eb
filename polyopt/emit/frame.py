"""Choose the names of a C function: parameters, heap temporaries, views of arrays.

In: a `LoopFunction`.  Out: `Frame`, which every part of the text agrees on.
Identifiers clash with no keyword, macro or name of a header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from polyopt import emit
from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.emit.banner import BUILT, Edition
from polyopt.emit.c_statements import Code, Line, identifiers
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.dialect import literal
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.lanes import row_arrays
from polyopt.emit.ranges import Ranges
from polyopt.emit.regions import free_names, region_arrays, thread_arrays, written_arrays
from polyopt.emit.views import View, has_rows
from polyopt.ir.expr import Expr, MathFunc
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    Kernel,
    LoopFunction,
)
from polyopt.ir.nodes import all_nodes, bodies
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import CParam, CParamKind, Layout, ScalarArg, SizeOf
from polyopt.ir.types import DType
from polyopt.never import assert_never

_IN_EXTENTS = (
    HelperKind.EXTENT,
    HelperKind.MIN,
    HelperKind.MAX,
    HelperKind.FLOORDIV,
    HelperKind.FLOOR,
    HelperKind.MOD,
)


@dataclass(frozen=True, slots=True)
class Frame:
    """Identifiers of one emitted file.

    `names` maps names of the loop AST to C identifiers; `heap` are the entry's temporaries with
    memory of their own from its start on, `late` those that get it on the way, `plain` those that
    are variables.
    """

    entry: str
    names: Mapping[str, str]
    params: tuple[CParam, ...]
    views: Mapping[str, View]
    heap: tuple[str, ...]
    late: tuple[str, ...]
    plain: tuple[str, ...]
    faults: tuple[str, ...]
    ranges: Ranges
    taken: frozenset[str]
    rows: frozenset[str]
    edition: Edition = BUILT

    def identifier(self, wish: str, taken: Collection[str]) -> str:
        """Return a C identifier like `wish` that is not in `taken`."""
        return identifier(self.edition, wish, taken)

    def declarations(self) -> list[str]:
        """Return the entry's parameters as C text."""
        return [self._declaration(param) for param in self.params]

    def _declaration(self, param: CParam) -> str:
        match param.kind:
            case CParamKind.ARRAY:
                return self.views[param.name].parameter()
            case CParamKind.LIBRARY:
                return library_type(param.text)
            case CParamKind.SIZE | CParamKind.STRIDE | CParamKind.SCALAR:
                return f"{param.dtype.value_ctype} {param.text}"
            case _:
                assert_never(param.kind)

    def header_declarations(self, restrict: str) -> list[str]:
        """Return the entry's parameters for C and C++; `restrict` is a macro for that word."""
        found = []
        for param in self.params:
            ctype = param.dtype.ctype.replace(" complex", " _Complex")
            match param.kind:
                case CParamKind.ARRAY:
                    const = "" if param.written else "const "
                    found.append(f"{const}{ctype} *{restrict} {self.names[param.name]}")
                case CParamKind.LIBRARY:
                    found.append(library_type(param.text.removeprefix("po_")))
                case CParamKind.SIZE | CParamKind.STRIDE | CParamKind.SCALAR:
                    value = param.dtype.value_ctype.replace(" complex", " _Complex")
                    found.append(f"{value} {param.text}")
                case _:
                    assert_never(param.kind)
        return found

    def row_declarations(
        self, body: Sequence[Code], printer: ExprPrinter, skipped: Collection[str] = ()
    ) -> list[Code]:
        """Return the pointers to rows that the text of `body` uses, in the order of the views."""
        used = identifiers(body)
        lines: list[Code] = []
        for name, view in self.views.items():
            if view.is_rows and view.name in used and name not in skipped:
                lines.append(row_declaration(view, printer))
        return lines


def allocation(printer: ExprPrinter, *arrays: Array) -> str:
    """Return the text that asks for memory for the largest of some arrays."""
    size, *others = dict.fromkeys(_bytes(array, printer) for array in arrays)
    for other in others:
        size = f"{printer.helper(Helper(HelperKind.LARGEST))}({size}, {other})"
    return f"{printer.helper(Helper(HelperKind.ALLOC))}({size})"


def _bytes(array: Array, printer: ExprPrinter) -> str:
    size = f"sizeof({array.dtype.ctype})"
    for extent in array.shape:
        name = printer.helper(Helper(HelperKind.BYTES))
        size = f"{name}({size}, {printer.text(extent)})"
    return size


def array_declaration(array: Array, name: str, printer: ExprPrinter) -> Code:
    """Return the declaration of an array that a body has to itself."""
    if not array.shape:
        return Line(f"{array.dtype.ctype} {name} = {literal(emit.storage_scope.zero(array))};")
    extents = "".join(f"[{printer.text(extent)}]" for extent in array.shape)
    return Line(f"{array.dtype.ctype} {name}{extents} __attribute__((aligned(64)));")


def row_declaration(view: View, printer: ExprPrinter) -> Code:
    """Return the declaration of an array's pointer to rows."""
    text = view.rows()
    for helper in map(Helper, _IN_EXTENTS):
        if f"{helper.name}(" in text:
            printer.helper(helper)
    return Line(f"{text};")


def identifier(edition: Edition, wish: str, taken: Collection[str]) -> str:
    """Return a C identifier like `wish` that is not in `taken`, as an edition has them."""
    choose = readable_identifier if edition.is_handed_over else c_identifier
    return choose(wish, taken)


def make_frame(fn: LoopFunction, edition: Edition = BUILT) -> Frame:
    """Choose the identifiers of `fn`."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    given = [array.name for array in thread_arrays(fn.body)]
    in_regions = {array.name for array in region_arrays(fn.body)}
    declared = [a for a in all_nodes(fn.body) if isinstance(a, DeclareArray | DeclareView)]
    scalars = [a for a in fn.signature.arguments if isinstance(a, ScalarArg) and not a.is_param]
    for name in [
        *fn.params,
        *(a.symbol for a in scalars),
        *(a.name for a in fn.arrays),
        *(node.array.name for node in declared),
        *(
            n.iter if isinstance(n, For) else n.name
            for n in all_nodes(fn.body)
            if isinstance(n, For | Declare)
        ),
    ]:
        if name not in names:
            names[name] = identifier(edition, name, taken)
            taken.add(names[name])
    if edition.is_handed_over:
        local_names(fn, names, taken)
    ranges = Ranges(params={s.param: 0 for s in fn.signature.sizes if isinstance(s, SizeOf)})
    printer = ExprPrinter({}, names, ranges, {})
    written = written_arrays(fn.body)
    params = [
        *(CParam(CParamKind.SIZE, name, DType.INT64, names[name]) for name in fn.params),
        *(CParam(CParamKind.SCALAR, a.symbol, a.dtype, names[a.symbol]) for a in scalars),
    ]
    views: dict[str, View] = {}
    for array in fn.arrays:
        strides = _stride_params(array, names[array.name], taken, edition)
        view = array_view(array, names[array.name], array.name in written, strides, printer)
        views[array.name] = view
        if array.role not in (Role.TEMP, Role.FAULT):
            params.append(
                CParam(CParamKind.ARRAY, array.name, array.dtype, view.pointer, view.written)
            )
            params += strides
    if fn.signature.library:
        params.append(CParam(CParamKind.LIBRARY, "", DType.INT64, "po_library"))
    for node in declared:
        array, name = node.array, names[node.array.name]
        if isinstance(node, DeclareView):
            steps = _step_names(node, names[node.otherwise.first.array], taken, edition)
            made = View(array, name, name, False, steps, is_local=True)
        elif array.name in given:
            made = array_view(array, name, True, [], printer)
        else:
            made = _stack_view(array, name)
        views[array.name] = made
    entry = entry_identifier(fn.name)
    used = used_arrays(fn.body)
    temporaries = [a for a in fn.arrays if a.role is Role.TEMP and a.name in used]
    gets = {n.array.name for n in all_nodes(fn.body) if isinstance(n, AllocateArray)}
    guests = {name: group[0] for group in fn.turns for name in group[1:]}
    views |= {name: views[name].inside(views[host]) for name, host in guests.items()}
    return Frame(
        entry,
        names,
        tuple(params),
        views,
        heap=(
            *(a.name for a in temporaries if a.shape and a.name not in {*gets, *guests}),
            *(name for name in given if name not in in_regions),
        ),
        late=tuple(a.name for a in temporaries if a.shape and a.name in gets),
        plain=tuple(a.name for a in temporaries if not a.shape),
        faults=tuple(a.name for a in fn.arrays if a.role is Role.FAULT and a.name in used),
        ranges=ranges,
        taken=frozenset(taken),
        rows=row_arrays(fn),
        edition=edition,
    )


def used_arrays(body: Body) -> frozenset[str]:
    """Return the arrays that a body reads or writes."""
    return written_arrays(body).union(free_names(body).arrays)


def library_type(name: str) -> str:
    """Return the declaration of the function that calls back for library functions."""
    return f"int (*{name})(int site, void *const *data, const int64_t *extents)"


def _stride_params(array: Array, name: str, taken: set[str], edition: Edition) -> list[CParam]:
    match array.layout:
        case Layout.C:
            dims = range(0)
        case Layout.ROWS:
            dims = range(len(array.shape) - 1)
        case Layout.STRIDED:
            dims = range(len(array.shape))
    found = []
    for dim in dims:
        text = identifier(edition, f"{name}_s{dim}", taken)
        taken.add(text)
        found.append(CParam(CParamKind.STRIDE, array.name, DType.INT64, text, dim=dim))
    return found


def array_view(
    array: Array, name: str, written: bool, strides: list[CParam], printer: ExprPrinter
) -> View:
    """Return the view of an array of the function."""
    if array.role is Role.TEMP and not array.shape:
        return View(array, name, name, written=True, is_plain=True)
    if has_rows(array):
        extents = tuple(extent_text(e, printer) for e in array.shape[1:])
        return View(array, name, f"po_{name}", written, extents=extents)
    texts = tuple(p.text for p in strides)
    if array.layout is Layout.ROWS:
        texts = (*texts, "1")
    return View(array, name, name, written, strides=texts)


def _step_names(node: DeclareView, name: str, taken: set[str], edition: Edition) -> tuple[str, ...]:
    """Return identifiers for the strides of a view of the array `name`, which are taken then."""
    found = []
    for dim, _ in enumerate(node.then.steps):
        found.append(identifier(edition, f"{name}_s{dim}", taken))
        taken.add(found[-1])
    return (*found, "1")


def extent_text(extent: Expr, printer: ExprPrinter) -> str:
    """Return a dimension for a pointer to rows: at least 1, as C demands of array types."""
    text = printer.text(extent)
    least = printer.ranges.least(extent)
    if least is not None and least >= 1:
        return text
    return f"{Helper(HelperKind.EXTENT).name}({text})"


def _stack_view(array: Array, name: str) -> View:
    return View(array, name, name, written=True, is_plain=not array.shape)


ENTRY_PREFIX = "polyopt_"
LONGEST = 48
"""Characters of a name before a digest stands for the rest: C tells names apart by 63."""

_COMPLEX = (
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
)

COMPLEX_NAMES = frozenset(
    [
        *("complex", "CMPLX", "CMPLXF", "I", "carg", "cpow", "cpowf", "cabs", "cabsf"),
        *(f"{name}{suffix}" for name in ("creal", "cimag", "conj") for suffix in ("", "f")),
        *(f"c{name}{suffix}" for name in _COMPLEX for suffix in ("", "f")),
    ]
)
"""Names of `complex.h` that the emitter uses."""

MATH_NAMES = (
    frozenset(f"{f.value}{suffix}" for f in MathFunc for suffix in ("", "f"))
    | {"NAN", "INFINITY", "pow", "powf", "fabs", "fabsf"}
) - COMPLEX_NAMES
"""Names of `math.h` that the emitter uses."""


def c_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Return an identifier for `name` that is not in `taken`.

    >>> c_identifier("A"), c_identifier("exp"), c_identifier("größe"), c_identifier("__LINE__")
    ('A', 'exp_', 'gr_xc3_xb6_xc3_x9fe_', 'v_LINE_')
    >>> c_identifier("I"), c_identifier("i_", {"i"}), c_identifier("i", {"i", "i_2_"})
    ('I_', 'i_2_', 'i_3_')
    """
    plain = _plain(name)
    if not plain[:1].isalpha() or plain.startswith("po_"):
        plain = f"v_{plain.lstrip('_')}".rstrip("_")
    is_letter = len(plain) == 1 and plain != "I"
    found, number = plain if is_letter else f"{plain}_", 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}_"
    return found


def readable_identifier(name: str, taken: Collection[str] = ()) -> str:
    """Return an identifier as `c_identifier`, without the underscore where no header has the name.

    >>> readable_identifier("i_tile"), readable_identifier("alpha"), readable_identifier("NI")
    ('i_tile', 'alpha', 'NI')
    >>> readable_identifier("exp"), readable_identifier("register"), readable_identifier("M_PI")
    ('exp_', 'register_', 'M_PI_')
    >>> readable_identifier("i_tile", {"i_tile"}), readable_identifier("_x")
    ('i_tile_2', 'v_x')
    """
    plain = c_identifier(name).rstrip("_")
    if _may_be_taken(plain):
        return c_identifier(name, taken)
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}"
    return found


def _may_be_taken(name: str) -> bool:
    """Tell whether C, C++ or a header that texts include may have a name: macros are capitals."""
    is_macro = name.isupper() and (len(name) > 2 or "_" in name)
    is_type = name.endswith("_t") or (name.startswith(("int", "uint")) and name[-1].isdigit())
    return is_macro or is_type or name in _WORDS or name in MATH_NAMES or name in COMPLEX_NAMES


_LISTED = """
alignas alignof alloca and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor
bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl complex
concept const const_cast consteval constexpr constinit continue decltype default delete do double
dynamic_cast else enum errno explicit export extern false far final float for fortran fpclassify
friend goto huge if imaginary import inline int interface iscanonical iseqsig isfinite isgreater
isgreaterequal isinf isless islessequal islessgreater isnan isnormal issignaling issubnormal
isunordered iszero linux long main
math_errhandling module mutable namespace near new noexcept not not_eq nullptr
operator or or_eq override pascal private protected public reflexpr register reinterpret_cast
requires restrict return short signbit signed sizeof small static static_assert static_cast stderr
stdin stdout struct switch synchronized template this thread_local throw true try typedef typeid
typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
xor_eq
abort abs aligned_alloc calloc exit fmod free frexp labs ldexp llabs madvise malloc memcpy memmove
memset mmap munmap omp_get_thread_num omp_in omp_out omp_priv realloc size_t
"""
_WORDS = frozenset(_LISTED.split())
"""Words of C and C++, macros in small letters of headers, functions that texts call."""


def entry_identifier(name: str) -> str:
    """Return the name of the function that is called from outside, also from C.

    >>> entry_identifier("jacobi"), entry_identifier("_main")
    ('polyopt_jacobi', 'polyopt_main')
    """
    return ENTRY_PREFIX + (_plain(name).lstrip("_") or "v")


def _plain(name: str) -> str:
    """Return `name` in ASCII, without underscores at its end or one after another."""
    escaped = re.sub(r"[^A-Za-z0-9_]", _escape, name)
    if len(escaped) > LONGEST:
        mark = hex_digest(name.encode(), 6)
        escaped = f"{escaped[: LONGEST - len(mark) - 1]}_{mark}"
    return re.sub(r"__+", "_", escaped).rstrip("_")


def _escape(match: re.Match[str]) -> str:
    return "".join(f"_x{byte:02x}" for byte in match.group().encode())


_NUMBERED = re.compile(r"(.*_(?:acc|v))\d*")


def local_names(fn: LoopFunction, names: dict[str, str], taken: set[str]) -> None:
    """Replace the identifiers in `names` of numbered locals, and note them in `taken`."""
    declared = Counter(n.name for n in all_nodes(fn.body) if isinstance(n, Declare))
    families = Counter(family for name in declared if (family := family_of(name)))
    chosen = {
        name for name, times in declared.items() if times == 1 and families[family_of(name)] > 1
    }
    chosen.discard("")
    taken -= {names[name] for name in chosen}
    others = frozenset(taken)
    for name, identifier in _numbered(fn.body, chosen, others, {}):
        names[name] = identifier
        taken.add(identifier)


def family_of(name: str) -> str:
    """Return the name without its number; "" if passes do not number such names."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else ""


def _numbered(
    body: Body, chosen: set[str], others: frozenset[str], outer: Mapping[str, int]
) -> Iterable[tuple[str, str]]:
    """Yield names and identifiers of what a body declares; `outer` counts families in scope."""
    counts = dict(outer)
    for node in body:
        if isinstance(node, Declare) and node.name in chosen:
            family = family_of(node.name)
            number = counts.get(family, 0)
            while (identifier := readable_identifier(f"{family}{number}")) in others:
                number += 1
            counts[family] = number + 1
            yield node.name, identifier
        for inner in () if isinstance(node, Kernel) else bodies(node):
            yield from _numbered(inner, chosen, others, counts)
