TYPES = "f64[:]"


def f(a):
    state = (0.0, 1.0)
    for i in range(len(a)):
        state = (state[1], state[0] + a[i])
    return state
