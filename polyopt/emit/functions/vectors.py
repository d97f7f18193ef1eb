"""Functions with rare arguments that the C library takes care of, one by one.

In: a name, the body for usual arguments, the condition of the rare ones.  Out: C definitions.
Such a branch keeps a loop from being vectorized, so gcc is told of versions for whole registers
(x86's vector function ABI), which branch once; other compilers inline the version for one.
"""

from __future__ import annotations

from polyopt.emit.functions.text import INLINE
from polyopt.ir.types import DType

_VERSIONS = (("e", 64), ("d", 32), ("c", 32), ("b", 16))
"""Letters of the ABI for AVX-512, AVX2, AVX and SSE, and the bytes of their registers."""


_HIDDEN = '__attribute__((visibility("hidden")))'


def definition(
    name: str, function: str, dtype: DType, arguments: tuple[str, ...], body: list[str], far: str
) -> list[str]:
    """Return the lines that define `name`: `body` but for arguments that are `far`."""
    element = dtype.ctype
    params = ", ".join(f"{element} {argument}" for argument in arguments)
    values = ", ".join(arguments)
    library = f"{function}{'f' if dtype is DType.FLOAT32 else ''}({values})"
    near = f"{name}_near"
    one = f"return {far} ? {library} : {near}({values});"
    return [
        "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)",
        f"{INLINE} {element} {near}({params})",
        "{",
        *(f"    {line}" for line in body),
        "}",
        "#else",
        f"{INLINE} {element} {near}({params})",
        "{",
        f"    return {library};",
        "}",
        "#endif",
        "#if defined(__FMA__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)",
        f'{_HIDDEN} {element} {name}_one({params}) __asm__("{name}");',
        f'__attribute__((const, simd("notinbranch"))) {_HIDDEN}',
        f"{element} {name}({params});",
        f"{element} {name}_one({params})",
        "{",
        f"    {one}",
        "}",
        *_versions(name, library, dtype, arguments, far),
        "#else",
        f"static inline {element} {name}({params})",
        "{",
        f"    {one}",
        "}",
        "#endif",
    ]


def _versions(
    name: str, library: str, dtype: DType, arguments: tuple[str, ...], far: str
) -> list[str]:
    lines: list[str] = []
    for letter, size in _VERSIONS:
        lanes = size // dtype.size
        vector = f"{name}_{letter}"
        version = f"_ZGV{letter}N{lanes}{'v' * len(arguments)}_{name}"
        params = ", ".join(f"{vector} {argument}s" for argument in arguments)
        values = ", ".join(f"{argument}s[lane]" for argument in arguments)
        declared = "; ".join(f"{dtype.ctype} {a} = {a}s[lane]" for a in arguments)
        each = f"for (int lane = 0; lane < {lanes}; lane++)"
        lines += [
            f"typedef {dtype.ctype} {vector} __attribute__((vector_size({size})));",
            f"{_HIDDEN} {vector} {version}({params});",
            f"{vector} {version}({params})",
            "{",
            f"    {vector} found;",
            f"    int any[{lanes}], far = 0;",
            f"    {each}",
            f"        found[lane] = {name}_near({values});",
            f"    {each} {{",
            f"        {declared};",
            f"        any[lane] = {far};",
            "    }",
            f"    {each}",
            "        far |= any[lane];",
            "    if (__builtin_expect(far, 0)) {",
            f"        {each} {{",
            f"            {declared};",
            "            if (any[lane])",
            f"                found[lane] = {library};",
            "        }",
            "    }",
            "    return found;",
            "}",
        ]
    return lines
