"""What a compiled kernel looks like from outside: its arguments, sizes, results and its text.

In: what the front end found out about the call, what the emitter printed.  Out: plain records; the
runtime needs nothing else.  Sizes and checks are `Expr` over `Param`; `evaluate` computes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, unique
from typing import TypeAlias

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.ir.arranging import Made, arranged, remade
from polyopt.ir.expr import Expr
from polyopt.ir.types import DType


@unique
class Layout(Enum):
    """How an array argument's elements lie in memory, as far as the emitted code relies on it."""

    C = "c"  # contiguous, last dimension fastest: no strides are passed
    ROWS = "rows"  # last dimension has stride one, the others are passed, in elements
    STRIDED = "strided"  # every stride is passed, in elements; negative and zero allowed


LARGEST_SIZE = 2**48
"""No size is larger: calls check it, so that index arithmetic stays within 64 bits."""

OUTSIDE = "PO0170"
"""The code of checks that subscripts stay inside their arrays."""

NO_AXIS = -1
"""For a dimension of length 1 that runs along no dimension of the owner."""


@dataclass(frozen=True, slots=True)
class Start:
    """The subscript at which a part begins in its owner: `value`, counted from either end.

    None: any; the call finds it (`StartOf`).
    """

    value: int | None
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Where an array argument lies in the memory of argument number `owner`.

    Its element 0 is element `starts` of the owner.  Dimension `d` runs along the owner's dimension
    `axes[d]`, `steps[d]` elements at a time.
    """

    owner: int
    starts: tuple[Start, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An array the caller passes.

    `name` is the argument's name in the user's function, `array` its name in the Scop.  `shape`
    gives each dimension as an expression over size parameters; a call with another is refused.
    An argument with a `part` has no array of its own.  `before`: the array in the Scop begins so
    many elements before the argument, in each dimension, because its parts lie around it; `around`
    is the array's shape then.  `asked`: of each dimension where the program says which length it
    has; empty where no dimension is told by others.
    """

    name: str
    array: str
    dtype: DType
    shape: tuple[Expr, ...]
    layout: Layout
    written: bool
    loc: Loc | None = None
    part: Part | None = None
    before: tuple[int, ...] = ()
    around: tuple[Expr, ...] = ()
    asked: tuple[Loc | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A number the caller passes; `symbol` names it in the Scop, a `Param` or a `Symbol`."""

    name: str
    symbol: str
    dtype: DType
    is_param: bool


@dataclass(frozen=True, slots=True)
class ConstArg:
    """An argument whose value is compiled in: an axis, a flag, None.

    `dtype` is that of a NumPy scalar.
    """

    name: str
    value: object
    dtype: DType | None = None

    @property
    def known(self) -> object:
        """The value as the caller passes it."""
        return self.value if self.dtype is None else self.dtype.numpy.type(self.value)


Argument: TypeAlias = ArrayArg | ScalarArg | ConstArg


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A size parameter: dimension `dim` of argument number `argument` (position in `arguments`)."""

    param: str
    argument: int
    dim: int


@dataclass(frozen=True, slots=True)
class IntegerOf:
    """A size parameter: the value of integer argument number `argument`."""

    param: str
    argument: int


@dataclass(frozen=True, slots=True)
class StartOf:
    """A size parameter: where argument number `argument` begins in dimension `dim` of its owner."""

    param: str
    argument: int
    dim: int


@dataclass(frozen=True, slots=True)
class Computed:
    """A size parameter computed by the call: `value` is INT64 over the other sizes."""

    param: str
    value: Expr


@dataclass(frozen=True, slots=True)
class OutputArray:
    """An array the call creates: its name in the Scop, dtype and shape over size parameters.

    `length` names a 0-d INT64 output that says how many entries of dimension `axis` are valid; the
    caller gets only these.
    """

    array: str
    dtype: DType
    shape: tuple[Expr, ...]
    length: str | None = None
    axis: int = 0


@unique
class ResultKind(Enum):
    """What a returned value is."""

    OUTPUT = "output"  # a new array
    SCALAR = "scalar"  # the element of a 0-d output array, as a NumPy scalar
    ARGUMENT = "argument"  # an array argument itself, the caller's own object


@dataclass(frozen=True, slots=True)
class Result:
    """One returned value; `array` names an `OutputArray`, or the `ArrayArg` it is."""

    kind: ResultKind
    array: str


@dataclass(frozen=True, slots=True)
class Check:
    """A condition over size parameters that must hold at a call, and the error if it does not."""

    condition: Expr
    code: str
    message: str
    loc: Loc | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Subscripts:
    """Elements of `array` that are subscripts of a dimension of `extent` elements.

    `array` is empty where they are computed.
    """

    array: str
    extent: Expr
    wraps: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """A condition found broken while the kernel ran, as the error the caller gets.

    The entry returns 2 plus the fault's number in the signature.  Written arguments hold what had
    been computed so far.  `subscripts` are those among which one is outside.
    """

    code: str
    message: str
    loc: Loc | None = None
    hint: str | None = None
    subscripts: Subscripts | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Operand:
    """Input array number `number` of a library call; `weak`: a number, passed as Python's own."""

    number: int
    weak: bool = False


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A NumPy or SciPy function that the kernel calls back into Python for.

    `function` is its full name, `numpy.linalg.solve`.  `arguments` and the values of `keywords` are
    `Operand`s, constants (None, bool, int, float, complex, str, slices) and tuples of these.
    Arrays are contiguous (C order); `inputs` and `outputs` give dtype and rank, the extents come
    with the call.  The function's result, or the tuple of its results, is copied into the outputs
    and must have their shapes.
    """

    function: str
    arguments: tuple[object, ...]
    keywords: tuple[tuple[str, object], ...]
    inputs: tuple[tuple[DType, int], ...]
    outputs: tuple[tuple[DType, int], ...]
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """How a kernel is called.

    `arguments` in the order of the user's function.  `nesting` tells how `results` are arranged
    (`polyopt.ir.arranging`): `.` for `return x`, `(.)` for `return x,`, `N` for no result; `made`
    which of its tuples stand for dicts and objects.  `faults` and `library` are what the kernel can
    run into and calls; `computed` are sizes made of `sizes` and `starts`.  `limits` are checks as
    well, over sizes and integer arguments, which need not be affine: what they ask for keeps
    arithmetic within 64 bits and tells nothing of sizes.
    """

    name: str
    arguments: tuple[Argument, ...]
    sizes: tuple[SizeOf | IntegerOf, ...]
    outputs: tuple[OutputArray, ...]
    results: tuple[Result, ...]
    nesting: str
    checks: tuple[Check, ...]
    faults: tuple[Fault, ...] = ()
    library: tuple[LibraryCall, ...] = ()
    computed: tuple[Computed, ...] = ()
    starts: tuple[StartOf, ...] = ()
    limits: tuple[Check, ...] = ()
    made: tuple[Made, ...] = ()

    def returned(self, values: Iterable[object]) -> object:
        """Return the results of a call, which are in order, as the function returns them."""
        found = arranged(self.nesting, values)
        return remade(self.nesting, self.made)(found) if self.made else found

    @property
    def returns_tuple(self) -> bool:
        """Whether a tuple or a list is returned."""
        return self.nesting[0] in "(["

    @property
    def separate(self) -> tuple[tuple[int, int], ...]:
        """The pairs of array arguments that must not share elements: one of them is written."""
        homes = {
            number: (argument.written, number if argument.part is None else argument.part.owner)
            for number, argument in enumerate(self.arguments)
            if isinstance(argument, ArrayArg)
        }
        return tuple(
            (i, j)
            for i, (first, home) in homes.items()
            for j, (second, other) in homes.items()
            if i < j and home != other and (first or second)
        )


@unique
class CParamKind(Enum):
    """What a parameter of the emitted C function carries."""

    ARRAY = "array"  # pointer to element [0, …, 0]; `name` is the array's name in the Scop
    SIZE = "size"  # int64_t; `name` is the size parameter's name
    STRIDE = "stride"  # int64_t, in elements; `name` is the array, `dim` the dimension
    SCALAR = "scalar"  # by value; `name` is the symbol's name
    LIBRARY = "library"  # int (*)(int site, void *const *data, const int64_t *extents)


@dataclass(frozen=True, slots=True)
class CParam:
    """One parameter of the emitted C function; `text` is its identifier in the C text."""

    kind: CParamKind
    name: str
    dtype: DType
    text: str
    written: bool = False
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Emitted text: a self-contained file with one entry function `int entry(params…)`.

    The entry returns 0; or 1 when memory for temporaries could not be had (nothing was written
    unless the kernel allocates on the way); or -1 when a library call failed and left a Python
    exception; or 2 + k when it ran into fault k of the signature.
    `header` declares the entry for C and C++.  `needs_math` and `openmp` choose flags;
    `contract` allows the compiler to fuse multiply and add.
    """

    language: str
    entry: str
    text: str
    header: str
    params: tuple[CParam, ...]
    signature: Signature
    openmp: bool
    contract: bool


@unique
class KernelParamKind(Enum):
    """What a parameter of a kernel on a device carries."""

    ARRAY = "array"  # pointer to element [0, …, 0]; `name` is the array's
    STRIDE = "stride"  # a 64-bit integer, in elements; `name` is the array's, `dim` the dimension
    VALUE = "value"  # the value of `value`, a size, a host loop's iterator, a scalar or a local
    FAULTS = "faults"  # pointer to one byte for each fault of the signature, set where it happened
    SCRATCH = "scratch"  # pointer to `value` elements that the launches of one kernel share
    COUNTER = "counter"  # pointer to a number of 32 bits, 0 before the launch and after it


@dataclass(frozen=True, slots=True)
class KernelParam:
    """One parameter of a kernel; `text` is its identifier in the text, BOOL takes one byte."""

    kind: KernelParamKind
    name: str
    dtype: DType
    text: str
    written: bool = False
    dim: int = 0
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """How a kernel is launched: `threads` in a row for each block of the grid (x, y, z).

    `name` is the function in the text, `kernel` the `Kernel` of the loop AST.  `grid` is INT64 over
    sizes, and over the iterators and locals of the host where the kernel stands; nothing is run if
    a dimension is 0.  `params` are arrays, 64-bit integers, other scalars, in this order.  `shared`
    are the bytes of shared memory of a block that the text itself declares, `asked` those that a
    launch has to give.
    """

    name: str
    kernel: str
    threads: int
    grid: tuple[Expr, Expr, Expr]
    params: tuple[KernelParam, ...]
    shared: int
    asked: int = 0


@dataclass(frozen=True, slots=True)
class DeviceSource:
    """Text for a device: a self-contained file with all kernels of a function.

    `flags` are for the language's compiler and part of the meaning: how products are rounded.
    """

    language: str
    text: str
    entries: tuple[KernelEntry, ...]
    flags: tuple[str, ...]

    def entry(self, kernel: str) -> KernelEntry:
        """Return the last entry of the loop AST's kernel with that name."""
        return self.launches(kernel)[-1]

    def launches(self, kernel: str) -> tuple[KernelEntry, ...]:
        """Return the entries that together are a kernel of the loop AST, in order."""
        return tuple(entry for entry in self.entries if entry.kernel == kernel)
