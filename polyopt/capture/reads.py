"""What the front end reads outside of a function's text, recorded as it is read.

In: a function; names and attributes that are asked for.  Out: their values; `Read`s, each a path
from the function and the text of what it found there.  `resolve` follows the paths again, in this
process or another one, without a front end.
Two captured values share a text only if code cannot differ.
"""

from __future__ import annotations

import builtins
import json
import struct
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, unique

import numpy as np

from polyopt.capture.text import FunctionText, NoText, text_of, verified_text
from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest


@unique
class Step(Enum):
    """How one value leads to another."""

    NAME = "name"  # what a name means in a function: a free variable, a global or a builtin
    ATTRIBUTE = "attribute"  # of a module or a class
    INNER = "inner"  # the function inside a kernel or `np.vectorize`
    ITEM = "item"  # of a tuple or list, or of a dict by a text
    DEFAULT = "default"  # of a parameter
    TEXT = "text"  # a function's own text, code and defaults


Path = tuple[tuple[Step, str], ...]
_DEEPEST = 40  # steps: a list may contain itself


@dataclass(frozen=True, slots=True)
class Read:
    """What was found at the end of a path; `text` is None for a value without one."""

    path: Path
    text: str | None

    def __str__(self) -> str:
        return shown(self.path)


def shown(path: Path) -> str:
    """Return a path for people: `consts.scale`."""
    names = [name for step, name in path if step in (Step.NAME, Step.ATTRIBUTE)]
    return ".".join(names) or "the function's text"


def plain_function(value: object) -> object:
    """Return the Python function inside a kernel object, or `value`."""
    inner = getattr(value, "py_func", None)
    return value if inner is None else inner


class _Walk:
    """Values by their paths; functions and modules that two paths lead to have one of them."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._values: dict[Path, object] = {}
        self._paths: dict[int, Path] = {}
        self._register(plain_function(function), ())

    def _text(self, path: Path, value: object) -> str | None:
        """Return the text of a value, and which functions and modules in it were met before."""
        text = value_text(value)
        same = [shown(other) for other in self._register(value, path)]
        return text if text is None or not same else f"{text} as {same}"

    def _function_text(
        self, path: Path, function: types.FunctionType, found: FunctionText
    ) -> str | None:
        self._values[path] = function
        defaults = [
            (name, self._text((*path[:-1], (Step.DEFAULT, name)), default))
            for name, default in _defaults(function)
        ]
        if any(text is None for _, text in defaults):
            return None
        notes = [(name, repr(note)) for name, note in annotations_of(function).items()]
        plain = [note for note in notes if " at 0x" not in note[1]]
        return json.dumps([own_text(function), found.whole, defaults, plain])

    def _register(self, value: object, path: Path) -> list[Path]:
        """Remember the way to a value; return where functions and modules in it were met before."""
        self._values[path] = value
        known: list[Path] = []
        is_class = isinstance(value, type) and not is_known(value.__module__)
        if is_class or isinstance(value, types.FunctionType | types.ModuleType):
            before = self._paths.setdefault(id(value), path)
            known += [] if before == path else [before]
        inner = _inner(value)
        if inner is not None:
            known += self._register(inner, (*path, (Step.INNER, "")))
        if isinstance(value, tuple | list) and len(path) < _DEEPEST:
            for number, part in enumerate(value):
                known += self._register(part, (*path, (Step.ITEM, str(number))))
        if isinstance(value, dict) and len(path) < _DEEPEST:
            for name in filter(_is_text, value):
                known += self._register(value[name], (*path, (Step.ITEM, name)))
        return known


class Recording(_Walk):
    """Gives what the names of a function and of its helpers stand for, and remembers it.

    The same path gives the same value as long as the recording is used.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._texts: dict[Path, str | None] = {}
        self._complete = True

    @property
    def reads(self) -> tuple[Read, ...]:
        """All that was read, in order; with an empty path where something has none."""
        found = tuple(Read(path, text) for path, text in self._texts.items())
        return found if self._complete else (*found, Read((), None))

    def text(self, function: types.FunctionType) -> FunctionText:
        """Return the verified text of a function; raises `NoText`, `Changed`."""
        found = verified_text(function)
        before = self._paths.get(id(function))
        if before is None:
            self._complete = self._complete and is_known(function.__module__)
            return found
        path = (*before, (Step.TEXT, ""))
        if path not in self._texts:
            self._texts[path] = self._function_text(path, function, found)
        return found

    def scope(self, function: types.FunctionType) -> Scope:
        """Return what the names that `function` does not bind stand for; builtins are not in it."""
        return Scope(self, function)

    def name(self, function: types.FunctionType, name: str) -> object:
        """Return what a name means in a function, `ABSENT` where it means no global."""
        found = self._step(function, Step.NAME, name)
        is_builtin = found is getattr(builtins, name, None) and name not in function.__globals__
        return ABSENT if is_builtin else found

    def attribute(self, owner: types.ModuleType | type, name: str) -> object:
        """Return the attribute of a module or a class; raises AttributeError."""
        found = self._step(owner, Step.ATTRIBUTE, name)
        if found is ABSENT:
            raise AttributeError(name)
        return found

    def _step(
        self, owner: types.FunctionType | types.ModuleType | type, step: Step, name: str
    ) -> object:
        before = self._paths.get(id(owner))
        if before is None:
            home = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
            self._complete = self._complete and is_known(home)
            return _follow(owner, step, name)
        path = (*before, (step, name))
        if path not in self._texts:
            self._texts[path] = self._text(path, _follow(owner, step, name))
        return self._values[path]


