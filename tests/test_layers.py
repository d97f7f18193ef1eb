"""Who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.late_tables import table

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "polyopt"

_COMPILER = {"errors", "ir", "machine"}
ANYWHERE = {"dataclass", "digest", "late", "never"}
LAYERS: dict[str, set[str]] = {
    **{name: set() for name in ANYWHERE},
    "files": set(),
    "errors": {"files"},
    "foreign_names": set(),
    "interpreters": {"errors"},
    "settings": {"errors", "files"},
    "offered": {"errors", "ir"},
    "machine": set(),
    "ir": {"errors"},
    "capture": {"errors"},
    "autodiff": {"errors", "ir"},
    "frontend": {"autodiff", "capture", "errors", "ir"},
    "schedulefile": {"errors", "files"},
    "schedule": {*_COMPILER, "schedulefile"},
    "transforms": {*_COMPILER, "schedule", "schedulefile"},
    "emit": {*_COMPILER, "schedule"},
    "proof": {"errors", "ir"},
    "numerics": {"errors", "ir"},
    "runtime": {"capture", "errors", "ir", "settings", ""},  # the package: its version and place
    "racecheck": {"errors", "ir", "runtime", ""},
    "hosting": {"errors", "ir", "runtime", "emulator", "targets"},
    "emulator": {"errors", "runtime"},
    "strategy": {*_COMPILER, "model", "schedule", "transforms"},
    "measuring": {"errors", "settings", "files", "machine", "runtime"},
    "model": {"errors", "ir", "machine"},
    "targets": {
        "errors", "ir", "machine", "measuring", "offered", "runtime", "schedulefile", "settings",
    },
    "proving": {"errors", "ir", "emit", "proof"},
    "pipeline": {
        *_COMPILER, "schedule", "transforms", "strategy", "emit", "targets", "proof", "proving",
    },
    "artefact": {"", "errors", "ir", "emit", "offered", "proof"},
    "specialize": {"errors", "ir", "frontend", "runtime"},
    "structured": {"capture", "errors", "frontend", "runtime", "specialize"},
    "aliasing": {"ir", "frontend", "runtime", "specialize"},
    "kernel_options": {"ir", "schedule", "schedulefile", "targets"},
    "kernel_entries": {
        "artefact", "errors", "frontend", "ir", "machine", "pipeline", "runtime", "targets",
    },
    "building": {
        *_COMPILER, "capture", "frontend", "runtime", "targets", "pipeline", "specialize", "emit",
        "hosting", "kernel_entries",
    },
    "tuning": {
        *_COMPILER, "files", "settings", "capture", "frontend", "runtime", "targets", "schedule",
        "transforms", "strategy", "pipeline", "building",
    },
    "bounding": {
        *_COMPILER, "emit", "schedule", "runtime", "targets", "pipeline", "proving", "numerics",
    },
    "benching": {"errors", "ir", "frontend", "specialize", "tuning", "bounding", "numerics"},
    "verifying": {"errors", "ir", "frontend", "numerics", "bounding"},
    "sizing": {"errors", "ir", "frontend"},
    "explaining": {
        *_COMPILER, "building", "emit", "frontend", "measuring", "pipeline", "report", "runtime",
        "schedulefile", "sizing", "targets",
    },
    "loading": {"errors", "files", "ir", "runtime"},
    "saving": {"", "errors", "files", "ir", "loading", "runtime"},
    "exporting": {
        "", "artefact", "emit", "errors", "files", "frontend", "ir", "pipeline", "schedulefile",
        "targets",
    },
    "compiled": {
        "exporting", "saving",
        *_COMPILER, "capture", "numerics", "bounding", "schedulefile", "frontend", "runtime",
        "schedule", "targets", "pipeline", "specialize", "building", "kernel_entries", "verifying",
        "benching",
        "explaining", "report",
    },
    "session": {
        "errors", "ir", "pipeline", "schedule", "schedulefile", "targets", "transforms",
    },
    "candidates": {
        "building", "errors", "explaining", "frontend", "pipeline", "report", "targets", "tuning",
    },
    "distribution": {
        *_COMPILER, "building", "runtime", "schedule", "schedulefile", "settings", "targets",
        "transforms",
    },
    "decorator": {"api", "distribution", "errors", "kernel_options", "targets"},
    "api": {
        *_COMPILER, "candidates", "session", "settings", "capture", "numerics", "bounding",
        "schedulefile",
        "transforms", "frontend", "runtime", "kernel_options",
        "schedule", "targets", "pipeline", "specialize", "aliasing", "building", "compiled",
        "explaining", "hosting", "report", "tuning", "verifying", "structured",
    },
    "pytest_plugin": {"api", "errors", "numerics"},
    "batched": {"api", "derivatives", "errors", "frontend", "targets"},
    "derivatives": {
        "api", "decorator", "autodiff", "capture", "errors", "frontend", "structured", "targets",
    },
    "tracing": {
        "decorator",
        "errors", "ir", "capture", "frontend", "runtime", "specialize", "api", "compiled", "",
    },
    "cregion": {
        "capture", "errors", "ir", "frontend", "schedule", "emit", "machine", "pipeline", "runtime",
        "targets",
    },
    "textcheck": {"cregion", "errors", "ir", "report"},
    "random": {"errors", "ir"},
    "report": {*_COMPILER, "model", "schedule", "schedulefile", "transforms", "strategy"},
    "cli": {
        *_COMPILER, "offered", "settings", "", "frontend", "schedule", "schedulefile", "transforms",
        "targets", "pipeline", "runtime", "report", "api", "compiled", "artefact", "measuring",
        "model", "tuning", "proof", "numerics", "bounding", "emit", "files", "verifying", "cregion",
        "explaining", "exporting", "sizing", "textcheck",
    },
}  # fmt: skip
STAGES = {
    "ir", "frontend", "schedule", "transforms", "strategy", "model", "emit", "proof", "proving",
    "pipeline",
}  # fmt: skip
RUNTIME_IR = {
    *("annotations", "arranging", "array", "expr", "host", "integers", "library", "loops"),
    *("showing", "source", "types"),
}
ISL = {
    "ir",
    "autodiff",
    "distribution",
    "schedule",
    "transforms",
    "strategy",
    "proof",
    "report",
    "frontend",
    "cli",
    "textcheck",
}
ISL_FILES = {
    PACKAGE / "emit" / "lower_scop.py",
    *(
        PACKAGE / "emit" / "gpu" / f"{name}.py"
        for name in ("accesses", "conflicts", "barriers", "registers")
    ),
}

CIRCULAR = {
    ("polyopt.tracing.arrays", "polyopt.tracing.compiling"),
    ("polyopt.tracing.sizes", "polyopt.tracing.arrays"),
    ("polyopt.tracing.sizes", "polyopt.tracing.compiling"),
}
"""Imports that close a circle: a lazy array computes itself, a size takes NumPy's functions."""


