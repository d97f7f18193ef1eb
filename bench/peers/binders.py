"""How each peer is handed a program: from sizes and arguments to a call.

In: a workload of the wanted element type, who computes.  Out: `Bind`.  Runs in the peer's own
environment; a peer is imported only when it computes.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import workloads
from bench import function as functions
from bench.baseline import Bind
from bench.levels import target_flags
from bench.peers import ccode, forms
from bench.peers.folder import digest, store
from bench.worker import Reference, numpy_bind
from workloads import Workload


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to load."""

    workload: Workload
    peer: str
    form: str
    dtype: str
    fp: str
    threads: int
    library: str

    @property
    def function(self) -> Callable[..., Any]:
        """The form as a Python function."""
        return self.workload.forms[self.form]


def task(command: Mapping[str, Any]) -> Task:
    """Return the task that a command names: a workload, or the function of a folder."""
    folder = command["function"]
    found = functions.read(Path(folder)) if folder else workloads.get(command["workload"])
    workload = replace(found, dtype=np.dtype(command["dtype"]))
    names = ("peer", "form", "dtype", "fp", "threads", "library")
    return Task(workload, *(command[name] for name in names))


def bind(chosen: Task) -> Bind:
    """Load the peer; return how it is called."""
    if chosen.peer in ccode.C_PEERS:
        return ccode.bind(chosen.workload, Path(chosen.library))
    return BINDERS[chosen.peer](chosen)


def _numpy(chosen: Task) -> Bind:
    return numpy_bind(chosen.workload)


def _python(chosen: Task) -> Bind:
    """Python itself, over NumPy arrays."""
    assert isinstance(chosen.function, functions.Named)
    return functions.call_with(functions.imported(chosen.function))


def _polyopt(chosen: Task) -> Bind:
    import polyopt as po

    if isinstance(chosen.function, functions.Named):
        form = functions.kernel_source(chosen.function)
    else:
        form = retyped(chosen.function, chosen.dtype)
    kernel = po.kernel(form).with_options(fp=chosen.fp, threads=chosen.threads)
    kernel.compile(*chosen.workload.make("MINI").values())
    return lambda sizes, arguments: partial(kernel, *arguments.values())


