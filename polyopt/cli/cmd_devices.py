"""`polyopt devices`: what kernels can run on besides the processor, and what is missing.

In: the machine.  Out: devices with their limits, compilers and packages, what is not there.
"""

from __future__ import annotations

from textwrap import fill

import click

from polyopt.cli.cmd_cache import show_size
from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import json_option
from polyopt.dataclass import asdict
from polyopt.runtime.device.choose import Found, Missing, survey
from polyopt.runtime.device.provider import Limits


@click.command("devices")
@json_option
def command(as_json: bool) -> None:
    """List devices with the number that chooses them, and what is missing to have more."""
    known = survey()
    if as_json:
        devices = [{**asdict(device), "target": device.target.value} for device in known.devices]
        missing = [asdict(thing) for thing in known.missing]
        result_json({"devices": devices, "tools": list(known.tools), "missing": missing})
        return
    for device in known.devices:
        result(show_device(device))
    for tool in known.tools:
        result(f"found: {tool}")
    for thing in known.missing:
        result(show_missing(thing))


def show_device(device: Found) -> str:
    """Return what is known of a device."""
    head = f'target="{device.target.value}", device={device.number}'
    lines = [f"{head}: {device.name}", f"    {device.version}, {show_size(device.memory)} memory"]
    if device.limits is not None:
        lines.append(f"    {_limits(device.limits)}")
    if device.fault:
        lines.append(f"    cannot be used: {device.fault}")
    return "\n".join(lines)


def show_missing(thing: Missing) -> str:
    """Return what is missing and how to get it."""
    advice = fill(thing.fix, 96, initial_indent="    ", subsequent_indent="    ")
    return f"missing: {thing.reason}\n{advice}"


def _limits(limits: Limits) -> str:
    shared = show_size(limits.shared_at_most)
    return f"{limits.arch}, blocks of {limits.threads_per_block} threads, {shared} shared memory"