def _files(directory: Path = PACKAGE) -> list[Path]:
    return sorted(directory.rglob("*.py"))


def _layer(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def _imports(path: Path) -> tuple[tuple[int, str], ...]:
    """The imports of a file, read once."""
    return tuple(_read_imports(path))


def _read_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every import, those inside functions and type checks included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                if module == "polyopt":
                    yield from ((node.lineno, f"polyopt.{alias.name}") for alias in names)
                else:
                    yield node.lineno, module
            case ast.ImportFrom(level=level) if level > 0:
                raise AssertionError(f"{path}:{node.lineno}: relative import")
            case _:
                pass


def _target(name: str) -> str | None:
    """The layer an import reaches; "" is the package's public face, None is outside."""
    parts = name.split(".")
    if parts[0] != "polyopt":
        return None
    homes = (PACKAGE / part for name in parts[1:2] for part in (name, f"{name}.py"))
    return parts[1] if any(home.exists() for home in homes) else ""


def test_every_module_belongs_to_a_layer() -> None:
    layers = {_layer(path) for path in _files()} - {"__init__", "__main__"}
    assert layers == set(LAYERS)


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_layer_imports_only_what_it_may(layer: str) -> None:
    allowed = LAYERS[layer] | {layer} | ANYWHERE
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in _files()
        if _layer(path) == layer
        for line, name in _imports(path)
        if (target := _target(name)) is not None and target not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize("layer", sorted(STAGES))
def test_stages_put_imports_off_by_tables_only(layer: str) -> None:
    """`polyopt/late.py` says how; imports inside functions are for entries: commands, kernels."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    wrong = [
        f"{path.relative_to(ROOT)}:{inner.lineno}"
        for path in _files()
        if _layer(path) == layer
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, functions)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert wrong == []


def test_the_layers_have_no_cycle() -> None:
    done: set[str] = set()
    pending = dict(LAYERS)
    while pending:
        free = {name for name, uses in pending.items() if uses - {name, ""} <= done}
        assert free, f"cycle among {sorted(pending)}"
        done |= free
        pending = {name: uses for name, uses in pending.items() if name not in free}


def _module(path: Path) -> str:
    """Return the full name of a module or package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _home(name: str, modules: dict[str, Path]) -> str | None:
    """Return the module that has a full name, by way of the tables of packages."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module in modules:
            break
    else:
        return None
    if length < len(parts) and modules[module].name == "__init__.py":
        for home, names in table(module).items():
            if parts[length] in names:
                return f"{module}.{home}"
    return module


def _runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree without what is for type checkers alone."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from _runtime_nodes(other)
        else:
            yield from _runtime_nodes(child)


def _used_names(path: Path) -> Iterator[str]:
    """Yield the full names that a file imports, or reaches as attributes of what it imports."""
    nodes = list(_runtime_nodes(ast.parse(path.read_text(encoding="utf-8"))))
    bound: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    bound[alias.asname or alias.name] = f"{module}.{alias.name}"
            case _:
                pass
    yield from bound.values()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            if first in bound:
                yield ".".join((bound[first], *rest))


@cache
def _module_graph() -> dict[str, set[str]]:
    """Return the modules that each module imports at once, in functions, or by lazy attributes."""
    modules = {_module(path): path for path in _files()}
    return {
        name: {home for used in _used_names(path) if (home := _home(used, modules))} - {name}
        for name, path in modules.items()
    }


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = [start]
    while pending:
        for name in graph[pending.pop()] - found:
            found.add(name)
            pending.append(name)
    return found


def test_the_modules_have_no_circle_of_imports() -> None:
    graph = {
        name: {used for used in uses if (name, used) not in CIRCULAR}
        for name, uses in _module_graph().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " imports ".join(reversed(error.args[1]))
        raise AssertionError(circle) from None


@pytest.mark.parametrize("user, used", sorted(CIRCULAR))
def test_allowed_circles_are_circles(user: str, used: str) -> None:
    graph = _module_graph()
    assert used in graph[user]
    assert user in _reachable(graph, used)


def test_lazy_attributes_are_imports() -> None:
    graph = _module_graph()
    assert "polyopt.proof.matrix" in graph["polyopt.proof.certification"]
    assert "polyopt.strategy.borders" in graph["polyopt.strategy.register_blocking"]


def test_the_runtime_knows_the_records_of_a_call_only() -> None:
    wrong = [
        f"{path.name}:{line}: {name}"
        for path in _files(PACKAGE / "runtime")
        for line, name in _imports(path)
        if name.startswith("polyopt.ir") and name.split(".")[2] not in RUNTIME_IR
    ]
    assert wrong == []


def test_islpy_stays_in_its_layers() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in _files()
        for line, name in _imports(path)
        if name.split(".")[0] == "islpy" and _layer(path) not in ISL and path not in ISL_FILES
    ]
    assert wrong == []


@pytest.mark.parametrize("library, layer", [("click", "cli")])
def test_a_library_stays_in_one_layer(library: str, layer: str) -> None:
    users = {
        _layer(path)
        for path in _files()
        for _, name in _imports(path)
        if name.split(".")[0] == library
    }
    assert users <= {layer}


def test_workloads_and_bench_use_the_public_face() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for folder in ("workloads", "bench")
        for path in _files(ROOT / folder)
        for line, name in _imports(path)
        if name.split(".")[0] == "polyopt" and _target(name) != ""
    ]
    assert wrong == []


def test_count_val_is_never_called() -> None:
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _files()
        if "count_val" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "count_val"
    ]
    assert calls == []


def test_no_module_is_longer_than_500_lines() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _files()}
    assert [f"{path.name}: {length}" for path, length in lengths.items() if length > 500] == []


def test_no_module_imports_another_ones_private_names() -> None:
    found = [
        f"{path.name}:{node.lineno}: {alias.name}"
        for path in _files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyopt")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert found == []
