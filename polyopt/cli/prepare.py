"""From a command line to a Program and its compilation: what the commands share.

In: a target, `--types`, options.  Out: `Prepared`, and the option decorators of the commands.
Refuses: an argument whose value decides the code and that has no default (PO0611).
The text of `--types`: `f64[:,:],f32[:],i64,f64,=3`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from polyopt.cli.load import Target, load_target
from polyopt.dataclass import dataclass, replace
from polyopt.errors import UsageError
from polyopt.frontend.syntax.annotations import ArgType, ArrayType, ConstType, ScalarType
from polyopt.frontend.syntax.type_inference import require_declared
from polyopt.ir.source import Layout
from polyopt.ir.target import TARGETS
from polyopt.ir.types import DType
from polyopt.offered import target_named
from polyopt.schedulefile import FUSED, parse_setting, text_or_file, with_sizes
from polyopt.settings import duration

if TYPE_CHECKING:
    from polyopt.ir.program import Program
    from polyopt.pipeline import Compilation
    from polyopt.targets import Options


_F = TypeVar("_F", bound=Callable[..., Any])
_OPTIONS = "polyopt.options"  # where a command's context keeps those of `compile_options`
_COMPILING = ("fp", "threads", "schedule", "budget", "memory", "device")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A target with the types its Program was built for, and how long that took."""

    target: Target
    types: tuple[ArgType, ...]
    program: Program
    seconds: float


def prepare(text: str, types: str | None, sizes: Mapping[str, int]) -> Prepared:
    """Load a target and build its Program; `sizes` may give values of integer arguments."""
    return prepare_target(load_target(text), types, sizes)


def prepare_target(target: Target, types: str | None, sizes: Mapping[str, int]) -> Prepared:
    """Build the Program of a loaded target."""
    from polyopt.frontend.syntax.type_inference import infer_types

    found = parse_types(types, target.func) if types is not None else infer_types(target.func)
    return build_program(target, found, sizes)


def build_program(target: Target, types: tuple[ArgType, ...], sizes: Mapping[str, int]) -> Prepared:
    """Build the Program; arguments whose value must be known get it from `sizes` or a default.

    Where the options compile sizes in, arrays get their extents likewise.
    """
    from polyopt.targets import seconds_to_compile

    options = make_options(target.kernel)
    found = _built(target, types, sizes, seconds_to_compile(options))
    if not options.fixed_sizes:
        return found
    fixed = _with_extents(found, sizes)
    again = _built(target, fixed, sizes, seconds_to_compile(options))
    return replace(again, seconds=found.seconds + again.seconds)


def _with_extents(found: Prepared, sizes: Mapping[str, int]) -> tuple[ArgType, ...]:
    """Return the types with the extents that a call of these sizes has."""
    from polyopt.frontend.syntax.annotations import ArrayType
    from polyopt.ir.integers import evaluate
    from polyopt.ir.source import ArrayArg
    from polyopt.sizing import choose_sizes

    signature = found.program.signature
    values = choose_sizes(signature, found.target.func, sizes)
    shapes = {
        argument.name: tuple(evaluate(extent, values) for extent in argument.shape)
        for argument in signature.arguments
        if isinstance(argument, ArrayArg)
    }
    names = inspect.signature(found.target.func).parameters
    return tuple(
        replace(kind, extents=shapes[name])
        if isinstance(kind, ArrayType) and name in shapes
        else kind
        for name, kind in zip(names, found.types, strict=True)
    )


def _built(
    target: Target, types: tuple[ArgType, ...], sizes: Mapping[str, int], seconds: float
) -> Prepared:
    from polyopt.frontend import build
    from polyopt.frontend.syntax.annotations import ConstType, NeedConstant
    from polyopt.ir.budget import Budget

    names = list(inspect.signature(target.func).parameters)
    while True:
        try:
            started = time.perf_counter()
            with Budget(seconds).running() as budget, budget.share("frontend"):
                program = build(target.func, types)
            return Prepared(target, types, program, time.perf_counter() - started)
        except NeedConstant as need:
            position = names.index(need.argument)
            if isinstance(types[position], ConstType):
                raise
            value = ConstType(_constant(target, need.argument, sizes))
            types = (*types[:position], value, *types[position + 1 :])


def _constant(target: Target, name: str, sizes: Mapping[str, int]) -> object:
    from polyopt.frontend.syntax.type_inference import argument_loc

    if name in sizes:
        return sizes[name]
    default = inspect.signature(target.func).parameters[name].default
    if default is not inspect.Parameter.empty:
        return default
    raise UsageError(
        "PO0611",
        f"the value of `{name}` decides the code and must be known",
        loc=argument_loc(target.func, name),
        hint=f"give it with --sizes {name}=VALUE, or as a constant `=VALUE` in --types",
    )


