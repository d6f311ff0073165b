"""Losses of models that are loops, branches and solvers: functions of float64 arrays, for either library.

What stands here works in both modes of differentiation, unless it is in ``REVERSE``.
"""

import importlib.util
from pathlib import Path

import numpy as np

_SPEC = importlib.util.spec_from_file_location("interpreting", Path(__file__).parent.parent / "interpreting.py")
INTERPRETING = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(INTERPRETING)

#: Their derivatives are defined for one mode only.
REVERSE = {
    "custom_vjp in a scan",
    "straight-through estimator by custom_vjp",
    "gradient clipping in a for",
}
#: Their derivatives are not those of the values: finite differences know nothing of them.
INEXACT = {
    "straight-through estimator",
    "straight-through estimator by custom_vjp",
    "gradient clipping in a for",
}


def real(*shape, seed=0, scale=0.7):
    return np.asarray(np.random.default_rng([seed, *shape]).uniform(-scale, scale, shape))[()]


def losses(lib):
    """Name -> (loss, operands)."""

    def of_arrays(loss):
        return lambda *operands: loss(*map(lib.numpy.asarray, operands))

    found = {}
    for group in (
        sequence_models,
        filters,
        integrators,
        solvers,
        branches,
        updates,
        loops,
        recomputed,
        own_rules,
        axes,
    ):
        found.update(group(lib, lib.numpy, lib.lax))
    return {name: (of_arrays(loss), operands) for name, (loss, operands) in found.items()}


def sequence_models(lib, jnp, lax):
    def lstm(params, carry, x):
        h, c = carry
        gates = params["w"] @ jnp.concatenate([h, x]) + params["b"]
        i, f, g, o = jnp.split(gates, 4)
        c = lib.nn.sigmoid(f + 1.0) * c + lib.nn.sigmoid(i) * jnp.tanh(g)
        h = lib.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def lstm_loss(params, xs, wanted):
        start = (jnp.zeros(2), jnp.zeros(2))
        _, hs = lax.scan(lambda carry, x: lstm(params, carry, x), start, xs)
        return jnp.mean((hs[:, 0] - wanted) ** 2) + 1e-2 * jnp.sum(params["w"] ** 2)

    def after_a_step(w, b, xs, rate):
        params, wanted = {"w": w, "b": b}, np.array([0.1, -0.3, 0.2, 0.4])
        slopes = lib.grad(lstm_loss)(params, xs, wanted)
        params = lib.tree.map(lambda p, g: p - rate * g, params, slopes)
        return lstm_loss(params, xs, wanted)

    def rnn(w, u, xs):
        h, ys = lax.scan(lambda h, x: (jnp.tanh(w @ h + u * x), jnp.sum(h * h)), jnp.zeros(3), xs)
        return jnp.sum(h) + jnp.sum(ys * np.arange(4.0))

    def hidden_markov(initial, transition, emission):
        seen = np.array([0, 2, 1, 1, 0])
        steps, signs = lib.nn.log_softmax(transition), lib.nn.log_softmax(emission)

        def step(alpha, y):
            return lib.nn.logsumexp(alpha[:, None] + steps, axis=0) + signs[:, y], None

        alpha, _ = lax.scan(step, lib.nn.log_softmax(initial) + signs[:, seen[0]], seen[1:])
        return -lib.nn.logsumexp(alpha)

    return {
        "LSTM after a training step": (after_a_step, (real(8, 4), real(8), real(4, 2), np.float64(0.3))),
        "RNN": (rnn, (real(3, 3), real(3), real(4))),
        "hidden Markov model": (hidden_markov, (real(2), real(2, 2), real(2, 3))),
    }


