"""Passes that make kernels: what is cut out, where threads wait, what registers hold."""
