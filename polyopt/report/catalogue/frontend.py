"""Codes of the front end: what a function may not contain, and sizes that do not fit at a call."""

from __future__ import annotations

from polyopt.report.catalogue.entry import Entry

FRONTEND: dict[str, Entry] = {
    "PO0101": Entry(
        "the source text of the function cannot be read",
        'exec("def f(a): a[0] = 1")',
        "define the function in a file, with whole lines that parse on their own",
    ),
    "PO0102": Entry(
        "the object is not a plain Python function",
        "po.kernel(lambda a: a + 1).compile(a)",
        "write it as `def name(...):`",
    ),
    "PO0103": Entry(
        "the arguments do not fit the function's parameters",
        "def f(a, *rest): ...",
        "give every parameter a name and pass one value for each",
    ),
    "PO0104": Entry(
        "the file does not hold the text that the function was made from: it changed since it was "
        "imported",
        "import model\n# ... model.py is edited ...\npo.kernel(model.f)(a)",
        "reload the module with `importlib.reload`, or start Python again",
    ),
    "PO0110": Entry(
        "a `while` loop that nothing ends",
        "while True: a[0] *= 0.5",
        "leave it with `break`, or give it a condition",
    ),
    "PO0112": Entry(
        "`try` and `with` are not supported",
        "with open(path) as file: ...",
        "check before the call, or with `assert`",
    ),
    "PO0113": Entry(
        "generators, coroutines and `yield` are not supported",
        "def f(a):\n    yield a[0]",
        "write the results into an array",
    ),
    "PO0114": Entry(
        "dict and set comprehensions are not supported, nor generators with conditions that only "
        "the running kernel knows, unless a function takes all items at once",
        "found = {x: 1 for x in a}",
        "make it a list, or fill an array in a loop",
    ),
    "PO0115": Entry(
        "dicts and sets are not supported",
        'table = {"a": 1}',
        "use arrays, or pass the values as arguments",
    ),
    "PO0116": Entry(
        "strings are not supported where a value is computed",
        'mode = "fast"',
        "pass a flag or a number",
    ),
    "PO0117": Entry(
        "functions and classes defined inside a kernel are not supported",
        "def f(a):\n    def g(x): return x * x",
        "define the inner function in the module; calls of it are inlined",
    ),
    "PO0118": Entry(
        "`global` and `nonlocal` are not supported",
        "global counter",
        "pass the value as an argument and return it",
    ),
    "PO0119": Entry(
        "the called function has no meaning over arrays",
        "print(a[i])",
        "call it outside the kernel",
    ),
    "PO0120": Entry(
        "imports inside a kernel are not supported", "import math", "import at the top of the file"
    ),
    "PO0121": Entry("`del` is not supported", "del tmp", "leave it out: temporaries cost nothing"),
    "PO0122": Entry(
        "`return` may only stand at the end of the function",
        "for i in range(n):\n    if a[i] < 0: return a",
        "store the result in a name and return it last",
    ),
    "PO0123": Entry(
        "recursive calls are not supported",
        "def fib(n): return fib(n - 1) + fib(n - 2)",
        "write the recursion as a loop",
    ),
    "PO0124": Entry(
        "a name is unknown, or its value is neither a number, an array nor a function",
        "a[i] = undefined_name",
        "define the name before its use, or pass the value as an argument",
    ),
    "PO0125": Entry(
        "a name may have no value at this place",
        "if n > 3:\n    x = 1.0\na[0] = x",
        "give the name a value on every path",
    ),
    "PO0126": Entry("starred expressions are not supported", "f(*values)", "write the parts out"),
    "PO0127": Entry(
        "the construct is outside the supported part of Python",
        "match n:\n    case 0: ...",
        "write it with `for`, `if`, assignments and expressions",
    ),
    "PO0128": Entry(
        "a call changes an array that the same expression reads",
        "b[:] = a + scale_in_place(a)",
        "make the call a statement of its own",
    ),
    "PO0130": Entry(
        "`for` runs over something other than a range or an array",
        'for name in ("x", "y"): ...',
        "loop over `range(n)`",
    ),
    "PO0131": Entry(
        "a loop bound is not affine in the sizes and the outer iterators",
        "for j in range(i * i): ...",
        "use a bound that is a sum of multiples, or loop further and test with `if`",
    ),
    "PO0132": Entry(
        "a loop step is zero or not a constant",
        "for i in range(0, n, step): ...",
        "write the step as a number, or annotate it so that its value is compiled in",
    ),
    "PO0134": Entry(
        "a slice bound is not affine, or a slice step is not a constant",
        "a[i * i :] = 0.0",
        "use affine bounds and a constant step",
    ),
    "PO0135": Entry(
        "a kind of subscript that is not supported: floating-point numbers, too many subscripts",
        "b = a[0.5]",
        "convert to integers; check the array's rank",
    ),
    "PO0136": Entry(
        "a slice or a tuple made from a loop variable is used after its loop",
        "for i in range(n): row = a[:i]\nrow.sum()",
        "make it after the loop from the last value, such as `a[: n - 1]`",
    ),
    "PO0137": Entry(
        "a size is not affine in the sizes of the arguments",
        "tmp = np.zeros(n * m)",
        "make an array of two dimensions, `np.zeros((n, m))`",
    ),
    "PO0140": Entry(
        "shapes do not fit together",
        "a[:, :3] + a[:, :4]",
        "give both operands the same shape, or shapes that broadcast",
    ),
    "PO0141": Entry(
        "operands of a product have ranks that do not fit",
        "2.0 @ a",
        "multiply numbers with `*`; `np.outer` needs vectors",
    ),
    "PO0142": Entry(
        "an array has no truth value",
        "if a > 0: ...",
        "reduce it first, with `np.any` or `np.all`, or choose with `np.where`",
    ),
    "PO0143": Entry(
        "an element type outside the supported set",
        "a.astype(np.longdouble)",
        "use bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128",
    ),
    "PO0144": Entry(
        "the result cannot be cast to the element type of the target",
        "integers += 0.5",
        "convert explicitly with `.astype`, or use an array of floats",
    ),
    "PO0145": Entry(
        "an integer constant does not fit the element type",
        "bytes_array[i] = np.uint8(300)",
        "use a wider element type",
    ),
    "PO0146": Entry(
        "the operation is not defined for these element types",
        "floats[i] & 1",
        "convert the operands first, with `.astype`",
    ),
    "PO0147": Entry(
        "the operation is not defined for these values",
        "a[i] = 1 // 0",
        "change the constant; write the base of a negative power as a float",
    ),
    "PO0150": Entry(
        "a NumPy function outside the supported set",
        "np.linalg.tensorsolve(a, b)",
        "see the table of supported functions; call it outside the kernel",
    ),
    "PO0151": Entry(
        "an argument of a NumPy function outside the supported set",
        "np.sum(a, where=mask)",
        "leave the argument out; write its effect as an expression",
    ),
    "PO0152": Entry(
        "an attribute or method outside the supported set",
        "a.tolist()",
        "see the table of supported methods; call it outside the kernel",
    ),
    "PO0153": Entry(
        "an axis outside the array's dimensions",
        "np.sum(matrix, axis=2)",
        "count axes from 0, or from -1 backwards",
    ),
    "PO0160": Entry(
        "a name stands for different arrays in a loop or branch",
        "for t in range(n):\n    a, b = b, a",
        "copy the values, `a[:] = b`, or unroll the loop by two",
    ),
    "PO0161": Entry(
        "a name changes its shape or kind in a loop or branch",
        "if n > 3: x = a\nelse: x = 1.0",
        "use one name for each",
    ),
    "PO0163": Entry(
        "an assignment to something that is no array",
        "(a + b)[0] = 1.0",
        "assign to an argument or to an array made in the function",
    ),
    "PO0164": Entry(
        "a returned value is neither an array, a number nor a tuple of them",
        "return a, (b, c)",
        "return the parts one beside the other",
    ),
    "PO0165": Entry(
        "an array that the function captures is assigned to",
        "COUNTS = np.zeros(3)\ndef f(a): COUNTS[1] = a[0]",
        "pass the array as an argument",
    ),
    "PO0170": Entry(
        "at a call: a subscript would leave its array",
        "kernel(np.zeros(10), n=20)",
        "pass larger arrays or shrink the loop's range",
    ),
    "PO0171": Entry(
        "at a call: a slice bound has the wrong sign",
        "a[k:] = 0.0, called with k = -1",
        "pass another value, or compute the bound with `max` or `min`",
    ),
    "PO0172": Entry(
        "at a call: maximum or minimum of nothing",
        "np.max(a), called with an empty array",
        "pass an array that is not empty; NumPy refuses it too",
    ),
    "PO0173": Entry(
        "at a call: sizes that must be equal differ",
        "a + b, called with shapes (10,) and (20,)",
        "give both operands the same shape",
    ),
    "PO0174": Entry(
        "at a call: a size is negative",
        "np.zeros(n - 1), called with n = 0",
        "pass larger sizes",
    ),
    "PO0175": Entry(
        "at a call: a loop does not run though its variables are used afterwards",
        "for i in range(n): s = a[i]\nreturn s, called with n = 0",
        "give the variable a value before the loop",
    ),
    "PO0176": Entry(
        "at a call: an integer does not fit the element type it is used with",
        "a[i] + n for `a` of uint8, called with n = 300",
        "pass a smaller integer, or an array of a wider type",
    ),
    "PO0177": Entry(
        "at a call: an `assert` of the function does not hold, or a `raise` is reached",
        "assert n > 2, called with n = 1",
        "pass values for which it holds",
    ),
    "PO0180": Entry(
        "the function, or a constant in it, is too large",
        "a function that unrolls to thousands of statements",
        "split it into several kernels",
    ),
}
