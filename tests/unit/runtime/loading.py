"""Build and load hand-written sources both ways: through the C wrapper and through ctypes."""

from __future__ import annotations

from polyopt.emit.wrapper import wrapper_source
from polyopt.ir.source import Source
from polyopt.runtime import build
from polyopt.runtime.caller import caller_for
from polyopt.runtime.library import Loaded, load_extension, load_foreign
from polyopt.runtime.process import calls_text, process_for
from polyopt.runtime.store import Store, open_store
from polyopt.runtime.toolchain import find_compiler

WAYS = ("wrapper", "ctypes")


def texts_of(source: Source, way: str = "wrapper") -> build.Texts:
    wrapper = wrapper_source(source) if way == "wrapper" else None
    compiler = find_compiler(open_store())
    return build.kernel_texts(source, wrapper, calls_text(source, compiler))


def load(
    source: Source,
    way: str = "wrapper",
    threads: int = 1,
    weak: tuple[bool, ...] | None = None,
    store: Store | None = None,
) -> Loaded:
    store = open_store() if store is None else store
    compiler = find_compiler(store)
    texts = texts_of(source, way)
    key = build.library_key(texts, compiler)
    if weak is None:
        weak = tuple(True for a in source.signature.arguments if type(a).__name__ == "ScalarArg")
    process = process_for(source, store, compiler)
    with build.library(store, compiler, texts, key) as path:
        if way == "wrapper":
            caller = caller_for(store, compiler)
            return load_extension(
                path, source.signature, weak, source.openmp, threads, caller, process
            )
        return load_foreign(path, source, weak, threads, process)
