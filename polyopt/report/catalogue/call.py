"""Codes of a call's arguments and of options."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

CALL: dict[str, Entry] = {
    "PO0201": Entry(
        "the arguments do not bind to the function's parameters",
        "kernel(a), where the function takes two arguments",
        "pass one value for each parameter without a default",
    ),
    "PO0202": Entry(
        "an element type polyopt does not compute with",
        "kernel(np.array([1, None]))",
        "convert the array, for example with `.astype(np.float64)`",
    ),
    "PO0203": Entry(
        "shapes that do not fit together",
        "gemm(C, A, B) with A of shape (4, 5) and B of shape (6, 7)",
        "pass arrays whose common dimensions are equal",
    ),
    "PO0204": Entry(
        "an array that the kernel writes is read-only",
        "a.flags.writeable = False; kernel(a)",
        "pass a copy",
    ),
    "PO0205": Entry(
        "an array that the kernel writes shares elements with another argument, and the two are "
        "not parts of one array: other element types, strides that do not match",
        "kernel(a, a.view(np.int64)); compiled(a, a), compiled for arrays apart",
        "pass a copy of one of them; call the kernel itself, which compiles for arrays that share "
        "memory",
    ),
    "PO0206": Entry(
        "something that is not an array where an array is needed",
        "kernel([1.0, 2.0])",
        "convert it with `np.array`; pass the items of a tuple of arrays one by one; give masked "
        "elements a value with `.filled`",
    ),
    "PO0207": Entry(
        "another element type than the kernel was compiled for, or than an annotation says",
        "compiled(a.astype(np.float32)), compiled for float64\n"
        'kernel(a.astype(np.float32)), of a function with `a: po.f64["N"]`',
        "convert the array before the call, annotate what is passed, or leave the annotation out: "
        "kernels without annotations compile for new types",
    ),
    "PO0208": Entry(
        "another rank than the kernel was compiled for, or than an annotation says",
        "compiled(matrix), compiled for vectors",
        "call the kernel itself, which compiles for new types, or annotate what is passed",
    ),
    "PO0209": Entry(
        "another memory layout than the kernel was compiled for",
        "compiled(a.T), compiled for contiguous arrays",
        "call the kernel itself, or pass `np.ascontiguousarray(a)`",
    ),
    "PO0210": Entry(
        "an integer out of range",
        "kernel(a, 2**70)",
        "pass a value that fits 64 bits and the size of the memory",
    ),
    "PO0211": Entry(
        "elements that are not aligned",
        "kernel(np.frombuffer(data, np.float64, offset=1))",
        "pass a copy",
    ),
    "PO0212": Entry(
        "a written array whose own elements share memory",
        "kernel(np.broadcast_to(a, (3, 4)))",
        "pass a copy",
    ),
    "PO0213": Entry(
        "another value than the one compiled in",
        "compiled(a, axis=1), compiled for axis=0",
        "call the kernel itself, which compiles for new values",
    ),
    "PO0214": Entry(
        "a size is negative",
        "kernel(n=-1), for a kernel that makes an array of n elements",
        "pass 0 or more",
    ),
    "PO0215": Entry(
        "something that is not a number where a number is needed",
        'kernel(a, "2")',
        "pass an int, a float or a NumPy scalar",
    ),
    "PO0216": Entry(
        "an array on a device is of a kind that kernels do not take, or cannot be fetched here",
        "kernel(x) for a CuPy array with a mask",
        "convert or copy it with the library that made it",
    ),
    "PO0217": Entry(
        "the argument of `po.on_stream` is not a CUDA stream",
        "with po.on_stream(None): kernel(x)",
        "pass a stream of CuPy, PyTorch, pycuda or cuda.core, or its number",
    ),
    "PO0221": Entry(
        "an option that does not exist",
        "@po.kernel(thread=2)",
        "options are fp, threads, schedule, compiler, budget, target, device and tune",
    ),
    "PO0222": Entry(
        "an option's value is wrong",
        '@po.kernel(fp="loose")',
        "see the list in the message",
    ),
    "PO0223": Entry(
        "something that cannot be compiled where a function is needed",
        "po.kernel(3)",
        "pass a Python function",
    ),
    "PO0224": Entry(
        "a variable of the environment or a setting has a wrong value",
        "POLYOPT_NUM_THREADS=many",
        "unset it, or write what the message asks for",
    ),
    "PO0225": Entry(
        "an argument's value decides the code and was not given",
        "kernel.compile(po.f64[:, :], int), where the integer is an axis",
        "pass an example value or `po.ConstType(value)`",
    ),
    "PO0226": Entry(
        "a value of type bfloat16 without the package that NumPy's type is from",
        'kernel.compile(po.bf16["N"]), where ml_dtypes is not installed',
        'install it: `pip install "polyopt[halffloat]"`',
    ),
    "PO0227": Entry(
        "a call that cannot be tuned for: it cannot be repeated on copies of its arguments",
        "kernel.tune(10.0, a[1:], a[:-1])",
        "leave `tune` out, or tune with separate arrays on the target c",
    ),
    "PO0228": Entry(
        "a value that a compiled kernel captures is another one than it was compiled for",
        "K = 2.0\ncompiled = kernel.compile(a)  # of a function that uses K\nK = 3.0\ncompiled(a)",
        "call the kernel itself, which compiles again, or compile it again",
    ),
    "PO0229": Entry(
        "a derivative by a parameter that the function has not, or one that is run as Python",
        'po.grad(loss, "weight") of a function with the parameter `weights`',
        "name a parameter, or give its position; leave POLYOPT_DISABLE unset",
    ),
    "PO0230": Entry(
        "`po.vmap` with axes for parameters that the function has not",
        "po.vmap(f, in_axes=(0, 0)) of a function with one parameter",
        "give an axis for each parameter, or a dict of names; None for what all examples share",
    ),
    "PO0231": Entry(
        "a subscript found while the kernel ran is outside its array (an IndexError)",
        "y[i] = x[index[i]], where index holds a number that x has no element for",
        "check the subscripts before the call; arrays hold the results computed so far",
    ),
    "PO0232": Entry(
        "values found while the kernel ran do not fit together (a ValueError)",
        "a length found by the kernel that differs from the array's it is stored into",
        "check the values before the call; arrays hold the results computed so far",
    ),
    "PO0233": Entry(
        "a divisor found while the kernel ran is zero (a ZeroDivisionError)",
        "a loop whose step or bound divides by a number in an array",
        "check the values before the call; arrays hold the results computed so far",
    ),
    "PO0234": Entry(
        "a number found while the kernel ran is too large for its use (an OverflowError)",
        "a size of more than 2**48, or an integer of more than 64 bits, found by the kernel",
        "check the values before the call; arrays hold the results computed so far",
    ),
    "PO0235": Entry(
        "an `assert` did not hold while the kernel ran (an AssertionError)",
        "assert error < tolerance",
        "see what the assertion says; arrays hold the results computed so far",
    ),
    "PO0236": Entry(
        "the function that was run raised an exception of its own",
        "polyopt run solve.py:solve, where numpy.linalg.solve meets a singular matrix",
        "pass values that the function takes, with --npz, or choose other sizes",
    ),
    "PO0237": Entry(
        "`[tool.polyopt]` in a pyproject.toml, or a user's config.toml, holds something wrong",
        "[tool.polyopt]\nthreads = 2  # it is called num-threads",
        "`polyopt config` lists the settings; what runs programs or loads files "
        "(`cc`, `nvcc`, `cache-dir`) is the user's alone to set",
    ),
    "PO0238": Entry(
        "a target that another package offers cannot be loaded, or is none",
        'po.kernel(f, target="sketch"), where the entry point of `polyopt.targets` names no module',
        "use another target, or mend or remove the package that the message names",
    ),
    "PO0239": Entry(
        "a dimension in an annotation is none",
        'x: po.f64["N,M-"]',
        'write `:`, names, whole numbers, or sums and products of these: `po.f64["N,2*M+1"]`',
    ),
    "PO0242": Entry(
        "a statement is no product that a BLAS library computes",
        "library(S0) on C[i, j] += A[i, k] * A[k, j] * B[k, j], or on loops over a triangle",
        "name a sum of products of a matrix and another matrix, or a vector, over a box",
    ),
    "PO0243": Entry(
        "the loops around a product cannot be handed to a library",
        "library(S1) where S1 shares its loops with S0, or in a parallel loop",
        "distribute the loops first, and leave steps on the loops of the product out",
    ),
    "PO0244": Entry(
        "the source fixes the order of a sum that a library would make in its own",
        "library(S0) on C[i, j] += A[i, k] * B[k, j] under fp='strict'",
        "write the sum as `@`, or use fp='reassociate'",
    ),
    "PO0245": Entry(
        "a step after `library` changed the loops of the product",
        "library(S1); reverse(i)",
        "put `library` behind the steps on these loops, or leave them out",
    ),
    "PO0246": Entry(
        "a kernel hands products to a BLAS library, and none is installed",
        "schedule='library(S1)', on a system without OpenBLAS whose NumPy brings none",
        "install OpenBLAS, or NumPy or SciPy from PyPI; or leave `library` out",
    ),
    "PO0247": Entry(
        'a value that fuse="all" would recompute cannot be recomputed',
        'po.kernel(f, fuse="all") on `x[:] = x / np.sum(x)`, which overwrites what the sum reads',
        "leave `fuse` out: the automatic schedule stores the value that the message names",
    ),
    "PO0248": Entry(
        'fuse="all" would make a program of too many statements',
        'po.kernel(f, fuse="all") where each of 20 outputs needs the same 20 temporaries',
        "leave `fuse` out, or split the function",
    ),
    "PO0249": Entry(
        "`fuse` contradicts another option",
        'po.kernel(f, fuse="all", schedule="tile(L0, 32)"), or with target="cuda"',
        "leave out one of the options",
    ),
}
