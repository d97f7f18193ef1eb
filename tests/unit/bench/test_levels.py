"""Levels of x86-64: what holds each peer to one, and what a run records."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from bench import levels
from bench.baseline import flags
from bench.environment import describe
from bench.peers import ccode
from polyopt.cli import cmd_bench
from polyopt.cli.cmd_bench import command
from polyopt.errors import UsageError
from polyopt.runtime.toolchain import LEVELS


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """A copy of the environment that a test may change."""
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.pop(levels.VARIABLE, None)


def test_they_are_those_of_polyopt():
    assert {level.name for level in levels.LEVELS.values()} == set(LEVELS)


@pytest.mark.parametrize("short", levels.LEVELS)
def test_compilers_keep_to_the_level(short):
    levels.choose(short)
    name = f"x86-64-{short}"
    assert levels.name() == name
    for chosen in (flags(), *(ccode.flags(peer, "float64", "strict") for peer in ccode.C_PEERS)):
        assert f"-march={name}" in chosen
        assert "-march=native" not in chosen
        assert ("-mprefer-vector-width=512" not in chosen) or short == "v4"


def test_without_a_level_everything_is_for_the_processor():
    assert levels.name() == levels.NATIVE
    assert "-march=native" in ccode.flags("gcc-omp", "float64", "strict")
    assert "-mprefer-vector-width=512" in ccode.flags("gcc-omp", "float64", "strict")


def test_python_peers_keep_to_the_level():
    levels.choose("v3")
    assert os.environ["OPENBLAS_CORETYPE"] == "Haswell"
    assert os.environ["NUMBA_CPU_NAME"] == "x86-64-v3"
    assert os.environ["NUMBA_CPU_FEATURES"] == ""


@pytest.mark.toolchain
def test_a_run_records_its_level():
    levels.choose("v2")
    assert describe()["machine"]["isa"] == "x86-64-v2"
    assert "-march=x86-64-v2" in describe()["flags"]


def test_a_level_that_the_processor_lacks(monkeypatch):
    monkeypatch.setattr(cmd_bench, "processor_features", lambda: ("sse4_1",))
    done = CliRunner().invoke(command, ["gemm", "--suite", "speed", "--isa", "v3"])
    assert isinstance(done.exception, UsageError)
    assert done.exception.code == "PO0224"
