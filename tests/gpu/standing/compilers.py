"""Does nvcc take the text of all kernels, without a warning?

In: a form of a workload.  Out: what nvcc says against it, for each architecture that is supported.
"""

from __future__ import annotations

from polyopt.errors import PolyoptError
from polyopt.ir.host import DeviceProgram
from polyopt.runtime.device.resources import resources_of
from tests.gpu.standing.forms import Form


def judge(form: Form) -> list[str]:
    """Return what is wrong, in words."""
    program = form.compiled().source
    assert isinstance(program, DeviceProgram)
    source = program.source
    entries = tuple(entry.name for entry in source.entries)
    try:
        resources_of(source.text, entries, source.flags)
    except PolyoptError as error:
        return [f"nvcc: {error.message} {'; '.join(error.notes)}"]
    return []
