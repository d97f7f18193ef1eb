"""Mappings to devices chosen automatically, composed of proven steps."""

from polyopt.strategy.gpu.auto import auto_schedule_gpu
from polyopt.strategy.gpu.model import GpuModel

__all__ = ["GpuModel", "auto_schedule_gpu"]
