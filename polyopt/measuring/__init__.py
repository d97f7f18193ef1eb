"""What the running machine is, and how fast.

In: the operating system's lists, a C compiler.  Out: `Machine`, `Rates`, `Capabilities`.
"""
