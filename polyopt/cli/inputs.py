"""Argument values for a run: random ones of chosen sizes.

In: a Program's signature, the user's annotations, sizes.  Out: values in argument order.
Refuses: sizes that the program does not allow (PO0619).
Stored values come from an .npz archive, or an .npy file.
"""

from __future__ import annotations

import inspect
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyopt.errors import UsageError
from polyopt.files import open_regular
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, ConstArg, IntegerOf, ScalarArg, Signature
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never


def random_values(signature: Signature, sizes: Mapping[str, int], seed: int) -> Values:
    """Return seeded values of every argument; square matrices get a dominant diagonal."""
    for check in signature.checks:
        if not evaluate(check.condition, sizes):
            chosen = ", ".join(f"{name}={value}" for name, value in sorted(sizes.items()))
            raise UsageError(
                "PO0619",
                f"these sizes do not fit the program: {check.message}",
                loc=check.loc,
                notes=(f"sizes: {chosen}",),
                hint="choose others with --sizes NAME=VALUE,…",
            )
    rng = np.random.default_rng(seed)
    integers = {
        signature.arguments[size.argument].name: sizes[size.param]
        for size in signature.sizes
        if isinstance(size, IntegerOf)
    }
    values: list[Any] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArg(dtype=dtype, shape=shape):
                values.append(_random_array(rng, dtype, tuple(evaluate(s, sizes) for s in shape)))
            case ScalarArg(name=name) if name in integers:
                values.append(integers[name])
            case ScalarArg(dtype=dtype):
                number = _random_array(rng, dtype, ())
                values.append(number[()] if dtype.is_half else number.item())
            case ConstArg():
                values.append(argument.known)
            case _:
                assert_never(argument)
    return tuple(values)


def _random_array(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    if any(extent < 0 for extent in shape):
        raise UsageError(
            "PO0619", f"an array would have the shape {shape}", hint="choose larger sizes"
        )
    match dtype.kind:
        case Kind.BOOL:
            return rng.integers(0, 2, shape).astype(dtype.numpy)
        case Kind.SIGNED | Kind.UNSIGNED:
            limit = min([10, *shape])
            return np.asarray(rng.integers(0, max(1, limit), shape)).astype(dtype.numpy)
        case Kind.FLOAT | Kind.COMPLEX:
            values = np.asarray(rng.uniform(0.5, 1.5, shape))
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values + 2.0 * shape[0] * np.eye(shape[0])
            if dtype.kind is Kind.COMPLEX:
                values = values + 1j * rng.uniform(0.5, 1.5, shape)
            return values.astype(dtype.numpy)
        case _:
            assert_never(dtype.kind)


Values: TypeAlias = tuple[Any, ...]

_SHOWN = 20  # names in a message
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def stored_values(func: Callable[..., Any], path: Path) -> Values:
    """Return the argument values stored in `path`; arguments it lacks have their defaults."""
    parameters = inspect.signature(func).parameters
    stored = _load(path, parameters)
    values: list[Any] = []
    for name, parameter in parameters.items():
        value = stored.get(name, parameter.default)
        values.append(_plain(value) if isinstance(value, np.ndarray) else value)
    return tuple(values)


def restored(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of a file; NumPy's format has no name for bfloat16 but its two bytes."""
    return array.view(DType.BFLOAT16.numpy) if array.dtype == np.dtype("V2") else array


def _plain(value: NDArray[Any]) -> object:
    """Return a number for an array of rank 0: of NumPy's type where Python has none."""
    if value.ndim > 0:
        return value
    is_half = value.dtype.itemsize == 2 and value.dtype.kind not in "iu"
    return value[()] if is_half else value.item()


def _load(path: Path, parameters: Mapping[str, inspect.Parameter]) -> dict[str, NDArray[Any]]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open_regular(path, memory) as stream:
            start = stream.read(len(npy.MAGIC_PREFIX))
            stream.seek(0)
            if start == npy.MAGIC_PREFIX:
                size = os.fstat(stream.fileno()).st_size
                name = _only_needed(path, parameters)
                return {name: _array(path, name, stream, stream, size)}
            with zipfile.ZipFile(stream) as archive:
                return _members(path, archive, parameters, memory)
    except UsageError:
        raise
    except FileNotFoundError:
        raise UsageError(
            "PO0610", f"there is no file `{path}`", hint="write one with np.savez"
        ) from None
    except OSError as error:
        _refuse(path, error.strerror or str(error))
    except zipfile.BadZipFile:
        _refuse(path, "it is not a whole .npz or .npy file")
    except Exception as error:  # zipfile and NumPy raise a dozen classes for damaged files
        _refuse(path, str(error) or type(error).__name__)


def _refuse(path: Path, reason: str) -> NoReturn:
    raise UsageError(
        "PO0610",
        f"`{path}` cannot be read as an .npz file: {reason}",
        hint="write it with np.savez; arrays of Python objects are not read",
    )


def _only_needed(path: Path, parameters: Mapping[str, inspect.Parameter]) -> str:
    """Return the name of the argument that the array of an .npy file is the value of."""
    empty = inspect.Parameter.empty
    needed = [name for name, one in parameters.items() if one.default is empty]
    if len(needed) == 1 or len(parameters) == 1:
        return (needed or [*parameters])[0]
    stores = ", ".join(f'{name}=np.load("{path}")' for name in needed[:1])
    more = ", ".join(f"{name}=…" for name in needed[1:_SHOWN])
    raise UsageError(
        "PO0610",
        f"`{path}` holds one array, and the function takes {len(parameters)} arguments",
        notes=(f"arguments: {', '.join([*parameters][:_SHOWN]) or 'none'}",),
        hint=f'store all of them by name: np.savez("{path.stem}.npz", {stores}, {more})'
        if needed
        else "leave --npz out",
    )


def _members(
    path: Path, archive: zipfile.ZipFile, parameters: Mapping[str, inspect.Parameter], memory: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive that have arguments' names."""
    there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    for name, parameter in parameters.items():
        if name not in there and parameter.default is inspect.Parameter.empty:
            more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
            raise UsageError(
                "PO0610",
                f"`{path}` has no array `{name}`",
                notes=(f"it holds: {', '.join(sorted(there)[:_SHOWN]) or 'nothing'}{more}",),
                hint=f"store every argument by name: np.savez(path, {name}=…)",
            )
    wanted = {name: there[name] for name in parameters if name in there}
    total = sum(info.file_size for info in wanted.values())
    if total > memory:
        _refuse(path, f"its arrays have {total} bytes, the machine has {memory}")
    arrays = {}
    for name, info in wanted.items():
        with archive.open(info) as header, archive.open(info) as data:
            arrays[name] = _array(path, name, header, data, info.file_size)
    return arrays


def _array(path: Path, name: str, header: IO[bytes], data: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array of `size` bytes after looking at its header."""
    read = _HEADERS.get(npy.read_magic(header))
    if read is None:
        _refuse(path, f"`{name}` is not an array of numbers")
    shape, _, dtype = read(header)
    if dtype.hasobject:
        _refuse(path, f"`{name}` is an array of Python objects")
    if math.prod(shape) * dtype.itemsize > size - header.tell():
        _refuse(path, f"`{name}` ends before its last element")
    data.seek(0)
    return restored(npy.read_array(data, allow_pickle=False))
