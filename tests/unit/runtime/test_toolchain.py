"""Finding compilers, flags, and building libraries through the cache."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polyopt.errors import ToolchainError
from polyopt.runtime import build, toolchain
from polyopt.runtime.caller import caller_for
from polyopt.runtime.library import load_extension
from polyopt.runtime.store import Store, open_store
from polyopt.runtime.toolchain import Family, find_compiler, kernel_flags
from tests.unit.runtime import sources
from tests.unit.runtime.loading import texts_of


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    return open_store()


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def fake(
    path: Path, log: Path, version: str = "gcc version 99.1 (fake)", refused: str = "-mprefer"
) -> Path:
    """A compiler that only answers questions and writes them down."""
    return program(
        path,
        f'echo "$@" >> {log}\ncase "$*" in -v) echo "{version}" >&2;; *{refused}*) exit 1;; esac\n',
    )


def test_no_compiler_is_one_line_with_a_package(store, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("POLYOPT_CC", raising=False)
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store)
    assert caught.value.code == "PO0501"
    assert "apt-get install gcc" in caught.value.hint
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store, "clang-15")
    assert caught.value.code == "PO0501"
    assert "clang-15" in caught.value.message


def test_known_compilers_are_not_run_again(store, tmp_path, monkeypatch):
    monkeypatch.delenv("POLYOPT_MACHINE", raising=False)
    log = tmp_path / "log"
    path = fake(tmp_path / "bin" / "mycc", log)
    first = find_compiler(store, str(path))
    asked = log.read_text()
    assert "-v" in asked
    assert first.version == "gcc version 99.1 (fake)"
    assert first.family is Family.GCC
    assert first.machine == ("-march=native",)
    assert find_compiler(store, str(path)) == first
    assert log.read_text() == asked
    fake(path, log, "clang version 7")  # another binary at the same place
    second = find_compiler(store, str(path))
    assert second.family is Family.CLANG
    assert second.identity != first.identity


def test_the_version_and_flags_that_are_all_accepted_are_one_question(store, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", "x86-64-v3")
    log = tmp_path / "log"
    found = find_compiler(store, str(fake(tmp_path / "bin" / "mycc", log, refused="-mnothing")))
    assert len(found.machine) > 0
    (asked,) = log.read_text().splitlines()
    assert asked.split()[: 1 + len(found.machine)] == ["-v", *found.machine]


def test_what_is_done_meanwhile_is_done_while_a_new_compiler_answers(store, tmp_path):
    path, done = fake(tmp_path / "bin" / "mycc", tmp_path / "log"), []
    first = find_compiler(store, str(path), lambda: done.append("new"))
    assert find_compiler(store, str(path), lambda: done.append("known")) == first
    assert done == ["new"]


def test_order_of_choices(store, tmp_path, monkeypatch):
    log = tmp_path / "log"
    own, common, asked = (fake(tmp_path / "bin" / n, log) for n in ("own", "common", "asked"))
    monkeypatch.setenv("CC", str(common))
    assert find_compiler(store).command == (str(common),)
    monkeypatch.setenv("POLYOPT_CC", str(own))
    assert find_compiler(store).command == (str(own),)
    assert find_compiler(store, str(asked)).command == (str(asked),)


@pytest.mark.parametrize("text", ["gcc -fplugin=x.so", "gcc @file", "-v"])
def test_flags_in_the_compiler_are_refused(store, text):
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store, text)
    assert caught.value.code == "PO0505"


def test_broken_compilers(store, tmp_path):
    broken = program(tmp_path / "bin" / "broken", "echo oops; exit 3")
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store, str(broken))
    assert caught.value.code == "PO0505"
    assert "oops" in caught.value.notes
    nothing = tmp_path / "bin" / "nothing"
    nothing.write_text("#!/no/such/interpreter\n")
    nothing.chmod(0o755)
    with pytest.raises(ToolchainError) as caught:
        find_compiler(store, str(nothing))
    assert caught.value.code == "PO0505"


def test_floating_point_flags():
    compiler = toolchain.Compiler(("gcc",), Family.GCC, "", "", ("-march=native",))
    plain = kernel_flags(compiler, openmp=False, contract=False)
    fused = kernel_flags(compiler, openmp=True, contract=True)
    assert "-ffp-contract=off" in plain
    assert "-fopenmp" not in plain
    assert "-ffp-contract=fast" in fused
    assert "-fopenmp" in fused
    banned = {"-ffast-math", "-Ofast", "-ffinite-math-only", "-funsafe-math-optimizations"}
    assert not banned & {*plain, *fused}


@pytest.mark.parametrize("family", Family)
def test_gcc_alone_is_asked_to_mind_the_pressure_on_registers(family):
    compiler = toolchain.Compiler((family.value,), family, "", "", ())
    flags = kernel_flags(compiler, openmp=False, contract=False)
    assert ("-fira-loop-pressure" in flags) == (family is Family.GCC)


def test_compilers_see_little_of_the_environment(monkeypatch):
    monkeypatch.setenv("CPATH", "/evil")
    monkeypatch.setenv("GCC_EXEC_PREFIX", "/evil")
    seen = toolchain.environment("/tmp/x")
    assert seen["TMPDIR"] == "/tmp/x"
    assert "/evil" not in seen.values()


@pytest.mark.toolchain
def test_build_keeps_only_the_library(store):
    compiler = find_compiler(store)
    texts = texts_of(sources.add_arrays())
    key = build.library_key(texts, compiler)
    assert build.find_library(store, key) is None
    with build.library(store, compiler, texts, key) as path:
        assert path.name.startswith("polyopt_")
        assert sorted(p.name for p in path.parent.iterdir()) == sorted([path.name, "manifest.json"])
    assert build.find_library(store, key) == path
    assert not list((store.root / "staging").iterdir())


@pytest.mark.toolchain
def test_every_part_of_the_key_matters(store):
    compiler = find_compiler(store)
    texts = texts_of(sources.add_arrays())
    others = [
        replace(texts, kernel=texts.kernel + " "),
        replace(texts, wrapper=None),
        replace(texts, contract=True),
        replace(texts, openmp=True),
        replace(texts, entry="other"),
        replace(texts, extension=True),
    ]
    keys = {build.library_key(t, compiler) for t in [texts, *others]}
    keys |= {
        build.library_key(texts, replace(compiler, identity="x")),
        build.library_key(texts, replace(compiler, machine=())),
        build.library_key(texts, replace(compiler, command=("cc",))),
    }
    assert len(keys) == 10


@pytest.mark.toolchain
@pytest.mark.parametrize("part", ["processor_features", "libc", "python_abi", "ABI"])
def test_machine_and_interpreter_are_in_the_key(store, monkeypatch, part):
    compiler = find_compiler(store)
    texts = replace(texts_of(sources.add_arrays()), extension=part == "python_abi")
    before = build.library_key(texts, compiler)
    monkeypatch.setattr(build, part, 99 if part == "ABI" else lambda: ["other"])
    assert build.library_key(texts, compiler) != before


@pytest.mark.toolchain
def test_rejected_text_is_a_coded_error(store):
    compiler = find_compiler(store)
    texts = build.Texts("entry", "int entry(void) { return x; }", None, False, False)
    with pytest.raises(ToolchainError) as caught, build.library(store, compiler, texts, "key"):
        pass
    assert caught.value.code == "PO0502"
    assert any("x" in note for note in caught.value.notes)
    assert not list((store.root / "staging").iterdir())
    assert build.find_library(store, "key") is None


@pytest.mark.toolchain
def test_without_a_cache_the_library_lives_in_memory_only(store):
    compiler = find_compiler(store)
    source = sources.add_arrays()
    nowhere = Store(None)
    texts = texts_of(source)
    with build.library(nowhere, compiler, texts, "key") as path:
        caller = caller_for(nowhere, compiler)
        loaded = load_extension(path, source.signature, (), False, 1, caller)
    assert not path.exists()
    C = np.zeros(3)
    assert loaded.call(np.ones(3), np.ones(3), C) is None
    assert C.tolist() == [2, 2, 2]


def test_full_disk_while_building_uses_another_place(store, tmp_path, monkeypatch):
    path = program(
        tmp_path / "bin" / "cc",
        f'case "$PWD" in {store.root}*) echo "error: No space left on device"; exit 1;; esac\n'
        'while [ "$1" != -o ]; do shift; done; echo library > "$2"\n',
    )
    compiler = toolchain.Compiler((str(path),), Family.GCC, "", "", ())
    texts = build.Texts("entry", "", None, False, False)
    with build.library(store, compiler, texts, "key") as library:
        assert library.read_text() == "library\n"
    monkeypatch.setattr(build, "_SECONDS", 1.0)
    program(path, 'echo "error: Disk quota exceeded"; exit 1\n')
    with pytest.raises(ToolchainError) as caught, build.library(store, compiler, texts, "key2"):
        pass
    assert caught.value.code == "PO0506"


def test_a_compiler_that_hangs_is_ended(store, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "_SECONDS", 0.5)
    path = program(tmp_path / "bin" / "cc", f"echo $$ > {tmp_path}/pid\nsleep 60\n")
    compiler = toolchain.Compiler((str(path),), Family.GCC, "", "", ())
    start = time.monotonic()
    texts = build.Texts("entry", "", None, False, False)
    with pytest.raises(ToolchainError) as caught, build.library(store, compiler, texts, "key"):
        pass
    assert caught.value.code == "PO0504"
    assert time.monotonic() - start < 20
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


BUILDER = textwrap.dedent(
    """
    import numpy as np
    from tests.unit.runtime import sources
    from tests.unit.runtime.loading import load
    C = np.zeros(3)
    load(sources.add_arrays()).call(np.ones(3), np.ones(3), C)
    print(C.tolist())
    """
)


def start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", BUILDER],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip


@pytest.mark.toolchain
def test_processes_building_the_same_library(store):
    running = [start() for _ in range(4)]
    for process in running:
        output, _ = process.communicate(timeout=600)
        assert output.strip() == "[2.0, 2.0, 2.0]", output
    assert len(list((store.root / "libraries").iterdir())) == 2  # the kernel and what calls it


@pytest.mark.toolchain
def test_killed_builders_leave_the_cache_intact(store):
    for round_ in range(6):
        process = start()
        time.sleep(0.12 + 0.05 * round_)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start()
    output, _ = process.communicate(timeout=600)
    assert output.strip() == "[2.0, 2.0, 2.0]", output
    store.sweep(time.time() + 7200)
    assert not list((store.root / "staging").iterdir())


@pytest.mark.toolchain
def test_a_library_that_cannot_be_loaded(store, tmp_path):
    path = tmp_path / "polyopt_x.so"
    path.write_bytes(b"not a library")
    caller = caller_for(store, find_compiler(store))
    with pytest.raises(ToolchainError) as caught:
        load_extension(path, sources.add_arrays().signature, (), False, 1, caller)
    assert caught.value.code == "PO0503"


@pytest.mark.toolchain
def test_a_library_without_a_table_cannot_be_called(store):
    compiler = find_compiler(store)
    source = sources.add_arrays()
    texts = texts_of(source, "ctypes")
    key = build.library_key(texts, compiler)
    with (
        build.library(store, compiler, texts, key) as path,
        pytest.raises(ToolchainError) as caught,
    ):
        load_extension(path, source.signature, (), False, 1, caller_for(store, compiler))
    assert caught.value.code == "PO0503"