def retyped(function: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    """Return the function with its floating-point annotations in another precision."""
    old, new = ("po.f64", "po.f32") if dtype == "float32" else ("po.f32", "po.f64")
    found = {name: str(text).replace(old, new) for name, text in function.__annotations__.items()}
    if found == function.__annotations__:
        return function
    assert isinstance(function, FunctionType)
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__annotations__ = found
    copied.__module__ = function.__module__
    copied.__qualname__ = function.__qualname__
    return copied


def _module(path: str) -> dict[str, Any]:
    """Run a written module; return what it defines."""
    spec = spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return vars(module)


def _numba(chosen: Task) -> Bind:
    """Numba: array expressions and independent outermost loops in parallel."""
    statements, entry = forms.definitions(chosen.workload, chosen.form)
    is_parallel = chosen.form == "numpy" or forms.parallel(entry) > 0
    fast = "False" if chosen.fp == "strict" else "True"
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            options = f"fastmath={fast}, cache=True, parallel={node is entry and is_parallel}"
            node.decorator_list = [ast.parse(f"njit({options})", mode="eval").body]
    text = forms.module_text(statements, "from numba import njit, prange\n")
    function = _module(forms.written_module(text, entry.name))[entry.name]
    return lambda sizes, arguments: partial(function, *arguments.values())


def _pythran(chosen: Task) -> Bind:
    """Pythran: a C++ module for the exact types of the arguments; a refusal is kept, too."""
    statements, entry = forms.definitions(chosen.workload, chosen.form)
    made = chosen.workload.make("MINI")
    types = ", ".join(map(_pythran_type, made.values()))
    head = f"#pythran export {entry.name}({types})\n"
    text = forms.module_text(statements, head)
    flags = ["-O3", *target_flags(), "-fopenmp", "-DUSE_XSIMD"]
    flags += ["-ffp-contract=off"] if chosen.fp == "strict" else ["-ffast-math"]
    stem = f"{entry.name}_{digest(text, flags, metadata.version('pythran'))}"
    library = store("pythran") / f"{stem}.so"
    refusal = library.with_suffix(".refused")
    if refusal.is_file():
        raise forms.NoForm(refusal.read_text(encoding="utf-8"))
    if not library.is_file():
        source = library.with_suffix(".py")
        source.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pythran.run", *flags, "-o", str(library), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            reason = next((x for x in lines if "rror" in x), "pythran failed")
            refusal.write_text(reason, encoding="utf-8")
            raise forms.NoForm(reason)
    function = _extension(library, stem)[entry.name]
    return lambda sizes, arguments: partial(function, *arguments.values())


def _extension(library: Path, stem: str) -> dict[str, Any]:
    loader = ExtensionFileLoader(stem, str(library))
    spec = spec_from_file_location(stem, library, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return vars(module)


def _pythran_type(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{','.join(':' * value.ndim)}]"
    if isinstance(value, np.generic):
        return value.dtype.name
    return "int" if isinstance(value, int) else "float"


def pure_for_jax(workload: Workload, form: str, loops: bool) -> Callable[..., Any]:
    """Return a form over `jax.numpy` that returns its result and the written arguments.

    `loops`: those over `range` become calls of `fori_loop`.
    """
    statements, entry = forms.definitions(workload, form)
    for node in statements:
        if isinstance(node, ast.Import) and node.names[0].name == "numpy":
            node.names[0] = ast.alias("jax.numpy", node.names[0].asname)
    forms.pure(entry, workload.written, loops)
    text = forms.module_text(statements, "from bench.peers.tracing import _few, _loop\n")
    return _module(forms.written_module(text, entry.name))[entry.name]  # type: ignore[no-any-return]


def _jax(chosen: Task) -> Bind:
    """JAX: the form as a pure function, loops as `fori_loop` where they can be traced."""
    if chosen.threads == 1:
        single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {single}".strip()
    import jax

    jax.config.update("jax_enable_x64", chosen.dtype != "float32")

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        values = [
            jax.numpy.asarray(v) if isinstance(v, np.ndarray) else v for v in arguments.values()
        ]
        fixed = tuple(k for k, v in enumerate(values) if isinstance(v, int))
        function: Any = None
        for loops in (True, False):
            pure = pure_for_jax(chosen.workload, chosen.form, loops)
            function = jax.jit(pure, static_argnums=fixed)
            try:
                jax.block_until_ready(function(*values))
                break
            except (TypeError, IndexError, ValueError, jax.errors.JAXTypeError):
                if not loops:
                    raise

        def call() -> object:
            returned, written = jax.block_until_ready(function(*values))
            found = dict(zip(chosen.workload.written, written, strict=True))
            found |= chosen.workload.results(found, returned) if returned is not None else {}
            return Reference({name: np.asarray(value) for name, value in found.items()})

        return call

    return bound


def _torch(chosen: Task) -> Bind:
    """PyTorch, eager: its own operations where written by hand, else its NumPy interface."""
    import torch
    import torch._numpy as tnp

    from bench.peers import torch_forms

    torch.set_num_threads(chosen.threads)
    own = torch_forms.FORMS.get(chosen.workload.name)
    if own is not None:
        return _torch_own(own, chosen.workload)
    statements, entry = forms.definitions(chosen.workload, chosen.form)
    for node in statements:
        if isinstance(node, ast.Import) and node.names[0].name == "numpy":
            node.names[0] = ast.alias("torch._numpy", node.names[0].asname)
    function = _module(forms.written_module(forms.module_text(statements), entry.name))[entry.name]

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        values = [
            tnp.ndarray(torch.from_numpy(v)) if isinstance(v, np.ndarray) else v
            for v in arguments.values()
        ]

        def call() -> object:
            with torch.inference_mode():
                return _numpy_of(function(*values))

        return call

    return bound


def _numpy_of(returned: Any) -> object:  # noqa: ANN401
    if isinstance(returned, tuple):
        return tuple(map(_numpy_of, returned))
    tensor = getattr(returned, "tensor", returned)
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def _torch_own(own: Callable[..., Any], workload: Workload) -> Bind:
    import torch

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        values = [
            torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in arguments.values()
        ]

        def call() -> object:
            with torch.inference_mode():
                return _numpy_of(own(*values))

        return call

    return bound


def _torch_compile(chosen: Task) -> Bind:
    """PyTorch, compiled: the NumPy form traced by torch.compile."""
    import torch

    torch.set_num_threads(chosen.threads)
    if chosen.workload.steps is not None:
        raise forms.NoForm("torch.compile would unroll the time steps")
    statements, entry = forms.definitions(chosen.workload, chosen.form)
    function = _module(forms.written_module(forms.module_text(statements), entry.name))[entry.name]
    compiled = torch.compile(function, dynamic=False)

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        return partial(compiled, *arguments.values())

    return bound


BINDERS: Mapping[str, Callable[[Task], Bind]] = {
    "numpy": _numpy,
    "python": _python,
    "polyopt": _polyopt,
    "numba": _numba,
    "pythran": _pythran,
    "jax": _jax,
    "torch": _torch,
    "torch-compile": _torch_compile,
}
