"""The compilers and libraries that polyopt is measured against, each optional.

In: a program of `workloads/`.  Out: a call of it by a peer; which peers there are.
A peer in Python lives in an environment of its own, outside the project's.
"""
