"""Runs printed kernels on a device, as a host would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Body, For, If, Kernel, LoopFunction
from polyopt.ir.source import DeviceSource, KernelParam, KernelParamKind
from polyopt.runtime.device.provider import Buffer, KernelArgument, Module, Provider

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


def launch(
    device: Provider,
    source: DeviceSource,
    fn: LoopFunction,
    arrays: Arrays,
    values: Mapping[str, Any],
) -> None:
    """Run the kernels of `fn` on `arrays`, in place."""
    names = tuple(entry.name for entry in source.entries)
    module = device.compile(source.text, names, source.flags)
    buffers = {name: device.alloc(array.nbytes) for name, array in arrays.items()}
    for name, array in arrays.items():
        device.upload(buffers[name], array)
    _run(device, module, source, fn.body, arrays, buffers, dict(values))
    for name, array in arrays.items():
        device.download(buffers[name], array)
        device.free(buffers[name])


def _run(
    device: Provider,
    module: Module,
    source: DeviceSource,
    body: Body,
    arrays: Arrays,
    buffers: Mapping[str, Buffer],
    env: dict[str, Any],
) -> None:
    for node in body:
        match node:
            case For():
                for value in range(evaluate(node.lower, env), evaluate(node.upper, env), node.step):
                    inner = {**env, node.iter: value}
                    _run(device, module, source, node.body, arrays, buffers, inner)
            case If():
                chosen = node.then if evaluate(node.condition, env) else node.otherwise
                _run(device, module, source, chosen, arrays, buffers, env)
            case Kernel():
                entry = source.entry(node.name)
                x, y, z = (evaluate(extent, env) for extent in entry.grid)
                args = [_argument(param, arrays, buffers, env) for param in entry.params]
                block = (entry.threads, 1, 1)
                device.launch(module, entry.name, (x, y, z), block, args, entry.asked)
            case _:
                raise AssertionError(node)


def _argument(
    param: KernelParam, arrays: Arrays, buffers: Mapping[str, Buffer], env: Mapping[str, Any]
) -> KernelArgument:
    match param.kind:
        case KernelParamKind.ARRAY | KernelParamKind.FAULTS:
            return buffers[param.name]
        case KernelParamKind.STRIDE:
            array = arrays[param.name]
            return _number(param, array.strides[param.dim] // array.itemsize)
        case KernelParamKind.COUNTER | KernelParamKind.SCRATCH:
            raise AssertionError("the kernels here share no memory of their own")
        case KernelParamKind.VALUE:
            return _number(param, env[param.name])


def _number(param: KernelParam, value: object) -> np.generic:
    number: np.generic = param.dtype.numpy.type(value)
    return number
