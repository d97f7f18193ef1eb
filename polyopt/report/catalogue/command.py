"""Codes of the command line and of files."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

COMMAND: dict[str, Entry] = {
    "PO0600": Entry(
        "the command line is malformed", "polyopt runn gemm.py:gemm", "see `polyopt --help`"
    ),
    "PO0601": Entry(
        "a file does not exist", "polyopt run gem.py:gemm", "paths are relative to the directory"
    ),
    "PO0602": Entry(
        "a file cannot be read as Python text",
        "polyopt run image.py:f, where image.py is a picture",
        "check permissions and encoding; Python files are UTF-8 unless they say otherwise",
    ),
    "PO0603": Entry(
        "a file has a syntax error", "def f(a:", "correct the line; Python would refuse it too"
    ),
    "PO0604": Entry(
        "running a file to find its functions failed",
        "import a_module_that_is_not_installed",
        'correct the line; put scripts under `if __name__ == "__main__":`',
    ),
    "PO0605": Entry(
        "a file has no function of this name",
        "polyopt run gemm.py:gem",
        "the message names the closest function, or all of them",
    ),
    "PO0606": Entry(
        "the name does not stand for a Python function",
        "polyopt run gemm.py:SIZES",
        "name a function defined with `def`, plain or decorated with `po.kernel`",
    ),
    "PO0607": Entry(
        "the target does not name a function of a file",
        "polyopt run gemm",
        "write FILE.py:FUNCTION; the function may be left out where the file has one",
    ),
    "PO0608": Entry(
        "`--types` is malformed",
        '--types "f64[;;]"',
        'write one type an argument: --types "f64[:,:],f32[:],i64,=2"',
    ),
    "PO0609": Entry(
        "`--sizes` is malformed, contradicts itself, or names an unknown size",
        "--sizes N=-1",
        "write --sizes N=100,A=50x60 with the names the message lists",
    ),
    "PO0610": Entry(
        "a file of arrays is missing, cannot be read, or lacks an argument",
        "--npz data.npz, without the array `A`",
        "store every argument by name: np.savez(path, A=A, B=B)",
    ),
    "PO0611": Entry(
        "the type or value of an argument cannot be told from the function",
        "def f(a, b): return a + b",
        'annotate the arguments, `a: po.f64["N"]`, or give --types',
    ),
    "PO0612": Entry(
        "an argument is used with different ranks",
        "n, m = A.shape\nreturn A[0, 0, 0]",
        "correct the function, or give --types",
    ),
    "PO0613": Entry(
        "the source of a function is not at hand",
        "a function made by exec",
        "define it with `def` in a file",
    ),
    "PO0614": Entry(
        "a file or directory cannot be written",
        "polyopt compile gemm.py:gemm -o /proc",
        "choose another place",
    ),
    "PO0615": Entry("there is no such error code", "polyopt explain PO9999", "see this page"),
    "PO0616": Entry(
        "the comparison harness is not here",
        "polyopt bench, where the package was copied without its folder `harness`",
        "install a wheel of polyopt, or run it in the directory that holds bench/ and workloads/",
    ),
    "PO0617": Entry(
        "results differ from the Python function's by more than rounding explains",
        "polyopt run f.py:f --check",
        "`polyopt bisect` names the step to blame; please report it with the program",
    ),
    "PO0619": Entry(
        "the chosen sizes do not fit the program",
        "--sizes N=1, for a function that reads a[2]",
        "choose others with --sizes",
    ),
    "PO0621": Entry(
        "a comment for polyopt says nothing about a loop",
        "# polyopt: paralel, or any such comment away from a `for` loop",
        "write `# polyopt: parallel` or `# polyopt: fusable` on the loop's line or alone above it",
    ),
    "PO0622": Entry(
        "a file is not a certificate, or a malformed one",
        "polyopt check gemm.certificate.json, after the file was cut short",
        "compile the function again; certificates are not written by hand",
    ),
    "PO0623": Entry(
        "a C file has no certificate, or is not the text of the loops that were proven",
        "polyopt check gemm.c, after a number in it was changed",
        "compile the function again; the message shows the line that differs",
    ),
    "PO0624": Entry(
        "a claim of a certificate cannot be proven again",
        "polyopt check gemm.c, after a loop's bound in the certificate was changed",
        "compile the function again, with the version of polyopt that checks it",
    ),
    "PO0625": Entry(
        "C text accesses an element outside of its array",
        "polyopt check f.c, with `for (int i = 0; i <= n; i++) a[i] = 0;` over `double a[n]`",
        "shorten the loop, or declare the array as long as it is used",
    ),
    "PO0626": Entry(
        "iterations of a parallel loop of C text share an element that one of them writes",
        "polyopt check f.c, with `#pragma omp parallel for` at a loop of `a[i] = a[i - 1];`",
        "make the variable private, a reduction, or leave the loop to one thread",
    ),
    "PO0627": Entry(
        "an option that regions of C files do not have",
        "polyopt compile file.c --target cuda",
        "leave the option out",
    ),
    "PO0628": Entry(
        "C text, or a piece of it, that cannot be judged",
        "polyopt check f.c, with a `while` loop, or a subscript that is read from memory",
        "give extents to array parameters, write loops that count; the message shows the piece",
    ),
    "PO0629": Entry(
        "index arithmetic of C text leaves its integer type",
        "polyopt check f.c, with `a[i * n + j]` for `int` counters and sizes",
        "compute subscripts and counters in `int64_t`",
    ),
    "PO0630": Entry(
        "there is no assembly of a kernel for a device",
        "polyopt explain f.py:f --level assembly --target cuda",
        "look at the kernels themselves with --level code",
    ),
    "PO0631": Entry(
        "a question of --why-not is none",
        "polyopt explain f.py:f --why-not parallelism",
        "write parallel:LOOP, vectorize:LOOP, tile:LOOP or fuse:LOOP,LOOP; a loop is its name or "
        "its line",
    ),
    "PO0632": Entry(
        "an explanation is asked for at a level that there is not",
        'kernel.explain(level="loops")',
        "levels are summary, nest, code, assembly and full",
    ),
    "PO0633": Entry(
        "a file is not a saved kernel, or a damaged one",
        "po.load(path) of a file that was cut short",
        "save the kernel again: compiled.save(path)",
    ),
    "PO0634": Entry(
        "a saved kernel has a format that this version of polyopt does not read",
        "po.load(path) of a file that another version wrote",
        "save the kernel again, with the version of polyopt that loads it",
    ),
    "PO0635": Entry(
        "a saved kernel is for another system or processor",
        "po.load(path) of a kernel with AVX-512 on a processor that lacks it",
        "save it there, or with POLYOPT_MACHINE=x86-64-v3 for all processors of a level",
    ),
    "PO0636": Entry(
        "a call of a saved kernel gives it other arguments than it takes",
        "po.load(path)(x), of a kernel of x and y",
        "pass every argument: a saved kernel has no defaults",
    ),
    "PO0637": Entry(
        "kernels of devices cannot be saved",
        'po.kernel(f, target="cuda").compile(x).save(path)',
        "compile for target C, or write the text with polyopt compile",
    ),
    "PO0639": Entry(
        "a file of schedules that tuning found cannot be read, or a line of it is none",
        "POLYOPT_TUNINGS=tunings.jsonl, and no such file",
        "`polyopt tune --save tunings.jsonl` makes one; remove lines that it did not write",
    ),
    "PO0640": Entry(
        "the host's part of a kernel for a device cannot be exported",
        "polyopt export k.py:above -o out --target cuda, where sizes are found on the device",
        "export it for C, or write the kernels' text alone with polyopt compile",
    ),
    "PO0641": Entry(
        "a kernel that calls NumPy or SciPy cannot be exported: there is no Python",
        "polyopt export k.py:solved -o out, where it calls np.linalg.solve",
        "export a function without that call, or save the kernel for po.load",
    ),
    "PO0642": Entry(
        "a kernel made for arguments that share memory cannot be exported",
        "po.kernel(f).export('out', x[1:], x[:-1]), where f writes the first",
        "export it for arrays that are apart",
    ),
    "PO0643": Entry(
        "a name cannot be used for an exported program, its kernels or their results",
        "polyopt export a.py:f b.py:f -o out",
        "give a name of letters and digits with --name, and rename functions or arguments",
    ),
}