def filters(lib, jnp, lax):
    def kalman(a, q, r, ys):
        """Minus the logarithm of the likelihood of a linear model of two states, one of them seen with noise."""
        A = jnp.stack([jnp.stack([jnp.cos(a), jnp.sin(a)]), jnp.stack([-jnp.sin(a), jnp.cos(a)])])
        Q, H, R = jnp.exp(q) * np.eye(2), np.array([1.0, 0.5]), jnp.exp(r)

        def step(carry, y):
            m, P, total = carry
            m, P = A @ m, A @ P @ A.T + Q
            innovation, S = y - H @ m, H @ P @ H + R
            gain = P @ H / S
            return (m + gain * innovation, P - jnp.outer(gain, H @ P), total + innovation**2 / S + jnp.log(S)), m

        (_, _, total), means = lax.scan(step, (np.array([0.3, -0.2]), np.eye(2), 0.0), ys)
        return total / 2 + 0.1 * jnp.sum(means**2)

    def exponential(rate, xs):
        weight = lib.nn.sigmoid(rate)
        return jnp.sum(lax.scan(lambda m, x: ((1 - weight) * m + weight * x, m * x), 0.0, xs)[1])

    return {
        "Kalman filter": (kalman, (np.float64(0.4), np.float64(-1.0), np.float64(-0.5), real(5))),
        "moving average": (exponential, (np.float64(0.2), real(5))),
    }


def integrators(lib, jnp, lax):
    def lotka_volterra(y, p):
        return jnp.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def rk4(f, y, dt):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + dt * k3))

    def orbit(start, p):
        f = lib.jit(lambda y: lotka_volterra(y, p))
        y, ys = lax.scan(lambda y, dt: (rk4(f, y, dt), y), start, np.full(5, 0.2))
        return jnp.sum(y**2) + jnp.mean(ys[:, 0])

    def pendulum(q, p, dt):
        """Leapfrog, whose force is a gradient inside of the loop."""
        force = lib.grad(lambda q: jnp.sum(jnp.cos(q)) + 0.1 * jnp.sum(q[1:] * q[:-1]))

        def step(i, state):
            q, p = state
            p = p + dt / 2 * force(q)
            q = q + dt * p
            return q, p + dt / 2 * force(q)

        q, p = lax.fori_loop(0, 4, step, (q, p))
        return jnp.sum(p**2) / 2 - jnp.sum(jnp.cos(q))

    return {
        "Runge-Kutta": (orbit, (np.array([1.0, 0.8]), np.array([1.1, 0.4, 0.3, 0.9]))),
        "leapfrog with a gradient inside": (pendulum, (real(3), real(3, seed=1), np.float64(0.2))),
    }


def solvers(lib, jnp, lax):
    def newton(f, start):
        slope = lib.jacfwd(f)

        def step(state):
            x, n = state
            return x - f(x) / slope(x), n + 1

        return lax.while_loop(lambda s: (jnp.abs(f(s[0])) > 1e-13) & (s[1] < 30), step, (start, 0))[0]

    def root(a, b):
        return lax.custom_root(
            lambda x: x**3 + jnp.exp(a) * x - b, jnp.ones_like(a), newton, lambda g, y: y / g(jnp.ones_like(y))
        )

    def descent(regularity, A, b):
        """The loss after steps of projected gradient descent, as a function of what it was told to minimize."""

        def step(i, x):
            g = A.T @ (A @ x - b) + jnp.exp(regularity) * x
            return jnp.clip(x - 0.2 * g, -0.25, 0.25)

        return jnp.sum((A @ lax.fori_loop(0, 6, step, jnp.zeros(2)) - 2 * b) ** 2)

    def conjugate_gradients(matvec, b):
        def step(i, state):
            x, r, p = state
            q = matvec(p)
            alpha = r @ r / (p @ q + 1e-300)
            fresh = r - alpha * q
            return x + alpha * p, fresh, fresh + (fresh @ fresh) / (r @ r + 1e-300) * p

        return lax.fori_loop(0, 3, step, (jnp.zeros_like(b), b, b))[0]

    def linear(A, b):
        def matvec(x):
            return A @ (A.T @ x) + x

        return jnp.sum(jnp.sin(lax.custom_linear_solve(matvec, b, conjugate_gradients, symmetric=True)))

    def fixed_point(a, x):
        """Steps of an iteration whose number is known, the last of them checkpointed."""
        return jnp.sum(lax.fori_loop(0, 5, lib.checkpoint(lambda i, y: jnp.cos(a * y) + 0.1 * x), x))

    return {
        "Newton's method by custom_root": (
            lambda a, b: root(a, b) ** 2 + jnp.sin(root(b, a)), (np.float64(0.3), np.float64(0.8))
        ),
        "hypergradient of projected descent": (descent, (np.float64(-1.0), real(3, 2), real(3))),
        "conjugate gradients by custom_linear_solve": (linear, (real(3, 3), real(3))),
        "fixed point": (fixed_point, (np.float64(0.6), real(3))),
    }  # fmt: skip