class Scope(Mapping[str, object]):
    """The names a function sees; what is asked for is recorded."""

    def __init__(self, recording: Recording, function: types.FunctionType) -> None:
        self._recording = recording
        self._function = function

    def __getitem__(self, name: str) -> object:
        found = self._recording.name(self._function, name)
        if found is ABSENT:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        free = self._function.__code__.co_freevars
        return iter(dict.fromkeys((*free, *self._function.__globals__)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def attribute(self, owner: types.ModuleType, name: str) -> object:
        """Return the attribute of a module; raises AttributeError."""
        return self._recording.attribute(owner, name)


# -- following paths --------------------------------------------------------------------------


def cell_of(function: types.FunctionType, name: str) -> types.CellType | None:
    """Return the cell of a free variable."""
    code = function.__code__
    if name not in code.co_freevars:
        return None
    cells: tuple[types.CellType, ...] = function.__closure__ or ()
    return cells[code.co_freevars.index(name)]


def _follow(owner: object, step: Step, name: str) -> object:
    """Return where a step leads, `ABSENT` where it leads nowhere."""
    match step:
        case Step.NAME if isinstance(owner, types.FunctionType):
            cell = cell_of(owner, name)
            if cell is not None:
                try:
                    return cell.cell_contents
                except ValueError:
                    return ABSENT
            known = getattr(builtins, name, ABSENT)
            return owner.__globals__.get(name, known)
        case Step.ATTRIBUTE if isinstance(owner, types.ModuleType | type):
            return getattr(owner, name, ABSENT)
        case Step.INNER:
            return _inner(owner) or ABSENT
        case Step.ITEM if isinstance(owner, tuple | list) and int(name) < len(owner):
            return owner[int(name)]
        case Step.ITEM if isinstance(owner, dict):
            return owner.get(name, ABSENT)
        case Step.DEFAULT if isinstance(owner, types.FunctionType):
            return dict(_defaults(owner)).get(name, ABSENT)
        case Step.TEXT:
            return owner
        case _:
            return ABSENT


def _is_text(key: object) -> bool:
    return type(key) is str


def _inner(value: object) -> types.FunctionType | None:
    if isinstance(value, np.vectorize):
        found: object = value.pyfunc
    elif isinstance(value, types.ModuleType | type | np.ndarray | int | float | str):
        return None
    else:
        found = getattr(value, "py_func", None)
    return found if isinstance(found, types.FunctionType) else None


def _defaults(function: types.FunctionType) -> list[tuple[str, object]]:
    plain = [(str(number), value) for number, value in enumerate(function.__defaults__ or ())]
    return [*plain, *(function.__kwdefaults__ or {}).items()]


class Resolver(_Walk):
    """Follows recorded paths, in their order, to what is there now."""

    def value(self, path: Path) -> object:
        """Return the value at the end of a path, or `ABSENT`."""
        if path not in self._values:
            self._values[path] = _follow(self.value(path[:-1]), *path[-1])
        return self._values[path]

    def text(self, path: Path) -> str | None:
        """Return the text of the value at the end of a path."""
        if not path:
            return None
        value = _follow(self.value(path[:-1]), *path[-1])
        if path[-1][0] is not Step.TEXT:
            return self._text(path, value)
        if not isinstance(value, types.FunctionType):
            return "no function"
        try:
            return self._function_text(path, value, text_of(value))
        except NoText:
            return None


def resolved(function: Callable[..., object], paths: Iterable[Path]) -> tuple[Read, ...]:
    """Return what is at the end of the paths now."""
    resolver = Resolver(function)
    return tuple(Read(path, resolver.text(path)) for path in paths)


# -- texts ------------------------------------------------------------------------------------


def own_text(function: Callable[..., object]) -> str | None:
    """Return the text of a function's code, without anything that it reads; None if it has none."""
    plain = plain_function(function)
    if not isinstance(plain, types.FunctionType):
        return None
    code = plain.__code__
    return json.dumps([plain.__qualname__, code.co_filename, code.co_firstlineno, _code(code)])


def annotations_of(function: types.FunctionType) -> dict[str, object]:
    """Return the annotations that can be evaluated; the others say nothing."""
    import inspect

    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:
        return {}


def _code(code: types.CodeType) -> list[object]:
    constants = [_constant(constant) for constant in code.co_consts]
    names = [list(code.co_names), list(code.co_varnames), list(code.co_freevars)]
    return [digest(code.co_code), names, constants]


def _constant(value: object) -> object:
    match value:
        case types.CodeType():
            return _code(value)
        case frozenset():
            return sorted(map(str, map(_constant, value)))
        case tuple():
            return [_constant(part) for part in value]
        case _:
            return value_text(value)


def written(paths: Iterable[Path]) -> str:
    """Return paths as JSON."""
    return json.dumps([[[step.value, name] for step, name in path] for path in paths])


def read_back(text: str) -> tuple[Path, ...]:
    """Return the paths that `written` wrote; raises ValueError."""
    listed = json.loads(text)
    try:
        return tuple(tuple((Step(step), str(name)) for step, name in path) for path in listed)
    except TypeError:
        raise ValueError("no paths") from None


KNOWN_MODULES = frozenset({"numpy", "math", "cmath", "builtins", "operator", "polyopt", "scipy"})
"""Modules taken to be the same as long as their versions are."""

ABSENT = object()
"""Stands for what a name means that nothing is bound to."""


class _Opaque(Exception):
    """A value has no text."""


def value_text(value: object) -> str | None:
    """Return the text of `value`, None if it has none."""
    if value is ABSENT:
        return "absent"
    try:
        return _text(value, 0)
    except _Opaque:
        return None


def digest(data: bytes) -> str:
    """Return the blake2b-256 of `data` in hexadecimal."""
    return hex_digest(data)


def is_known(module: object) -> bool:
    """Whether a module, given by name, belongs to Python, NumPy or polyopt itself."""
    return str(module or "").split(".")[0] in KNOWN_MODULES


def _text(value: object, depth: int) -> str:  # noqa: C901  one case per kind of value
    if depth > 20:  # it may contain itself
        raise _Opaque
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    match value:
        case None | types.EllipsisType():
            return repr(value)
        case np.ndarray():
            return _array(value, kind)
        case np.generic():
            if value.dtype.hasobject:
                raise _Opaque
            return f"{kind} {value.tobytes().hex()}"
        case float() | complex():
            parts = (value.real, value.imag)
            return f"{kind} {struct.pack('2d', *parts).hex()}"
        case Enum():
            return f"{kind}.{value.name} {_text(value.value, depth + 1)}"
        case bool() | int():
            return f"{kind} {int(value):x}"  # long ones have no decimal text
        case str():
            return f"{kind} {str.__repr__(value)}"
        case bytes():
            return f"{kind} {bytes.__repr__(value)}"
        case tuple() | list():
            return f"{kind}({', '.join(_text(part, depth + 1) for part in value)})"
        case set() | frozenset():
            return f"{kind}({', '.join(sorted(_text(part, depth + 1) for part in value))})"
        case dict():
            items = (f"{_text(k, depth + 1)}: {_text(v, depth + 1)}" for k, v in value.items())
            return f"{kind}({', '.join(items)})"
        case types.ModuleType():
            return f"module {value.__name__}"
        case np.dtype():
            return f"{kind} {value.name} {value.str} {value.descr!r}"
        case np.vectorize():
            return f"{kind} of {_text(value.pyfunc, depth + 1)}"
        case type() | types.FunctionType() | np.ufunc():
            name = getattr(value, "__qualname__", value.__name__)
            return f"{kind} {getattr(value, '__module__', '')}.{name}"
        case types.BuiltinFunctionType():
            owner = value.__self__
            home = "" if owner is None else _text(owner, depth + 1)
            return f"{kind} {value.__module__}.{value.__qualname__} of {home}"
        case _:
            return _record(value, kind, depth)


def _record(value: object, kind: str, depth: int) -> str:
    """Return the text of a kernel, a frozen dataclass, or a function made by NumPy's C code."""
    inner = getattr(value, "py_func", None)
    if isinstance(inner, types.FunctionType):
        return f"{kind} of {_text(inner, depth + 1)}"
    if hasattr(type(value), "__dataclass_fields__"):
        fields = sys.modules["dataclasses"].fields(value)  # it made the class
        parts = (f"{f.name}={_text(getattr(value, f.name), depth + 1)}" for f in fields)
        return f"{kind}({', '.join(parts)})"
    if isinstance(value, np.finfo | np.iinfo):
        return f"{kind} {value.dtype}"
    name = getattr(value, "__qualname__", None)
    home = getattr(value, "__module__", None)
    if isinstance(name, str) and is_known(home) and is_known(type(value).__module__):
        return f"{kind} {home}.{name}"
    if is_known(type(value).__module__) and value is getattr(np, _last(value), None):
        return f"{kind} numpy.{_last(value)}"
    raise _Opaque


def _last(value: object) -> str:
    """Return the name NumPy gives an object of a class of its own, as `np.r_`."""
    kind = type(value)
    return next((name for name in ("r_", "c_", "mgrid", "ogrid", "s_", "index_exp")
                 if type(getattr(np, name)) is kind), "")  # fmt: skip


def _array(value: np.ndarray, kind: str) -> str:
    if value.dtype.hasobject:
        raise _Opaque
    return f"{kind} {value.dtype.name}{value.dtype.str} {value.shape} {digest(value.tobytes())}"
