# a name that a loop binds to a view kept the elements that the view had then
# file: main
def f(a, b):
    for j in range(1):
        a = b[:, 0]
    b *= b
    return a.max()


# call
a = np.repeat(np.array([1.0, -1.337, 2.0, 2.682], dtype=np.float64), 2)[::2]
b = np.array(
    [-0.14, 4.708, 0.0, -2.0, 4.0, 2.0, -1.0, 4.0, -2.0, 2.0, 9.0, -0.231], dtype=np.float64
).reshape((4, 3))
args = (a, b)
