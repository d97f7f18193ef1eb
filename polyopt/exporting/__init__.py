"""Compiled functions as files for projects without Python: text, header, proof, package, program.

In: what compilations made, a directory.  Out: texts by name, and files.
Refuses: kernels that cannot run without Python or a device's driver (PO0640, PO0641, PO0642).
"""
