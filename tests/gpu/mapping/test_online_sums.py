# ruff: noqa: F821, UP037
"""Attention on a device: one kernel, which keeps no matrix of scores."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build, infer_types
from polyopt.pipeline import with_mode
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.targets import FpMode, Options, Target
from tests.heldout.products import recalled, softened
from tests.texts import bare


def attention(q: po.f32["T,D"], k: po.f32["S,D"], v: po.f32["S,E"]):
    s = q @ k.T
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w / np.sum(w, axis=1, keepdims=True)) @ v


def causal(q: po.f32["T,D"], k: po.f32["T,D"], v: po.f32["T,D"]):
    step = np.arange(q.shape[0])
    s = np.where(step[:, None] >= step, q @ k.T, -np.inf)
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w / np.sum(w, axis=1, keepdims=True)) @ v


def packed_heads(qkv: po.f64["B,T,3,H,D"]):
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    s = np.einsum("bthd,bshd->bhts", q, k) * 0.25
    w = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.einsum("bhts,bshd->bthd", w / w.sum(axis=-1, keepdims=True), v)


def half_scores(q: po.f16["T,D"], k: po.f16["S,D"], v: po.f16["S,E"]):
    s = (q @ k.T).astype(np.float32)
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w @ v.astype(np.float32)) / np.sum(w, axis=1, keepdims=True)


SHAPES = {
    attention: (np.float32, (70, 9), (83, 9), (83, 21)),
    causal: (np.float32, *[(70, 17)] * 3),
    packed_heads: (np.float64, (2, 67, 3, 2, 5)),
    recalled: (np.float32, (37, 19), (53, 19), (53, 23)),
    softened: (np.float64, (3, 21, 25), (3, 25, 39), (3, 39, 17)),
    half_scores: (np.float16, (37, 24), (70, 24), (70, 11)),
}


@cache
def compiled(program, fp="reassociate"):
    return po.kernel(target="cuda", device="emulated", fp=fp)(program).compile(*arguments(program))


def arguments(program):
    rng = np.random.default_rng(3)
    dtype, *shapes = SHAPES[program]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.toolchain
@pytest.mark.parametrize("program", [attention, causal, softened], ids=lambda f: f.__name__)
def test_one_kernel_within_the_contract(program):
    check_contract(program)


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("program", [packed_heads, recalled], ids=lambda f: f.__name__)
def test_one_kernel_for_other_layouts(program):
    check_contract(program)


def check_contract(program):
    args = arguments(program)
    made = compiled(program)
    found, wanted = made(*args), program(*args)
    assert found.dtype == wanted.dtype
    far = np.finfo(found.dtype).eps * 40 * max(1.0, float(abs(wanted).max()))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=far)
    text = bare(made.source)
    online = re.findall(r"(?s)__global__.*?(?=__global__|\Z)", text)
    (kernel,) = (part for part in online if "shfl" in part)
    assert "exp" not in "".join(part for part in online if part is not kernel)
    for name in re.findall(r"\*__restrict__ (\w+)", kernel):
        assert name not in {"s", "w", "match", "share", "worth", "chance"}


@pytest.mark.toolchain
@pytest.mark.parametrize("program", [attention, causal], ids=lambda f: f.__name__)
def test_every_length(program):
    made = compiled(program)
    for length in range(1, 71):
        rng = np.random.default_rng(length)
        args = [rng.standard_normal((length, 13)).astype(np.float32) for _ in range(3)]
        np.testing.assert_allclose(made(*args), program(*args), rtol=0, atol=4e-6)


@pytest.mark.toolchain
def test_elements_of_rows_are_in_registers():
    text = bare(compiled(attention).source)
    shared = re.findall(r"__shared__ .*? (\w+)\[", text)
    assert not {"s", "tmp_part", "tmp_1_part", "tmp_2_part"} & set(shared)
    assert "float s[4][4]" in text
    assert text.count("__syncthreads") <= 4  # of the copies of two products
    assert "[-(" not in text


@pytest.mark.toolchain
def test_blocks_right_of_a_triangle_are_left_out():
    text = bare(compiled(causal).source)
    assert re.search(r"for \(long long b = 0; b < i_tile \+ 1; b\+\+\)", text)


@pytest.mark.toolchain
def test_needs_the_mode():
    assert compiled(attention, "strict").source.count("__global__") > 1


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("program", "fp", "far", "matrices"),
    [(causal, "fast", 1e-2, 2), (half_scores, "reassociate", 4e-6, 1)],
    ids=["both, masked", "one"],
)
def test_matrix_instructions_compute_the_products(program, fp, far, matrices):
    args = arguments(program)
    made = compiled(program, fp)
    np.testing.assert_allclose(made(*args), program(*args), rtol=0, atol=far)
    (kernel,) = (part for part in made.source.split("__global__")[1:] if "shfl" in part)
    assert len(re.findall(r"po_mma_\w+\(", kernel)) == matrices
    assert "exp" in kernel


def test_needs_shuffles():
    options = Options(fp=FpMode.REASSOCIATE, target=Target.OPENCL)
    scop = with_mode(build(attention, infer_types(attention)), options).scop
    assert not GpuModel.of(Target.OPENCL).shuffles
    for model, is_online in ((GpuModel.of(Target.OPENCL), False), (GpuModel(), True)):
        assert ("online(" in auto_schedule_gpu(scop, model).text) is is_online
