"""Sweeps over sizes: texts, their sizes, the cells of workloads.

In: nothing.  Out: nothing.
"""

import pytest

import workloads
from bench.speed.suite import SpeedRequest, cells
from bench.sweeps import Sweep, parse, sizes_of


@pytest.mark.parametrize(
    "text, names, values",
    [
        ("n=64..512", ("n",), (64, 128, 256, 512)),
        ("n=64..300", ("n",), (64, 128, 256, 300)),
        ("N=100..400:150", ("N",), (100, 250, 400)),
        ("N=100..420:150", ("N",), (100, 250, 400, 420)),
        ("NI=NJ=5..5", ("NI", "NJ"), (5,)),
        ("A[0]=2..4", ("A[0]",), (2, 4)),
    ],
)
def test_a_sweep_doubles_or_steps_up_to_its_last_size(text, names, values):
    assert parse(text) == Sweep(names, values)


@pytest.mark.parametrize("text", ["n", "n=5", "n=5..", "n=0..5", "n=8..4", "=1..2", "n=1..9999:1"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"n=64\.\.4096|first size|more than 200 sizes"):
        parse(text)


def test_a_workload_takes_swept_sizes_and_the_others_of_its_data_set():
    gemm = workloads.get("gemm")
    large = gemm.at("LARGE")
    assert sizes_of(gemm, "LARGE") == large
    assert sizes_of(gemm, "LARGE NI=NJ=64") == {**large, "NI": 64, "NJ": 64}


def test_every_size_of_a_sweep_is_a_cell():
    request = SpeedRequest(
        ("gemm",), ("MINI",), modes=("strict",), threads=(1,), sweep=parse("NI=NK=2..4")
    )
    assert [cell.dataset for cell in cells(request)] == ["MINI NI=NK=2", "MINI NI=NK=4"]
