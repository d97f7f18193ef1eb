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
        "the file of the function changed after its import",
        "import model\n# ... model.py is edited ...\npo.kernel(model.f)(a)",
        "reload the module with `importlib.reload`, or start Python again",
    ),
    "PO0110": Entry(
        "a `while` loop never ends",
        "while True: a[0] *= 0.5",
        "leave it with `break`, or give it a condition",
    ),
    "PO0112": Entry(
        "`try` and `with` are not supported, except for blocks such as `np.errstate`",
        "with open(path) as file: ...",
        "check before the call, or with `assert`",
    ),
    "PO0113": Entry(
        "generators, coroutines and `yield` are not supported",
        "def f(a):\n    yield a[0]",
        "write the results into an array",
    ),
    "PO0114": Entry(
        "dict and set comprehensions are not supported, nor generators of unknown length, unless a "
        "function takes all items at once",
        "found = {x: 1 for x in a}",
        "make it a list, or fill an array in a loop",
    ),
    "PO0115": Entry(
        "dicts and sets are not supported",
        'table = {"a": 1}',
        "use arrays, or pass the values as arguments",
    ),
    "PO0116": Entry(
        "a string is used as a number or an array",
        'a[0] = "one"',
        "use strings as flags only, and numbers as values",
    ),
    "PO0117": Entry(
        "classes and decorators inside a kernel are not supported",
        "class Pair: ...",
        "define the class outside and pass arrays; leave decorators of inner functions out",
    ),
    "PO0118": Entry(
        "`global` and `nonlocal` are not supported",
        "global counter",
        "pass the value as an argument and return it",
    ),
    "PO0119": Entry(
        "the called function cannot be compiled",
        "print(a[i])",
        "call it outside the kernel",
    ),
    "PO0120": Entry(
        "imports inside a kernel are not supported", "import math", "import at the top of the file"
    ),
    "PO0121": Entry(
        "`del` is not supported", "del tmp", "leave it out: temporaries are freed automatically"
    ),
    "PO0122": Entry(
        "some paths return a value and others do not, or a value returned inside a loop cannot be "
        "stored",
        "for i in range(n):\n    if a[i] < 0: return a",
        "return a value of the same kind on every path",
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
    "PO0126": Entry(
        "`*` before a value whose items are not known, or a `**` argument",
        "sizes = (*n,), where n is an integer",
        "write the items one by one",
    ),
    "PO0127": Entry(
        "the construct is outside the supported part of Python",
        "match n:\n    case 0: ...",
        "write it with `for`, `if`, assignments and expressions",
    ),
    "PO0128": Entry(
        "a call changes an array that the same expression reads",
        "b[:] = a + scale_in_place(a)",
        "write the call as a separate statement",
    ),
    "PO0130": Entry(
        "a loop over a value that cannot be iterated",
        "for i in n: ..., where n is an integer",
        "loop over `range(n)`, an array, a tuple or a list",
    ),
    "PO0131": Entry(
        "a loop bound is not an integer",
        "for i in range(n / 2): ...",
        "use `//` for integer quotients",
    ),
    "PO0132": Entry(
        "the step of a range or slice is zero",
        "for i in range(0, n, 0): ...",
        "use a step that is not zero",
    ),
    "PO0134": Entry(
        "a slice has step zero, or a step that is not a constant beside index arrays",
        "a[::0] = 0.0",
        "use a constant step that is not zero",
    ),
    "PO0135": Entry(
        "a subscript is not supported: floating-point numbers, too many subscripts",
        "b = a[0.5]",
        "convert to integers; check the array's rank",
    ),
    "PO0136": Entry(
        "a slice or a tuple made from a loop variable is used after its loop",
        "for i in range(n): row = a[:i]\nrow.sum()",
        "compute it after the loop, from the last value: `a[: n - 1]`",
    ),
    "PO0137": Entry(
        "a size is not an integer, or has no known bound",
        "tmp = np.zeros(n / 2)",
        "use `//` or `int()`",
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
        "the element type is not supported",
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
        "the NumPy function is not supported",
        "np.linalg.tensorsolve(a, b)",
        "see the table of supported functions; call it outside the kernel",
    ),
    "PO0151": Entry(
        "an argument of a NumPy function is not supported",
        'np.pad(a, 1, mode="mean")',
        "use another value, which the message lists, or write the effect as an expression",
    ),
    "PO0152": Entry(
        "the attribute or method is not supported",
        "a.tolist()",
        "see the table of supported methods; call it outside the kernel",
    ),
    "PO0153": Entry(
        "an axis is outside the array's dimensions",
        "np.sum(matrix, axis=2)",
        "count axes from 0, or from -1 backwards",
    ),
    "PO0155": Entry(
        "a key, stream or offset of random numbers is not an integer",
        "po.random.uniform(0.5, n)",
        "use an integer, such as `np.uint64(7)`",
    ),
    "PO0156": Entry(
        "the bounds of random integers have no integer in between",
        "po.random.integers(key, 5, 5, n)",
        "use integers, `low` less than `high`",
    ),
    "PO0157": Entry(
        "the place of a draw in its generator's stream is unknown",
        "for t in range(n):\n    a[t] = rng.random()",
        "make the generator where it is used, or use `po.random` with `stream=` or `offset=`",
    ),
    "PO0160": Entry(
        "a name that may stand for one of several arrays is used or written",
        "for t in range(n):\n    a, b = b, a\na[0] = 1.0",
        "write into the array with `a[:] = ...`, or start from a `.copy()`",
    ),
    "PO0161": Entry(
        "a name changes its shape, kind or type in a loop or branch",
        "x = 1.0\nfor i in range(n): x = a * x",
        "use different names",
    ),
    "PO0163": Entry(
        "an assignment to elements of an expression instead of an array",
        "(a + b)[0] = 1.0",
        "assign to an argument or to an array made in the function",
    ),
    "PO0164": Entry(
        "a returned value is not an array, a number or a flat tuple of them, or is a number on one "
        "path and an array on another",
        "return a, (b, c)",
        "return a flat tuple, with values of the same kind on every path",
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
        "at a call: maximum or minimum of an empty array",
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
        "at a call: a loop does not run, but its variables are used afterwards",
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
        "pass values that fulfil the condition",
    ),
    "PO0178": Entry(
        "the result has another element type or rank than its annotation says",
        'def scaled(x: po.f32["N"]) -> po.f64["N"]: return 2.0 * x',
        "annotate what is returned, or convert it with `.astype`",
    ),
    "PO0180": Entry(
        "the function, or a constant in it, is too large",
        "a function that unrolls to thousands of statements",
        "split it into several kernels",
    ),
    "PO0183": Entry(
        "an operation without a derivative, in a function that is differentiated",
        "po.grad(loss) where loss calls np.linalg.det, or has a `while` loop over data",
        "differentiate by other parameters, or write it with NumPy operations and loops",
    ),
    "PO0184": Entry(
        "results that are no floating-point numbers; too few or too many adjoints or tangents",
        "po.grad(f) where f returns an array",
        "return one number, such as a loss; `po.vjp` takes arrays, one adjoint for each result",
    ),
    "PO0185": Entry(
        "an argument to differentiate by is no floating-point number or array",
        "po.grad(loss, 1)(weights, labels), where labels are integers",
        "differentiate by numbers and arrays of floats; convert with `.astype(float)`",
    ),
    "PO0186": Entry(
        "`po.vmap` with axes that do not fit the arguments or results",
        "po.vmap(np.sum)(3.0), po.vmap(f, out_axes=(0, 0)) of a function with one result",
        "give an axis for each parameter, None for what all examples share; numbers are shared",
    ),
}
