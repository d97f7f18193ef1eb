# seed 16006813, c: crash, PO0905
# isl failed in isl_set_union: a scalar that is seen outside a part has a cell per iteration in it
# file: main
def f(a, n, x):
    v1, v2 = (sum([q * 2 for q in a]), x)
    for c3 in range(min(a.ndim, 4), 0, -1):
        for i in range(a.shape[0]):
            if 1.0 != v1:
                a[i] *= sum([q - 1 for q in range(3) if q % 2]) - sum((q * q for q in range(i)))
    v5 = v6 = a.ndim
    stack7 = [a[a[v6 % a.shape[0]] % len(a)], max([q % 3 for q in range(4)])]
    if v5 < a[0 % len(a)]:
        stack7.append(a.size - n)
    v9 = stack7[0]


# call
a = np.array([-1, -2, -1, 0], dtype=np.int32)
n = 6
x = 3.895
args = (
    a,
    n,
    x,
)
