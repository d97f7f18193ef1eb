"""Programs in the style of JAX's documentation.

`import jax.numpy as jnp` became `import numpy as jnp`, and `jax.jit` `po.kernel`; what else differs
is in `changed`.
"""

from __future__ import annotations

import numpy as jnp

import polyopt as po
from tests.ported.record import ported


@ported(lambda r: (r.standard_normal(500),))
def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def sigmoid(x):
    return 0.5 * (jnp.tanh(x / 2) + 1)


@ported(lambda r: (r.random(3), 0.4, r.random((4, 3)), jnp.array([True, True, False, True])))
def loss(W, b, inputs, targets):
    preds = sigmoid(jnp.dot(inputs, W) + b)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


gradient = po.grad(loss)


@ported(
    lambda r: (r.random(3), 0.4, r.random((4, 3)), jnp.array([1.0, 1.0, 0.0, 1.0]), 0.1),
    changed={
        "W -= lr * grad(loss)(W, b, inputs, targets)": "W -= lr * gradient(W, b, inputs, targets)"
    },
)
def step(W, b, inputs, targets, lr):
    W -= lr * gradient(W, b, inputs, targets)
    return W


@ported(
    lambda r: (
        [(r.random((8, 6)), r.random(8)), (r.random((5, 8)), r.random(5))],
        r.random(6),
    ),
    changed={
        "return final_logits - logsumexp(final_logits)": "return final_logits - jnp.log(jnp.sum(jnp.exp(final_logits)))"
    },
)
def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        outputs = jnp.dot(w, activations) + b
        activations = jnp.maximum(0, outputs)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    final_logits = logits
    return final_logits - jnp.log(jnp.sum(jnp.exp(final_logits)))


@ported(lambda r: (r.random(40), r.random(3)))
def convolve(x, w):
    output = []
    for i in range(1, len(x) - 1):
        output.append(jnp.dot(x[i - 1 : i + 2], w))
    return jnp.array(output)


@ported(
    lambda r: (r.random((6, 30)), r.random((6, 3))),
    changed={
        "return jax.vmap(convolve)(xs, ws)": "return jnp.array([convolve(x, w) for x, w in zip(xs, ws)])"
    },
)
def batched_convolve(xs, ws):
    return jnp.array([convolve(x, w) for x, w in zip(xs, ws)])


@ported(
    lambda r: (r.random((9, 11)),),
    changed={
        "x = x.at[1, :].set(1.0)": "x[1, :] = 1.0",
        "return x.at[::2, 3:].add(7.0)": "x[::2, 3:] += 7.0",
    },
)
def index_updates(x):
    x = x * 1.0
    x[1, :] = 1.0
    x[::2, 3:] += 7.0
    return x


@ported(
    lambda r: (r.random((20, 4)), r.random((4, 4)) / 4, r.random(4)),
    changed={
        "_, ys = lax.scan(cell, h, xs)": "for t in range(xs.shape[0]):",
        "return h, h": "ys[t] = h",
    },
)
def rnn_scan(xs, w, h):
    ys = jnp.empty_like(xs)
    for t in range(xs.shape[0]):
        h = jnp.tanh(xs[t] + w @ h)
        ys[t] = h
    return ys


@ported(
    lambda r: (2.0, 1e-12),
    changed={"return lax.while_loop(cond, body, x0)": "while abs(x * x - a) > tol:"},
)
def newton_sqrt(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


@ported(lambda r: (r.random((10, 6)), r.random((10, 6)), r.random((10, 6))))
def attention(q, k, v):
    scores = jnp.einsum("id,jd->ij", q, k) / jnp.sqrt(q.shape[-1])
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = jnp.exp(scores)
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


@ported(
    lambda r: (r.random(50), r.integers(0, 7, 50), 7),
    changed={
        "return jax.ops.segment_sum(data, segment_ids, num_segments)": "out = jnp.zeros(num_segments)",
        "return jnp.zeros(num_segments).at[segment_ids].add(data)": "jnp.add.at(out, segment_ids, data)",
    },
)
def segment_sum(data, segment_ids, num_segments):
    out = jnp.zeros(num_segments)
    jnp.add.at(out, segment_ids, data)
    return out


@ported(lambda r: ((r.random((16, 18)) > 0.6).astype(jnp.int64), 4))
def life(board, steps):
    for _ in range(steps):
        neighbours = 0 * board
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx != 0 or dy != 0:
                    neighbours = neighbours + jnp.roll(board, (dx, dy), axis=(0, 1))
        board = jnp.where((neighbours == 3) | ((board == 1) & (neighbours == 2)), 1, 0)
    return board


def noisy_instead(x, noise):
    return x + 0.1 * noise


@ported(
    lambda r: (r.random(20),),
    refused="PO0150",
    hint="draw them before the call, and pass the array",
    instead=(noisy_instead, lambda r: (r.random(20), r.standard_normal(20))),
)
def noisy(x):
    return x + 0.1 * jnp.random.normal(size=x.shape)


@ported(
    lambda r: (
        {"w1": r.random((4, 8)), "b1": r.random(8), "w2": r.random((8, 2)), "b2": r.random(2)},
        r.random((10, 4)),
    ),
)
def mlp_of_a_dict(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


@ported(
    lambda r: (r.random(30) - 0.5,),
    changed={
        "return lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x)": (
            "return x * 2 if x.sum() > 0 else -x"
        )
    },
)
def cond(x):
    return x * 2 if x.sum() > 0 else -x


@ported(
    lambda r: (1 + r.random((6, 7)), r.random(6), r.random(7), 30),
    changed={
        "u, v = lax.fori_loop(0, iterations, body, (u, v))": "for _ in range(iterations):",
    },
)
def sinkhorn(K, a, b, iterations):
    u = jnp.ones_like(a)
    v = jnp.ones_like(b)
    for _ in range(iterations):
        u = a / (K @ v)
        v = b / (K.T @ u)
    return u[:, None] * K * v[None, :]


@ported(
    lambda r: (r.dirichlet(jnp.ones(4), 4), r.dirichlet(jnp.ones(5), 4), r.integers(0, 5, 20)),
    changed={
        "alpha, _ = lax.scan(forward, alpha, observations[1:])": "for o in observations[1:]:",
        "return logsumexp(alpha)": "return jnp.log(jnp.sum(jnp.exp(alpha)))",
    },
)
def hmm_likelihood(transition, emission, observations):
    alpha = jnp.log(emission[:, observations[0]] / transition.shape[0])
    for o in observations[1:]:
        alpha = jnp.log(jnp.exp(alpha) @ transition) + jnp.log(emission[:, o])
    return jnp.log(jnp.sum(jnp.exp(alpha)))
