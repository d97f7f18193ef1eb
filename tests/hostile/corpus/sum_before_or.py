# the sum before `or` was computed where it is zero only
# file: main
def f(c, x):
    return sum(c) or x


# call
c = np.array([8], dtype=np.int16)
x = 3.0
args = (c, x)