def branches(lib, jnp, lax):
    def walk(x, steps):
        def step(c, s):
            c = lax.cond(c + s > 0.2, lambda c: jnp.sin(c) * s, lambda c: c - s * s, c)
            return c, c * s

        c, ys = lax.scan(step, x, steps)
        return c + jnp.sum(ys)

    def many(xs, steps):
        """Of a batch, each with a predicate of its own."""
        return jnp.sum(lib.vmap(walk, (0, None))(xs, steps) ** 2)

    def gates(x, w):
        def step(c, i):
            return lax.switch(i % 3, [lambda c: jnp.tanh(w @ c), lambda c: c * w[0], lambda c: c + 0.1], c), jnp.sum(c)

        c, ys = lax.scan(step, x, np.arange(4))
        return jnp.sum(c) * jnp.sum(ys)

    def search(x, xs):
        """A branch by how a loop ended, around a loop."""
        n = lax.while_loop(lambda n: (n < 3) & (lax.stop_gradient(xs)[n] < 0.1), lambda n: n + 1, 0)
        return lax.cond(n > 1, lambda: jnp.sum(lax.scan(lambda c, y: (c * y, c), x, xs)[1]), lambda: x * xs[n])

    return {
        "cond in a scan": (walk, (np.float64(0.5), real(4))),
        "cond with a mapped predicate in a scan": (many, (real(3), real(4))),
        "switch in a scan": (gates, (real(3), real(3, 3))),
        "scan in a cond after a while": (search, (np.float64(0.5), real(4))),
    }


def updates(lib, jnp, lax):
    def in_place(xs, w):
        def step(buffer, i):
            window = lax.dynamic_slice(buffer, (i,), (2,))
            buffer = lax.dynamic_update_slice(buffer, jnp.sin(window * w)[::-1], (i + 1,))
            return buffer.at[i].multiply(w[0]), buffer[i] * buffer[-1 - i]

        buffer, ys = lax.scan(step, xs, np.arange(3))
        return jnp.sum(buffer**2) + jnp.sum(ys)

    def sorting(xs, w):
        def step(c, x):
            ordered = jnp.sort(c * x + w)
            picked = ordered[jnp.argsort(w)]
            return jnp.tanh(picked), jnp.max(ordered) * ordered[jnp.argmin(c)]

        c, ys = lax.scan(step, w, xs)
        return jnp.sum(c * np.arange(4.0)) + jnp.sum(ys)

    def histogram(xs, heights):
        def step(table, pair):
            x, h = pair
            where = (jnp.floor(lax.stop_gradient(x) * 4) % 3).astype("int32")
            return table.at[where].add(h * jnp.cos(x)), table[where]

        table, seen = lax.scan(step, jnp.zeros(3), (xs, heights))
        return jnp.sum(table**2) + jnp.sum(seen * heights)

    def counted(x, xs):
        """Integers and booleans carried along."""

        def step(carry, y):
            n, ever, c = carry
            up = y > 0
            n = jnp.where(up, n + 1, n)
            return (n, ever | (n > 2), jnp.where(ever, c * y, c + n * y)), (n, up, c * c)

        (n, ever, c), (ns, ups, ys) = lax.scan(step, (0, False, x), xs)
        return c * n + jnp.sum(ys * ns) + jnp.sum(jnp.where(ups, xs, 0.0)) * ever

    def dynamic_programming(cost):
        """A soft alignment, row by row in place."""

        def row(table, i):
            def cell(table, j):
                before = jnp.stack([table[i, j + 1], table[i + 1, j], table[i, j]])
                return table.at[i + 1, j + 1].set(cost[i, j] - lib.nn.logsumexp(-before)), None

            return lax.scan(cell, table, np.arange(3))

        table = jnp.full((4, 4), 5.0).at[0, 0].set(0.0)
        return lax.scan(lambda t, i: row(t, i), table, np.arange(3))[0][-1, -1]

    return {
        "updates in place in a scan": (in_place, (real(5), real(2, seed=1))),
        "sort and gather in a scan": (sorting, (real(3), real(4))),
        "scatter in a scan": (histogram, (real(4), real(4, seed=1))),
        "integers and booleans carried": (counted, (np.float64(0.4), real(5))),
        "alignment in nested scans": (dynamic_programming, (real(3, 3),)),
    }


