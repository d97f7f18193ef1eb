"""Running device programs: the host's loops in Python, the kernels on a device.

In: a `DeviceProgram`, a provider.  Out: a kernel that is called like any other.
"""

from polyopt.hosting.devices import provider_for
from polyopt.hosting.kernel import DeviceKernel, load_program

__all__ = ["DeviceKernel", "load_program", "provider_for"]
