"""The kernel as a library in the package; it is no extension module, `ctypes` loads it."""

from setuptools import Extension, setup

FLAGS = ["-std=c11", "-O3", "-march=native", "-fopenmp", "-ffp-contract=off", "-fwrapv"]

setup(
    packages=["demo"],
    ext_modules=[
        Extension(
            "demo._scaled",
            ["kernel/scaled.c"],
            extra_compile_args=FLAGS,
            extra_link_args=["-fopenmp"],
            libraries=["m"],
        )
    ],
)