def loops(lib, jnp, lax):
    def nested(c, m):
        def inner(d, y):
            return jnp.sin(d) * y + c, d * c

        def outer(d, row):
            d, ys = lax.scan(inner, d, row)
            return d, jnp.sum(ys * row)

        d, ys = lax.scan(outer, c, m)
        return d + jnp.sum(ys)

    def power(a, x, reverse=False):
        return jnp.sum(lax.scan(lambda c, y: (a * c + y, c * c), x[0], x, reverse=reverse, unroll=3)[1])

    def prefixes(a, b):
        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        return jnp.sum(jnp.sin(lax.associative_scan(combine, (a, b))[1]))

    def mapped(w, xs):
        return jnp.sum(lax.map(lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.tanh(w @ y + i * x), x), xs))

    def dropout(w, xs):
        """Random keys carried along, and split on the way."""

        def step(carry, x):
            key, c = carry
            key, mine = lib.random.split(key)
            keep = lib.random.bernoulli(mine, 0.6, c.shape)
            return (key, jnp.where(keep, jnp.tanh(w @ c + x) / 0.6, 0.0)), c

        (_, c), ys = lax.scan(step, (lib.random.PRNGKey(3), jnp.ones(3)), xs)
        return jnp.sum(c) + jnp.sum(ys**2)

    return {
        "nested scans": (nested, (np.float64(0.5), real(3, 4))),
        "recurrence": (power, (np.float64(0.7), real(5))),
        "recurrence in reverse": (lambda a, x: power(a, x, True), (np.float64(0.7), real(5))),
        "associative scan": (prefixes, (real(5), real(5, seed=1))),
        "for in a map": (mapped, (real(2, 2), real(3, 2))),
        "dropout with keys carried": (dropout, (real(3, 3), real(3, 3, seed=1))),
    }


def recomputed(lib, jnp, lax):
    def step(w):
        return lambda c, x: (jnp.tanh(w @ c + x), jnp.sum(jnp.sin(c) * c))

    def run(one, w, xs, around=lambda f: f):
        def whole(w, xs):
            c, ys = lax.scan(one(w), jnp.ones(2), xs)
            return jnp.sum(c) + jnp.sum(ys)

        return around(whole)(w, xs)

    given = (real(2, 2), real(4, 2))
    policies = lib.checkpoint_policies
    return {
        "checkpoint in a scan": (lambda w, xs: run(lambda w: lib.checkpoint(step(w)), w, xs), given),
        "checkpoint with a policy in a scan": (
            lambda w, xs: run(lambda w: lib.checkpoint(step(w), policy=policies.dots_saveable), w, xs), given
        ),
        "scan in a checkpoint": (lambda w, xs: run(step, w, xs, lib.checkpoint), given),
        "scan of checkpoints in a checkpoint": (
            lambda w, xs: run(lambda w: lib.checkpoint(step(w)), w, xs, lib.checkpoint), given
        ),
    }  # fmt: skip