def make_options(kernel: object = None, **given: Any) -> Options:  # noqa: ANN401
    """Return the options of the command line, and `given`; others are the decorated kernel's."""
    from polyopt.targets import Options

    base = getattr(kernel, "options", None)
    known = base if isinstance(base, Options) else Options()
    values = {name: v for name, v in {**_asked(), **given}.items() if v is not None}
    schedule = values.pop("schedule", known.schedule)  # a text, which names no file
    return replace(known.changed(values), schedule=schedule)


def is_scheduled() -> bool:
    """Tell whether the command line gives a schedule."""
    return _asked().get("schedule") is not None


def _asked() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.meta.get(_OPTIONS, {})
    return found


def schedule_text(value: str | None, settings: tuple[str, ...] = ()) -> str | None:
    """Return the text of `--schedule`: a file's contents, or the value itself.

    `settings` (`T=32`) are values for the sizes that it names.
    """
    if value is None and settings:
        raise UsageError(
            "PO0601", "--set gives sizes of a schedule, and no --schedule is given",
            hint='name the schedule: --schedule "tile(L0, T, T)" --set T=32',
        )  # fmt: skip
    if value is None:
        return None
    try:
        text = text_or_file(value)
    except UsageError:
        raise UsageError(
            "PO0601",
            f"--schedule: there is no file `{value}`, and it is not a schedule",
            hint='write a file name or steps: --schedule "tile(L0, 32, 32); parallelize(i)"',
        ) from None
    return with_sizes(text, dict(map(parse_setting, settings)))


def compile_prepared(prepared: Prepared, options: Options) -> Compilation:
    """Schedule, lower and emit, by what tuning found if it did; needs no C compiler."""
    from polyopt.pipeline import compile_program
    from polyopt.targets import detect_machine
    from polyopt.tuning.kept import as_tuned

    def compiled(options: Options) -> Compilation:
        return compile_program(prepared.program, options, detect_machine())

    return as_tuned(prepared.target.func, prepared.types, options, {}, compiled)


def target_argument(command: _F) -> _F:
    """`FILE.py:FUNC`."""
    return click.argument("target", metavar="FILE.py:FUNC")(command)


def json_option(command: _F) -> _F:
    """`--json`."""
    decorate = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    return decorate(command)


def types_option(command: _F) -> _F:
    """`--types`."""
    return click.option(
        "--types",
        metavar="TYPES",
        help='Types of the arguments, such as "f64[:,:],i64,=2"; told from the function otherwise.',
    )(command)


def sizes_option(command: _F) -> _F:
    """`--sizes`."""
    return click.option(
        "--sizes", metavar="N=100,A=50x60", help="Sizes of loops and shapes of arrays."
    )(command)


def values_options(command: _F) -> _F:
    """`--npz` and `--seed`."""
    stored = click.option(
        "--npz",
        metavar="FILE",
        help="Take the arguments from an .npz file, by name, or the only one from an .npy file.",
    )
    seed = click.option("--seed", type=int, default=0, help="Seed of the random values.  [0]")
    return stored(seed(command))


def target_and_values(
    text: str, types: str | None, sizes: str | None, npz: str | None, seed: int
) -> tuple[Target, tuple[Any, ...]]:
    """Load `FILE.py:FUNC`; return it with stored or random values of its arguments."""
    from polyopt.cli.inputs import random_values, stored_values
    from polyopt.sizing import choose_sizes

    if npz is not None:
        target = load_target(text)
        return target, stored_values(target.func, Path(npz))
    given = parse_sizes(sizes)
    prepared = prepare(text, types, given)
    signature = prepared.program.signature
    chosen = choose_sizes(signature, prepared.target.func, given)
    return prepared.target, random_values(signature, chosen, seed)


def schedule_options(command: _F) -> _F:
    """`--schedule` and `--set`; the command gets the text that they make, as `schedule`."""

    @functools.wraps(command)
    def read(*args: Any, schedule: str | None, settings: tuple[str, ...], **kwargs: Any) -> Any:  # noqa: ANN401
        return command(*args, schedule=schedule_text(schedule, settings), **kwargs)

    text = click.option(
        "--schedule", metavar="TEXT|FILE", help='Steps, a file of steps, or "source".'
    )
    value = click.option(
        "--set", "settings", metavar="T=32", multiple=True, help="Give a size of the schedule."
    )
    return text(value(cast(_F, read)))


def _fuse_option(command: _F) -> _F:
    """`--fuse all`, which stands for a schedule."""

    @functools.wraps(command)
    def read(*args: Any, schedule: str | None, fuse: str | None, **kwargs: Any) -> Any:  # noqa: ANN401
        if fuse is not None and schedule is not None:
            raise UsageError("PO0249", "--fuse and --schedule are both given", hint="leave one out")
        return command(*args, schedule=schedule if fuse is None else FUSED, **kwargs)

    return click.option(
        "--fuse", type=click.Choice(["all"]), help="Recompute temporaries where they are read."
    )(cast(_F, read))


