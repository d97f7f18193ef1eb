"""Products of fragments on devices without the instruction: the same by shuffles."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit.gpu.fragments import MATRIX_HELPERS
from polyopt.emulator import EmulatedProvider

KERNEL = """
extern "C" __global__ void k(const unsigned *x, float *z)
{
    const int t = (int)threadIdx.x;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = x[6 * t + i];
    for (int i = 0; i < 2; i++)
        b[i] = x[6 * t + 4 + i];
    float *d = z + 8 * t, *e = d + 4;
    FUNCTION(d[0], d[1], d[2], d[3], a, b);
    plain(e[0], e[1], e[2], e[3], a, b);
}
"""


def plain_text(name: str) -> str:
    """Return what the helper does before sm_80, as a function of its own."""
    lines, skips = ["static __device__ inline float po_half_value(unsigned bits)"], False
    lines.append("{ return pe_half_value((unsigned short)bits); }")
    for line in MATRIX_HELPERS[name][-MATRIX_HELPERS[name][::-1].index("{") - 3 :]:
        if line.startswith("#if __CUDA_ARCH__"):
            skips = True
        elif line.startswith("#else"):
            skips = False
        elif not (skips or line.startswith("#")):
            lines.append(line.replace(name, "plain"))
    return "\n".join(lines)


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", ["m16n8k8_tf32", "m16n8k16_f16", "m16n8k16_bf16"])
def test_shuffles_do_what_the_instruction_does(kind: str) -> None:
    name = f"po_mma_{kind}"
    random = np.random.default_rng(3)
    numbers = random.uniform(-2, 2, 32 * 6 * 2).astype(np.float32)
    match kind.rpartition("_")[2]:
        case "tf32":
            bits = numbers[: 32 * 6].view(np.uint32) & np.uint32(0xFFFFE000)
        case "f16":
            bits = numbers.astype(np.float16).view(np.uint32)
        case _:
            bits = (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    start = np.tile(random.uniform(-1, 1, (32, 4)).astype(np.float32), 2)
    provider = EmulatedProvider()
    text = plain_text(name) + KERNEL.replace("FUNCTION", name)
    module = provider.compile(text, ("k",))
    buffers = [provider.alloc(array.nbytes) for array in (bits, start)]
    for buffer, array in zip(buffers, (bits, start), strict=True):
        provider.upload(buffer, array)
    provider.launch(module, "k", (1, 1, 1), (32, 1, 1), buffers)
    found = np.empty_like(start)
    provider.download(buffers[1], found)
    assert not np.array_equal(found, start)
    assert np.allclose(found[:, :4], found[:, 4:], rtol=1e-5, atol=1e-5)
