"""crc16: the checksum of a message, bit by bit."""

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


def crc16(data: po.u8["N"]):
    crc = 0xFFFF
    for i in range(len(data)):
        b = 0xFF & data[i]
        cur_byte = b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


def make(N, dtype):
    return {"data": integers(1, 256, N).astype(dtype)}