def _number_or_text(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # not generic before click 8.2


class Seconds(click.FloatRange):
    """A range of seconds, given as a number, or as `60s`, `2min`."""

    name = "number of seconds such as 90, 60s or 2min"

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        found = duration(value) if isinstance(value, str) else value
        return super().convert(value if found is None else found, param, ctx)


class _Language(_Choice):
    """A choice of polyopt's targets, or of one that an installed package offers."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if target_named(value) else super().convert(value, param, ctx)


def compile_options(command: _F) -> _F:
    """`--fuse`, `--schedule`, `--set`, `--fp`, `--threads`, `--target`, `--device`, `--budget`,
    `--memory`: `make_options` knows them, the command does not get them.
    """

    @functools.wraps(command)
    def read(*args: Any, language: str | None, **kwargs: Any) -> Any:  # noqa: ANN401
        given = {name: kwargs.pop(name) for name in _COMPILING}
        click.get_current_context().meta[_OPTIONS] = {**given, "target": language}
        return command(*args, **kwargs)

    decorated = cast(_F, read)
    for decorate in (
        click.option(
            "--budget",
            type=Seconds(0.1, 86_400),
            metavar="SECONDS",
            help="What compiling may take; 60 otherwise.",
        ),
        click.option(
            "--memory",
            type=_number_or_text,
            metavar="BYTES",
            help="What temporaries may take at once, such as 64MB; sizes are fixed then.",
        ),
        click.option(
            "--target",
            "language",
            type=_Language(list(TARGETS)),
            help="Language to emit; c otherwise.",
        ),
        click.option(
            "--device",
            type=_number_or_text,
            metavar="NUMBER|NAME",
            help="Device of the target; `emulated` runs and checks CUDA without one.",
        ),
        click.option("--threads", type=click.IntRange(min=1), help="Threads; all cores otherwise."),
        click.option(
            "--fp",
            type=click.Choice(["strict", "reassociate", "fast"]),
            help="How far results may differ from the source's order of operations.",
        ),
        schedule_options,
        _fuse_option,
    ):
        decorated = decorate(decorated)
    return decorated


_DTYPES = {d.short_name: d for d in DType} | {d.value: d for d in DType}
_EXAMPLE = 'for example --types "f64[:,:],i64,=2": a matrix, a size, the constant 2'


def parse_types(text: str, func: Callable[..., Any]) -> tuple[ArgType, ...]:
    """Return the types in `text`, one for each argument of `func`."""
    items = _items(text)
    names = list(inspect.signature(func).parameters)
    if len(items) != len(names):
        count = f"{len(items)} type{'s' * (len(items) != 1)}"
        raise UsageError(
            "PO0608",
            f"--types gives {count}, `{func.__name__}` has {len(names)} arguments: "
            f"{', '.join(names)}",
            hint=_EXAMPLE,
        )
    found = tuple(_parse(item.strip()) for item in items)
    require_declared(func, names, found)
    return found


def _items(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    items, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    last = text[start:]
    return [*items, last] if last.strip() or items else []


def _parse(item: str) -> ArgType:
    if item.startswith("="):
        return ConstType(_literal(item))
    name, bracket, rest = item.partition("[")
    dtype = _DTYPES.get(name.strip())
    if dtype is None:
        known = ", ".join(dtype.short_name for dtype in DType)
        raise UsageError(
            "PO0608",
            f"--types: `{item}` has no known element type",
            notes=(f"element types: {known}",),
            hint=_EXAMPLE,
        )
    if not bracket:
        return ScalarType(dtype)
    dims = [dim.strip() for dim in rest[:-1].split(",")]
    is_dim = [dim in (":", "1") or dim.isidentifier() for dim in dims]
    if not rest.endswith("]") or not all(is_dim):
        raise UsageError(
            "PO0608",
            f"--types: `{item}` is not an array type",
            hint="write one `:` per dimension, or `1` where the size is known to be 1: f64[:,1]",
        )
    return ArrayType(dtype, len(dims), Layout.C, tuple(dim == "1" for dim in dims))


def _literal(item: str) -> object:
    try:
        return ast.literal_eval(item[1:].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(
            "PO0608",
            f"--types: `{item}` is not a constant",
            hint="write a literal: =2, =True, =None",
        ) from None


def parse_sizes(text: str | None) -> dict[str, int]:
    """Return the sizes in `N=100,A=50x60`; `A=50x60` gives `A[0]` and `A[1]`.  Raises PO0609."""
    sizes: dict[str, int] = {}
    for item in (text or "").split(","):
        if not item.strip():
            continue
        name, equals, value = (part.strip() for part in item.partition("="))
        extents = value.split("x")
        if not equals or not name.isidentifier() or not all(map(_is_number, extents)):
            raise UsageError(
                "PO0609",
                f"--sizes: `{item.strip()}` is not a size",
                hint="write N=100 for a size, A=50x60 for the shape of an array",
            )
        if any(int(extent) < 0 for extent in extents):
            raise UsageError(
                "PO0609", f"--sizes: `{name}` is negative", hint=f"write {name}=0 or more"
            )
        if len(extents) == 1:
            sizes[name] = int(value)
        else:
            sizes |= {f"{name}[{d}]": int(extent) for d, extent in enumerate(extents)}
    return sizes


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19