def own_rules(lib, jnp, lax):
    @lib.custom_jvp
    def softabs(x):
        return jnp.sqrt(x * x + 0.1)

    @softabs.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        y = softabs(x)
        return y, x / y * t

    @lib.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, ct: (kept[1] * ct, kept[0] * ct))

    @lib.custom_vjp
    def rounded(x):
        return jnp.round(x)

    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, ct: (ct,))

    @lib.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -0.3, 0.3),))

    def through(x, xs):
        def step(c, y):
            z = c * y * 3
            return z + lax.stop_gradient(jnp.round(z) - z) - c / 2, c

        c, ys = lax.scan(step, x, xs)
        return c * c + jnp.sum(ys)

    def by_rule(x, xs):
        c, ys = lax.scan(lambda c, y: (rounded(c * y * 3) - c / 2, c), x, xs)
        return c * c + jnp.sum(ys)

    def multiplied(x, xs):
        c, ys = lax.scan(lambda c, y: (product(jnp.sin(c), y), product(c, c)), x, xs)
        return c + jnp.sum(lib.vmap(product, (0, None))(ys, c))

    def smooth(x, xs):
        return jnp.sum(lax.scan(lambda c, y: (softabs(c - y), lib.vmap(softabs)(xs * c)), x, xs)[1])

    return {
        "custom_jvp in a scan": (smooth, (np.float64(0.4), real(4))),
        "custom_vjp in a scan": (multiplied, (np.float64(0.4), real(4))),
        "straight-through estimator": (through, (np.float64(0.9), real(4))),
        "straight-through estimator by custom_vjp": (by_rule, (np.float64(0.9), real(4))),
        "gradient clipping in a for": (
            lambda x, w: jnp.sum(lax.fori_loop(0, 3, lambda i, c: clipped(jnp.sin(c * w) * 2), x)),
            (real(3), real(3, seed=1)),
        ),
    }  # fmt: skip


def axes(lib, jnp, lax):
    def normalized(x, w):
        """Batch normalization over an axis with a name, inside of a scan."""

        def one(x):
            def step(c, scale):
                c = c * scale + x
                return (c - lax.pmean(c, "batch")) / jnp.sqrt(lax.psum(c * c, "batch") + 0.1), jnp.max(c)

            c, ys = lax.scan(step, x, w)
            return c * lax.axis_index("batch") + jnp.sum(ys)

        return jnp.sum(lib.vmap(one, axis_name="batch")(x) ** 2)

    def consensus(xs, w):
        """A loop around a map around a loop, which both cross the axis."""

        def each(x):
            return lax.fori_loop(
                0, 2, lambda i, c: jnp.tanh(c + w * lax.ppermute(c, "ring", [(0, 1), (1, 2), (2, 0)])), x
            )

        return jnp.sum(lax.fori_loop(0, 2, lambda i, xs: lib.vmap(each, axis_name="ring")(xs) * w, xs))

    return {
        "psum in a scan in a vmap": (normalized, (real(3), real(4))),
        "ring of processes": (consensus, (real(3), np.float64(0.6))),
    }


# What is computed of each ---------------------------------------------------------------------------------------------


def directions(operands):
    return tuple(np.cos(np.arange(np.size(x)) + 1.0 + k).reshape(np.shape(x)) for k, x in enumerate(operands))


def derivatives(lib, loss, operands):
    """The value, its gradient, and the derivative of the gradient along a direction."""
    every = tuple(range(len(operands)))
    gradient = lib.grad(loss, every)
    along = lib.jvp(gradient, operands, directions(operands))[1]
    return loss(*operands), gradient(*operands), along


def dotted(lib, xs, ys):
    return sum(lib.numpy.sum(x * y) for x, y in zip(xs, ys, strict=True))


def table(lib, interpret):
    found = {}
    for name, (loss, operands) in losses(lib).items():
        found[name] = interpret(lambda given=(loss, operands): lib.tree.leaves(derivatives(lib, *given)))
    return found


def by_jax(lib):
    return table(lib, lambda whole: INTERPRETING.interpreted(lib.jit(whole).lower().compiler_ir("stablehlo")))
