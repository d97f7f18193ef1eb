"""crc32: the checksum of a message by a table of 256 entries made on the fly."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 20},
    "SMALL": {"N": 200},
    "MEDIUM": {"N": 2000},
    "LARGE": {"N": 100000},
    "EXTRALARGE": {"N": 1000000},
}
OUTPUTS = ("return",)
DTYPE = np.uint8


def crc32(data: po.u8["N"]):
    table = np.zeros(256, dtype=np.uint32)
    for n in range(256):
        c = np.uint32(n)
        for _ in range(8):
            low = c & np.uint32(1)
            c = c >> np.uint32(1)
            if low:
                c ^= np.uint32(0xEDB88320)
        table[n] = c
    crc = np.uint32(0xFFFFFFFF)
    for i in range(len(data)):
        crc = table[(crc ^ data[i]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def make(N, dtype):
    return {"data": integers(1, 256, N).astype(dtype)}
