"""Print tiles of products as matrix instructions: fragments loaded from shared arrays, then PTX.

In: a `MatrixTile`, a printer that knows the threads' coordinates.  Out: pieces of C; the helpers
that they call.  With g = lane / 4 and t = lane % 4 a lane has, of 16 rows by 8 columns, the results
(g, 2 t), (g, 2 t + 1) and those 8 rows below; of the factors, rows g and columns g.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Code, Compound, Line, Pragma
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.ir.array import Array
from polyopt.ir.expr import Const, Expr, Iter, Load, add, integer, mul, substitute
from polyopt.ir.linear import linear, normalize
from polyopt.ir.matrix import COLUMNS, DEPTHS, PAIR, ROWS, MatrixTile, Operand, trips
from polyopt.ir.types import DType

MOST_UNROLLED = 8
"""Steps along the terms that are unrolled."""
_NAMES = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16", DType.FLOAT32: "tf32"}


@dataclass(frozen=True, slots=True)
class TilePrinter:
    """Prints one tile; `printer` prints the iterators of the loops across threads."""

    tile: MatrixTile
    printer: KernelPrinter
    declarations: KernelDeclarations
    scope: frozenset[str]

    def lines(self) -> list[Code]:
        """Return the statements that all lanes of all warps run."""
        tile = self.tile
        left = self.declarations.local("left", self.scope)
        right = self.declarations.local("right", self.scope | {left})
        step, row, column = (loop.iter for loop in (tile.depth, tile.rows, tile.columns))
        depth, count = DEPTHS[tile.dtype], trips(tile.depth)
        rows, columns = trips(tile.rows) // 2, trips(tile.columns)
        one = self.counting(step, count - depth).counting(row, rows - 1)
        two = self.counting(step, count - depth)
        both = one.counting(column, columns - 1)
        products = both.products(row, column, left, right)
        body = [
            Line(f"unsigned {left}[{rows}][4], {right}[{columns}][2];"),
            *self.unrolled(row, rows, one.left_parts(step, row, left)),
            *two.right_parts(step, column, columns, right),
            *self.unrolled(row, rows, self.unrolled(column, columns, products)),
        ]
        name = self.name(step)
        head = f"for (int {name} = 0; {name} < {count}; {name} += {depth})"
        pragma = [Pragma("unroll")] if count // depth <= MOST_UNROLLED else []
        return [*pragma, Compound(head, body)]

    def name(self, iterator: str) -> str:
        """Return an iterator's name in the text."""
        return self.printer.names.get(iterator, iterator)

    def unrolled(self, iterator: str, count: int, body: list[Code]) -> list[Code]:
        """Return a loop from 0 that is unrolled."""
        name = self.name(iterator)
        head = f"for (int {name} = 0; {name} < {count}; {name}++)"
        return [Pragma("unroll"), Compound(head, body)]

    @property
    def width(self) -> int:
        """The number of factors in a register."""
        return 4 // self.tile.dtype.size

    def counting(self, name: str, most: int) -> TilePrinter:
        """Return the printer inside a loop over `name`."""
        return replace(self, printer=self.printer.with_int(name, 0, most))

    def left_parts(self, step: str, row: str, name: str) -> list[Code]:
        """Return what loads a fragment of left factors: rows g and g + 8, then further terms."""
        turned = self.turned(self.tile.left)
        if turned is not None:
            moved: dict[str, Expr] = {self.tile.rows.iter: mul(integer(2), Iter(row))}
            targets = [f"{name}[{self.name(row)}][{part}]" for part in range(4)]
            sides = ("% 8", "/ 8 % 2", "/ 16 % 2") if turned else ("% 16", "", "/ 16 % 2")
            return [self.matrices(targets, self.tile.left, moved, step, turned, sides)]
        lines: list[Code] = []
        for part in range(4):
            rows = add(mul(integer(2), Iter(row)), integer(part % 2))
            target = f"{name}[{self.name(row)}][{part}]"
            moved = {self.tile.rows.iter: rows}
            lines.append(self.load(target, self.tile.left, moved, step, part // 2))
        return lines

    def right_parts(self, step: str, column: str, count: int, name: str) -> list[Code]:
        """Return what loads `count` fragments of right factors: column g, then further terms."""
        turned = self.turned(self.tile.right)
        at_once = 2 if turned is not None and count % 2 == 0 else 1
        place = mul(integer(at_once), Iter(column))
        inner = self.counting(column, count // at_once - 1)
        moved: dict[str, Expr] = {
            self.tile.columns.iter: place,
            self.tile.threads[-1].iter: integer(0),
            self.tile.pair.iter: integer(0),
        }
        targets = [
            f"{name}[{inner.printer.text(normalize(add(place, integer(n))))}][{part}]"
            for n in range(at_once)
            for part in range(2)
        ]
        if turned is None:
            lines = [
                inner.load(target, self.tile.right, moved, step, part)
                for part, target in enumerate(targets)
            ]
        else:
            sides = ("% 16", "/ 16 % 2", "") if turned else ("% 8", "/ 16 % 2", "/ 8 % 2")
            lines = [inner.matrices(targets, self.tile.right, moved, step, turned, sides)]
        return self.unrolled(column, count // at_once, lines)

    def turned(self, operand: Operand) -> bool | None:
        """Tell whether 8 by 8 factors lie turned; None where their rows are not 16 bytes."""
        array = self.printer.places[operand.load.array].array
        return is_transposed(self.tile, operand.load, operand, array)

    def matrices(
        self,
        targets: list[str],
        operand: Operand,
        moved: dict[str, Expr],
        step: str,
        turned: bool,
        sides: tuple[str, str, str],
    ) -> Code:
        """Return what loads 8 by 8 factors to each target: every lane says where one row begins.

        `sides` are functions of the lane: the row inside 8 by 8, or of two; which 8 along results,
        and along terms.
        """
        self.declarations.group()
        printer = self.printer
        inside, along, deep = (
            Iter(self.declarations.coordinate(f"{self.declarations.thread} {side}", n, size))
            if side
            else None
            for n, (side, size) in enumerate(zip(sides, (16, 2, 2), strict=True))
        )
        for lane, most in ((inside, 15), (along, 1), (deep, 1)):
            if lane is not None:
                printer = printer.with_int(lane.name, 0, most)
        assert inside is not None
        row = _blocks(along)
        term = add(Iter(step), _blocks(deep))
        if turned:  # rows in memory are terms
            term = add(term, inside)
        else:
            row = add(row, inside)
        zero: dict[str, Expr] = {loop.iter: integer(0) for loop in self.tile.threads[-2:]}
        index = []
        for position, part in enumerate(operand.load.index):
            if position == operand.depth:
                part = substitute(part, {self.tile.depth.iter: term})
            elif position == operand.row:
                part = add(substitute(part, {**zero, **moved}), row)
            index.append(normalize(part))
        place = printer.element(operand.load.array, tuple(index))
        name = f"po_ldmatrix_x{len(targets)}{'_trans' if turned else ''}"
        return Line(f"{name}({', '.join(targets)}, &{place});")

    def load(
        self, target: str, operand: Operand, moved: dict[str, Expr], step: str, part: int
    ) -> Code:
        """Return what fills a register with a lane's factors number `part` along the terms."""
        lane = mul(integer(self.width), Iter(self.tile.threads[-1].iter))
        first = add(Iter(step), add(lane, integer(part * self.width * COLUMNS)))
        texts = [self.element(operand, moved, add(first, integer(n))) for n in range(self.width)]
        if self.tile.dtype is DType.FLOAT32:
            return Line(f"{target} = po_tf32({texts[0]});")
        if is_pair(operand.load, operand, self.printer.places[operand.load.array].array):
            return Line(f"{target} = *(const unsigned *)&{texts[0]};")
        return Line(f"{target} = {texts[0]} | (unsigned){texts[1]} << 16;")

    def element(self, operand: Operand, moved: dict[str, Expr], term: Expr) -> str:
        """Return the text of a factor; a right one is in the column that the lane's row says."""
        index = []
        for position, part in enumerate(operand.load.index):
            if position == operand.depth:
                part = substitute(part, {self.tile.depth.iter: term})
            elif position == operand.row:
                part = substitute(part, moved)
                if operand is self.tile.right:
                    part = add(part, Iter(self.tile.threads[-2].iter))
            index.append(normalize(part))
        return self.printer.element(operand.load.array, tuple(index))

    def products(self, row: str, column: str, left: str, right: str) -> list[Code]:
        """Return what adds the products of two fragments."""
        dtype = self.tile.dtype
        name = f"po_mma_m16n8k{DEPTHS[dtype]}_{_NAMES[dtype]}"
        results = []
        for below in range(2):
            for pair in range(PAIR):
                values: dict[str, Expr] = {
                    self.tile.rows.iter: add(mul(integer(2), Iter(row)), integer(below)),
                    self.tile.columns.iter: Iter(column),
                    self.tile.pair.iter: integer(pair),
                }
                results.append(self.result(self.tile.target, values))
        factors = f"{left}[{self.name(row)}], {right}[{self.name(column)}]"
        return [Line(f"{name}({', '.join(results)}, {factors});")]

    def result(self, target: Load, values: dict[str, Expr]) -> str:
        index = tuple(normalize(substitute(part, values)) for part in target.index)
        return self.printer.element(target.array, index)


def is_transposed(tile: MatrixTile, load: Load, operand: Operand, array: Array) -> bool | None:
    """Tell whether 8 by 8 factors are transposed in `array`; None if rows are not of 16 bytes."""
    last = len(load.index) - 1
    if array.dtype.size != 2 or last not in (operand.row, operand.depth):
        return None
    value = linear(load.index[last])
    own = {loop.iter for loop in tile.loops} - {loop.iter for loop in tile.threads[:-2]}
    kept = [f for a, f in value.terms if not (isinstance(a, Iter) and a.name in own)]
    kept += [] if array.turn is None else [array.turn.group]
    pitch = array.shape[-1].value if isinstance(array.shape[-1], Const) else 1
    if any(int(n.real) % ROWS for n in (pitch, value.constant, *kept)):
        return None
    return last == operand.row


def is_pair(load: Load, operand: Operand, array: Array) -> bool:
    """Tell whether two neighbouring terms lie in one aligned word."""
    extent, turn = array.shape[-1], array.turn
    whole = isinstance(extent, Const) and int(extent.value.real) % PAIR == 0
    whole = whole and (turn is None or turn.group % PAIR == 0)
    even = linear(load.index[operand.depth]).constant % PAIR == 0
    return whole and even and operand.depth == len(load.index) - 1


def _blocks(lane: Iter | None) -> Expr:
    return integer(0) if lane is None else mul(integer(ROWS), lane)


# -- helpers


def _ldmatrix(count: int, is_turned: bool) -> tuple[str, ...]:
    """Return the function that loads so many 8 by 8 numbers of 16 bits into the lanes of a warp."""
    results = ", ".join(f"unsigned &r{n}" for n in range(count))
    places = ", ".join(f"%{n}" for n in range(count))
    outputs = ", ".join(f'"=r"(r{n})' for n in range(count))
    name = f"po_ldmatrix_x{count}{'_trans' if is_turned else ''}"
    kind = f"x{count}{'.trans' if is_turned else ''}"
    return (
        "#ifndef PO_EMULATED",
        f"static __device__ inline void {name}({results},",
        "    const void *row)",
        "{",
        f'    asm volatile("ldmatrix.sync.aligned.m8n8.{kind}.shared.b16 "',
        f'        "{{{places}}}, [%{count}];"',
        f"        : {outputs}",
        '        : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");',
        "}",
        "#endif",
    )


def _mma(depth: int, kind: str, emulation: tuple[str, ...]) -> tuple[str, ...]:
    """Return the function that adds the products of two fragments to four results."""
    places = "{%0, %1, %2, %3}"
    inputs = (
        ", ".join(f'"r"(a[{n}])' for n in range(4))
        + ", "
        + ", ".join(f'"r"(b[{n}])' for n in range(2))
    )
    return (
        "#ifndef PO_EMULATED",
        f"static __device__ inline void po_mma_m16n8k{depth}_{kind}(float &d0, float &d1,",
        "    float &d2, float &d3, const unsigned (&a)[4], const unsigned (&b)[2])",
        "{",
        "#if __CUDA_ARCH__ >= 800",
        f'    asm volatile("mma.sync.aligned.m16n8k{depth}.row.col.f32.{kind}.{kind}.f32 "',
        f'        "{places}, {{%4, %5, %6, %7}}, {{%8, %9}}, {places};"',
        '        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)',
        f"        : {inputs});",
        "#else",
        *(f"    {line}" for line in emulation),
        "#endif",
        "}",
        "#endif",
    )


def _by_shuffles(width: int, value: str) -> tuple[str, ...]:
    """Return the products by what lanes pass on: for devices without the instruction.

    `value` makes number `e` of a register's bits a float.
    """
    return (
        "const int lane = (int)threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 8;",
        "#pragma unroll",
        "for (int q = 0; q < 2; q++)",
        "    #pragma unroll",
        "    for (int t = 0; t < 4; t++) {",
        "        const unsigned upper = __shfl_sync(0xffffffffu, a[2 * q], row + t);",
        "        const unsigned lower = __shfl_sync(0xffffffffu, a[2 * q + 1], row + t);",
        "        const unsigned left = __shfl_sync(0xffffffffu, b[q], column + t);",
        "        const unsigned right = __shfl_sync(0xffffffffu, b[q], column + 4 + t);",
        "        #pragma unroll",
        f"        for (int e = 0; e < {width}; e++) {{",
        *(
            f"            {result} += {value.format(one)} * {value.format(two)};"
            for result, one, two in (
                ("d0", "upper", "left"),
                ("d1", "upper", "right"),
                ("d2", "lower", "left"),
                ("d3", "lower", "right"),
            )
        ),
        "        }",
        "    }",
    )


_HALF_VALUE = (
    "#if !defined(PO_EMULATED) && __CUDA_ARCH__ < 800",
    "static __device__ inline float po_half_value(unsigned bits)",
    "{",
    "    float value;",
    '    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));',
    "    return value;",
    "}",
    "#endif",
)
MATRIX_HELPERS: Mapping[str, Sequence[str]] = {
    "po_ldmatrix_x2": _ldmatrix(2, False),
    "po_ldmatrix_x2_trans": _ldmatrix(2, True),
    "po_ldmatrix_x4": _ldmatrix(4, False),
    "po_ldmatrix_x4_trans": _ldmatrix(4, True),
    "po_tf32": (
        "#ifndef PO_EMULATED",
        "static __device__ inline unsigned po_tf32(float x)",
        "{",
        "#if __CUDA_ARCH__ >= 800",
        "    unsigned bits;",
        '    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));',
        "    return bits;",
        "#else",
        "    const unsigned bits = __float_as_uint(x);",
        "    const bool is_number = (bits & 0x7f800000u) != 0x7f800000u;",
        "    return is_number ? (bits + 0x1000u) & 0xffffe000u : bits;",
        "#endif",
        "}",
        "#endif",
    ),
    "po_mma_m16n8k8_tf32": _mma(8, "tf32", _by_shuffles(1, "__uint_as_float({})")),
    "po_mma_m16n8k16_f16": (
        *_HALF_VALUE,
        *_mma(16, "f16", _by_shuffles(2, "po_half_value({} >> 16 * e)")),
    ),
    "po_mma_m16n8k16_bf16": _mma(
        16, "bf16", _by_shuffles(2, "__uint_as_float({} >> 16 * e << 16)")
    ),
}
"""CUDA functions by name, for texts that use them."""
