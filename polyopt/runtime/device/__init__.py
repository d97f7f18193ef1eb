"""Devices: what runs kernels that are not C."""
