"""Codes of emission, of compilers and libraries, of budgets, and of defects of polyopt itself."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

_REPORT = "this is a defect of polyopt; please report it with the program"

TOOLCHAIN: dict[str, Entry] = {
    "PO0401": Entry(
        "complex numbers have no order in C",
        "np.maximum(z, w) of complex arrays",
        "compare magnitudes, `np.abs(z)`",
    ),
    "PO0402": Entry(
        "a function does not exist in C for this element type",
        "np.cbrt(z) of a complex array",
        "use a real array, or another function",
    ),
    "PO0403": Entry(
        "an operator is not defined on bool", "flags[i] << 1", "convert with `.astype(np.int64)`"
    ),
    "PO0405": Entry(
        "a loop over the threads of a block has no constant length",
        "threads(L1) where L1 runs over all rows of a matrix",
        "tile the loop first, and put its point loop on the threads",
    ),
    "PO0408": Entry(
        "the loops that a pipeline was asked for do not begin with copies",
        "pipeline(k_tile, 2) where the array that is packed has no place in shared memory",
        "pack what the loop reads in tiles that are small, and deal the copies to threads",
    ),
    "PO0409": Entry(
        "the stages of a pipeline take more shared memory than any device gives a block",
        "pipeline(k_tile, 8) of tiles of 128 rows and 128 columns",
        "ask for fewer stages, or tile the loop smaller",
    ),
    "PO0410": Entry(
        "a nest cannot run on matrix instructions: it is not a tile of products of shared operands",
        "tensorize(L0.point, 64, 32) where A is not packed",
        "pack both operands at the loop over tiles of terms; tensorize nests that access results",
    ),
    "PO0411": Entry(
        "the language has no such atomic operation",
        "atomic(S0) on float sums with target='opencl'",
        "leave `atomic` out of the schedule, or use target='cuda'",
    ),
    "PO0420": Entry("a size is not an integer expression over sizes", "internal", _REPORT),
    "PO0501": Entry(
        "no C compiler is installed, or not the one asked for",
        "CC=icc polyopt run gemm.py:gemm",
        "install the package named in the message; `polyopt check` and `compile` need none",
    ),
    "PO0502": Entry("the C compiler refused emitted code", "internal", _REPORT),
    "PO0503": Entry(
        "a built library cannot be loaded",
        "a cache directory on a file system mounted noexec",
        "choose another directory with POLYOPT_CACHE_DIR",
    ),
    "PO0504": Entry(
        "the C compiler took too long",
        "a function with thousands of statements",
        "split the function, or unroll less",
    ),
    "PO0505": Entry(
        "the C compiler could not be run",
        'CC="gcc -O3"',
        "set CC or POLYOPT_CC to the name of a working gcc or clang, without flags",
    ),
    "PO0506": Entry(
        "there is no space to build in",
        "a full temporary directory",
        "free some space, or set TMPDIR or POLYOPT_CACHE_DIR to another disk",
    ),
    "PO0507": Entry(
        "a library function needs a package that is not installed, or a newer one",
        "a kernel that calls scipy.linalg.lu_factor where SciPy is not installed",
        "install the package that the message names",
    ),
    "PO0508": Entry(
        "the race check needs gcc and binutils",
        'Checker(compiler="clang")',
        "install gcc; kernels themselves may be built by any compiler",
    ),
    "PO0509": Entry(
        "a kernel cannot be checked for races: it crashes, it takes too long, or its threads wait "
        "for each other",
        "C text with `#pragma omp barrier` in a parallel region",
        "smaller arguments; for threads that wait, the size of the team: `Rules(team=64)`",
    ),
    "PO0510": Entry(
        "there is no CUDA device, or no driver for it",
        'po.kernel(target="cuda") on a machine without an NVIDIA GPU',
        'install the NVIDIA driver, or use `device="emulated"` or `target="opencl"`',
    ),
    "PO0511": Entry(
        "there is no OpenCL device that can be used",
        'po.kernel(target="opencl") where no platform is installed',
        'install one; `pip install "pyopencl[pocl]"` runs OpenCL on the CPU',
    ),
    "PO0512": Entry(
        "a Python package that reaches a device is not installed, or does not load",
        'po.kernel(target="opencl") without pyopencl',
        "install the extra that the message names",
    ),
    "PO0513": Entry(
        "there is no device of this number or name",
        'po.kernel(target="cuda", device=3) on a machine with one GPU',
        "`polyopt devices` lists the devices",
    ),
    "PO0514": Entry(
        "no CUDA compiler is installed, or it does not work",
        'po.kernel(target="cuda") without nvcc and NVRTC',
        'set CUDA_HOME to a CUDA toolkit, or `pip install "polyopt[cuda-nvrtc]"`',
    ),
    "PO0515": Entry("a device's compiler refused emitted text", "internal", _REPORT),
    "PO0516": Entry(
        "a kernel's blocks have more threads than the device allows",
        "threads(L0) of a tile of 64 x 64 iterations, each a thread",
        "use smaller tiles on the threads' loops",
    ),
    "PO0517": Entry(
        "a kernel's blocks need more shared memory than the device has for one",
        "packing two tiles of 128 x 128 float64 into shared memory",
        "use smaller tiles, or pack fewer arrays",
    ),
    "PO0518": Entry(
        "a kernel's grid has more blocks than the device allows",
        "a grid of 70000 blocks in its second dimension",
        "use larger tiles on the grid's loops",
    ),
    "PO0519": Entry(
        "an operation of a device failed",
        "a GPU that another program has made unusable",
        "start the process anew; `polyopt devices` shows whether the device answers",
    ),
    "PO0520": Entry(
        "the emulator, which runs CUDA text on the CPU, needs gcc with C++, on Linux",
        'po.kernel(target="cuda", device="emulated") without g++',
        "install g++ and binutils",
    ),
    "PO0521": Entry(
        "a kernel is wrong: on the emulator its threads raced, waited for each other in vain, or "
        "accessed memory that they may not access",
        "CUDA text without the barrier between writing a tile and reading it",
        _REPORT,
    ),
    "PO0522": Entry(
        "the program that measures the machine's speed did not end as it should",
        "`polyopt machine --measure` with too little memory",
        "give the numbers in a file that POLYOPT_MACHINE names, or go on with assumed ones",
    ),
    "PO0523": Entry(
        "C files are read by tree-sitter, which is not installed",
        "polyopt compile file.c",
        "install the extra: pip install 'polyopt[c]'",
    ),
    "PO0524": Entry(
        "pages are written by jinja2, which is not installed",
        "polyopt view f.py:f",
        "install the extra: pip install 'polyopt[report]'",
    ),
    "PO0525": Entry(
        "a kernel is made or loaded in a subinterpreter, which NumPy and islpy do not support",
        "po.kernel(f) in an application under mod_wsgi that has several interpreters",
        "run the application in the first interpreter (WSGIApplicationGroup %{GLOBAL}), or in "
        "processes of its own",
    ),
    "PO0701": Entry(
        "a question about integer sets needed more steps than its budget",
        "a nest of many loops with large coefficients",
        'split the function; the source\'s own order always works: schedule="source"',
    ),
    "PO0702": Entry(
        "memory for a result or a temporary could not be had",
        "a kernel that makes an array larger than the memory",
        "use smaller sizes",
    ),
    "PO0703": Entry(
        "a compilation took longer than its budget of seconds",
        "a function of thousands of statements",
        "allow more (`budget=120`, POLYOPT_BUDGET=120), or split the function",
    ),
    "PO0704": Entry(
        "an expression or a loop nest is nested too deeply to be followed",
        "a sum of thousands of terms in one line",
        "write long sums as loops, and name parts of deep expressions",
    ),
    "PO0705": Entry(
        "the loops made for a function could not be proven to be the function, in any form, within "
        "the budget; unproven loops never run. The message names the claim that is open",
        "a function of hundreds of statements, with POLYOPT_BUDGET=1",
        "give it more time with `budget=` or POLYOPT_BUDGET, or compile a smaller function; if a "
        "claim is refuted, polyopt is wrong: please report the function",
    ),
    "PO0706": Entry(
        "the C text of a kernel is too long to be compiled",
        "a schedule of ten tilings in one another",
        "unroll less, tile fewer times, or split the function",
    ),
    "PO0707": Entry(
        "a device has not enough free memory",
        "arrays of 100 GB on a GPU of 80 GB",
        "use smaller arrays, or free what other programs keep on the device",
    ),
    "PO0708": Entry(
        "temporaries do not fit in the memory that `memory` allows",
        'po.kernel(f, memory="1kB") where each row of the result needs a whole matrix',
        "allow as much as the message names, use smaller arrays, or write results into arguments",
    ),
    "PO0709": Entry(
        "the bytes of a temporary are not known, so that `memory` cannot limit them",
        'po.kernel(f, memory="64MB") on `t = np.zeros(n)`, n an argument',
        "take the size from the shape of an array, or leave `memory` out",
    ),
    "PO0901": Entry("polyopt failed on its own account", "internal", _REPORT),
    "PO0902": Entry("an argument's value was asked for twice", "internal", _REPORT),
    "PO0903": Entry("a library function gave something unexpected", "internal", _REPORT),
    "PO0904": Entry("a kernel ended in an unknown way", "internal", _REPORT),
    "PO0905": Entry("the library for integer sets failed", "internal", _REPORT),
    "PO0910": Entry("the interpreter met an element outside its array", "internal", _REPORT),
    "PO0911": Entry("the interpreter met a malformed loop or statement", "internal", _REPORT),
    "PO0912": Entry("the interpreter was given arrays that do not fit", "internal", _REPORT),
    "PO0913": Entry("an order does not give every iteration one time", "internal", _REPORT),
    "PO0914": Entry("parallel iterations of a loop access one element", "internal", _REPORT),
    "PO0918": Entry("a device's kernel or memory gets an unsupported value", "internal", _REPORT),
    "PO0920": Entry(
        "the program that polyopt read from a function gives other results than the function, for "
        "the small random call that the message names: `kernel.verify()`, `polyopt run --verify` "
        "and POLYOPT_VERIFY=1 look for one",
        "POLYOPT_VERIFY=1, and a function that polyopt reads wrong",
        "please report the function with the call; until then POLYOPT_DISABLE=1 runs the Python "
        "function",
    ),
}
