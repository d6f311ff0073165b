"""Loops and branches in transformations in loops, order by order; run with xlascope and with jax, imports neither."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np

_SPEC = importlib.util.spec_from_file_location("interpreting", Path(__file__).parent.parent / "interpreting.py")
INTERPRETING = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(INTERPRETING)


def real(*shape, seed=0):
    return np.asarray(np.random.default_rng([seed, *shape]).uniform(-0.8, 0.8, shape))[()]


def orders(lib):
    """Label -> function without arguments."""
    found = {}
    for group in (mapping, linear, second_order, whiles, branches, collectives, inside, training, sampling):
        found.update(group(lib, lib.numpy, lib.lax))
    return found


def mapping(lib, jnp, lax):
    w, c, xs = real(3, 3), real(3), real(4, 3)

    def run(w, c, xs):
        c, ys = lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c * x[0]), c, xs)
        return jnp.sum(c * c) + jnp.sum(jnp.sin(ys)), ys

    def batch(x, *axes):
        """``x`` with axes for one or two maps."""
        for size, axis in zip((2, 3), axes, strict=False):
            if axis is not None:
                x = np.stack([x * (1 - 0.2 * k) for k in range(size)], axis)
        return x

    def loss(w, c, xs):
        return run(w, c, xs)[0]

    stacked = (batch(w, 0), batch(c, 0), batch(xs, 0))
    tangents = tuple(np.cos(x) for x in stacked)
    found = {
        "jvp of vmap of scan": lambda: lib.jvp(lib.vmap(run), stacked, tangents),
        "vmap of jvp of scan": lambda: lib.vmap(lambda x, t: lib.jvp(run, x, t))(stacked, tangents),
        "jit of grad of scan": lambda: lib.jit(lib.grad(loss, (0, 1, 2)))(w, c, xs),
        "grad of jit of scan": lambda: lib.grad(lib.jit(loss), (0, 1, 2))(w, c, xs),
        "vmap of grad of scan, out_axes 1": lambda: lib.vmap(lib.grad(loss, 2), out_axes=1)(*stacked),
        "vjp of vmap of scan": lambda: lib.vjp(lib.vmap(loss), *stacked)[1](np.array([1.0, -2.0])),
        "vmap of vjp of scan": lambda: lib.vmap(lambda *x: lib.vjp(loss, *x)[1](2.0))(*stacked),
        "jacrev of scan": lambda: lib.jacrev(lambda c: run(w, c, xs)[1])(c),
        "jacfwd of scan": lambda: lib.jacfwd(lambda c: run(w, c, xs)[1])(c),
    }
    one = [axes for axes in itertools.product((None, 0, -1), repeat=3) if any(a is not None for a in axes)]
    for axes in one[::3]:
        found[f"vmap {axes} of grad of scan"] = lambda axes=axes: lib.vmap(lib.grad(loss, (0, 1, 2)), axes)(
            *(batch(x, a) for x, a in zip((w, c, xs), axes, strict=True))
        )
    for inner, outer in zip(one[2::5], one[::-4], strict=False):
        found[f"vmap {outer} of vmap {inner} of scan"] = lambda inner=inner, outer=outer: lib.vmap(
            lib.vmap(run, inner), outer
        )(*(batch(x, a, b) for x, a, b in zip((w, c, xs), inner, outer, strict=True)))
    return found


def linear(lib, jnp, lax):
    a, x = np.float64(0.7), real(4)

    def recurrence(c, x, reverse=False):
        """Linear in both."""
        return lax.scan(lambda c, x: (a * c + x, c - 2 * x), c, x, reverse=reverse)

    def back(c, x, reverse=False):
        return lib.linear_transpose(lambda c, x: recurrence(c, x, reverse), c, x)((jnp.asarray(1.5), jnp.cos(x)))

    def curved(c, x):
        return lax.scan(lambda c, x: (jnp.sin(c) * x + c, c * c), c, x)

    def pushed(c, x):
        y, push = lib.linearize(curved, c, x)
        return y, push(1.0, x), lib.vmap(push)(np.zeros(4), np.eye(4)), lib.jit(push)(0.0, jnp.ones(4))

    def inside_a_loop(c, x):
        """A linear function that is used in each step, forward and back."""
        y, push = lib.linearize(curved, c, x)
        _, pull = lib.vjp(curved, c, x)
        return lax.scan(lambda s, t: (s + push(s, t * x)[0], pull((s, y[1]))[1]), 0.5, x)

    return {
        "linear_transpose of a scan": lambda: back(0.5, x),
        "linear_transpose of a scan in reverse": lambda: back(0.5, x, True),
        "linear_transpose of linear_transpose of a scan": lambda: lib.linear_transpose(
            lambda ct: lib.linear_transpose(lambda x: recurrence(0.0, x)[1], x)(ct)[0], x
        )(x),
        "vmap of linear_transpose of a scan": lambda: lib.vmap(lambda x: back(0.5, x))(np.stack([x, -x])),
        "linear_transpose of vmap of a scan": lambda: lib.linear_transpose(
            lib.vmap(lambda x: recurrence(0.0, x)[1]), np.stack([x, -x])
        )(np.stack([np.cos(x), x])),
        "linearize of scan": lambda: pushed(0.5, x),
        "jit of linearize of scan": lambda: lib.jit(pushed)(0.5, x),
        "vmap of linearize of scan": lambda: lib.vmap(pushed, (None, 0))(0.5, np.stack([x, -x])),
        "linearized scans in a scan": lambda: inside_a_loop(0.5, x),
        "grad through linearized scans in a scan": lambda: lib.grad(lambda x: jnp.sum(inside_a_loop(0.5, x)[1]))(x),
    }


def second_order(lib, jnp, lax):
    c, m, x = np.float64(0.5), real(2, 3), real(5)

    def nested(c, m):
        def inner(d, y):
            return jnp.sin(d) * y + c, d * c

        return jnp.sum(lax.scan(lambda d, row: (lax.scan(inner, d, row)[0], d * row), c, m)[1])

    def prefixes(x, reverse=False):
        return jnp.sum(jnp.sin(lax.associative_scan(lambda a, b: a * b + a + b, x, reverse=reverse)))

    def root(a):
        def newton(f, start):
            slope = lib.jacfwd(f)
            return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-13, lambda x: x - f(x) / slope(x), start)

        solve = lib.lax.custom_root
        return solve(lambda x: x**3 + a * x - 2.0, jnp.ones_like(a), newton, lambda g, y: y / g(jnp.ones_like(y)))

    points = np.array([0.3, 0.9, 2.0])
    return {
        "hessian of nested scans": lambda: lib.hessian(nested, (0, 1))(c, m),
        "jacrev of jacrev of nested scans": lambda: lib.jacrev(lib.jacrev(nested, (0, 1)), (0, 1))(c, m),
        "third derivative of nested scans": lambda: lib.grad(lib.grad(lib.grad(nested)))(c, m),
        "jacfwd of jacrev of associative_scan": lambda: lib.jacfwd(lib.jacrev(prefixes))(x),
        "jacrev of jacfwd of associative_scan": lambda: lib.jacrev(lib.jacfwd(prefixes))(x),
        "hessian of associative_scan in reverse": lambda: lib.hessian(lambda x: prefixes(x, True))(x),
        "hessian of custom_root": lambda: lib.hessian(root)(points[1]),
        "grad of grad of custom_root": lambda: lib.grad(lib.grad(root))(points[1]),
        "jvp of jvp of custom_root": lambda: lib.jvp(lambda a: lib.jvp(root, (a,), (1.0,))[1], (points[1],), (1.0,)),
        "vmap of hessian of custom_root": lambda: lib.vmap(lib.hessian(root))(jnp.asarray(points)),
        "vmap of hessian of nested scans": lambda: lib.vmap(lib.hessian(nested, 1), (0, None))(points, m),
    }  # fmt: skip


def whiles(lib, jnp, lax):
    @lib.custom_jvp
    def soft(x):
        return jnp.sqrt(x * x + 0.1)

    @soft.defjvp
    def _(primals, tangents):
        y = soft(*primals)
        return y, primals[0] / y * tangents[0]

    def grown(x, limit):
        return lax.while_loop(lambda c: c[0] < limit, lambda c: (soft(c[0]) * 1.3, c[1] + 1), (x, 0))

    def first(x, limit):
        return grown(x, limit)[0]

    points, limits = np.array([0.3, 0.9, 2.0]), np.array([4.0, 1.0, 3.0])
    return {
        "custom_jvp in while in jvp": lambda: lib.jvp(first, (0.3, 4.0), (1.0, 1.0)),
        "custom_jvp in while in jvp in vmap": lambda: lib.vmap(lambda x: lib.jvp(first, (x, 4.0), (1.0, 1.0)))(points),
        "custom_jvp in while in vmap in jvp": lambda: lib.jvp(lib.vmap(first), (points, limits), (points, limits)),
        "while in jacfwd of jacfwd": lambda: lib.jacfwd(lib.jacfwd(first))(0.3, 4.0),
        "while, mapped: carry": lambda: lib.vmap(grown, (0, None))(points, 4.0),
        "while, mapped: what it closes over": lambda: lib.vmap(grown, (None, 0))(0.3, limits),
        "while, mapped: both, twice": lambda: lib.vmap(lib.vmap(grown, (0, None)), (None, 0))(points, limits),
        "linearize of while": lambda: lib.linearize(first, 0.3, 4.0)[1](1.0, 1.0),
        "for with a mapped end": lambda: lib.vmap(lambda n, x: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + i, x))(
            np.array([2, 0, 3]), points
        ),
        "jvp of for with a mapped end": lambda: lib.jvp(
            lambda x: lib.vmap(lambda n, x: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + i, x))(
                np.array([2, 0, 3]), x
            ),
            (points,),
            (points,),
        ),
    }


def branches(lib, jnp, lax):
    xs, indices, w = np.array([0.3, -0.4, 0.9]), np.array([2, 0, 1]), real(4)

    def one(x, w):
        return lax.cond(x > 0, lambda x: jnp.sin(x) * w, lambda x: x * x + w, x)

    def chosen(i, x, w):
        return lax.switch(i, [jnp.sin, lambda x: x * w, lambda x: jnp.ones_like(x)], x)

    def walk(x, w):
        """Predicates that differ from example to example, in each step."""
        return jnp.sum(lax.scan(lambda c, y: (one(c, y), c * y), x, w)[1])

    return {
        "grad of cond in vmap": lambda: lib.vmap(lib.grad(lambda x: one(x, 2.0)))(xs),
        "vmap of cond in grad": lambda: lib.grad(lambda x: jnp.sum(lib.vmap(one, (0, None))(x, 2.0)))(xs),
        "vmap of cond, one predicate": lambda: lib.vmap(one, (None, 0))(0.3, w),
        "grad of vmap of cond, one predicate": lambda: lib.grad(lambda x: jnp.sum(lib.vmap(one, (None, 0))(x, w)))(0.3),
        "vmap of cond in scan in grad": lambda: lib.grad(
            lambda x, w: jnp.sum(lib.vmap(walk, (0, None))(x, w)), (0, 1)
        )(xs, w),
        "vmap of grad of cond in scan": lambda: lib.vmap(lib.grad(walk, (0, 1)), (0, None))(xs, w),
        "hessian of cond in scan": lambda: lib.hessian(walk, (0, 1))(0.3, w),
        "switch, mapped: index": lambda: lib.vmap(chosen, (0, None, None))(indices, 0.5, 2.0),
        "switch, mapped: operand": lambda: lib.vmap(chosen, (None, 0, None))(1, xs, 2.0),
        "switch, mapped: what it closes over": lambda: lib.vmap(chosen, (None, None, 0))(1, 0.5, xs),
        "vmap of grad of switch": lambda: lib.vmap(lib.grad(chosen, (1, 2)))(indices, xs, xs),
        "jvp of vmap of switch": lambda: lib.jvp(
            lambda x: lib.vmap(chosen, (0, 0, None))(indices, x, 2.0), (xs,), (xs,)
        ),
        "cond of grad of scan": lambda: lax.cond(
            jnp.asarray(0.3) > 0, lib.grad(lambda w: walk(0.3, w)), lambda w: w, w
        ),
        "grad of cond of grad of scan": lambda: lib.grad(
            lambda x: jnp.sum(lax.cond(x > 0, lib.grad(lambda w: walk(x, w)), lambda w: w, jnp.asarray(w)))
        )(0.3),
    }  # fmt: skip


def collectives(lib, jnp, lax):
    x, w = real(3), real(4)

    def along(combine):
        def one(x, w):
            return lax.scan(lambda c, y: (jnp.sin(c) * y + combine(c), c), x, w)

        return lambda x, w: lib.vmap(one, (0, None), axis_name="i")(x, w)

    def two_names(x):
        def one(x):
            def step(c, _):
                return jnp.tanh(c + lax.psum(c, ("i", "j")) - lax.pmean(c, "i")), lax.axis_index("j")

            return lax.scan(step, x, None, length=2)

        return lib.vmap(lib.vmap(one, axis_name="j"), axis_name="i")(x)

    found = {"two names in a scan": lambda: two_names(real(2, 3))}
    found["grad of two names in a scan"] = lambda: lib.grad(lambda x: jnp.sum(two_names(x)[0] ** 2))(real(2, 3))
    combinations = {
        "psum": lambda c: lax.psum(c, "i"),
        "pmean": lambda c: lax.pmean(c, "i"),
        "all_gather": lambda c: jnp.sum(lax.all_gather(c, "i") ** 2),
        "axis_index": lambda c: c * lax.axis_index("i"),
    }
    for name, combine in combinations.items():
        f = along(combine)
        found[f"{name} in scan in vmap"] = lambda f=f: f(x, w)
        found[f"jvp of {name} in scan in vmap"] = lambda f=f: lib.jvp(f, (x, w), (x, w))
        found[f"grad of {name} in scan in vmap"] = lambda f=f: lib.grad(
            lambda x, w: jnp.sum(jnp.cos(f(x, w)[1])), (0, 1)
        )(x, w)
        found[f"vmap of grad of {name} in scan in vmap"] = lambda f=f: lib.vmap(
            lib.grad(lambda x, w: jnp.sum(jnp.cos(f(x, w)[1])), (0, 1)), (0, None)
        )(real(2, 3), w)
    return found


def inside(lib, jnp, lax):
    """Transformations in the bodies of loops, of functions that close over what is transformed outside."""
    a, x = np.float64(0.6), real(3)

    def scan_of_grads(a, x):
        def step(c, y):
            return c - 0.1 * lib.grad(lambda c: jnp.sin(a * c) * y + c * c)(c), c

        return lax.scan(step, a * a, x)

    def newton(a):
        """A while loop of batches of derivatives, which close over what the loop is mapped over."""

        def f(x):
            return jnp.exp(x) - a

        def step(c):
            x, n = c
            return x - lib.vmap(f)(x) / lib.vmap(lib.grad(f))(x), n + 1

        return lax.while_loop(lambda c: (jnp.max(jnp.abs(f(c[0]))) > 1e-12) & (c[1] < 20), step, (jnp.zeros(2), 0))[0]

    def curvature(a, x):
        """Conjugate gradients with products of Hessians and vectors."""

        def loss(x):
            return jnp.sum(jnp.exp(a * x)) + jnp.sum(x**2) + jnp.prod(x)

        def product(v):
            return lib.jvp(lib.grad(loss), (x,), (v,))[1]

        def step(i, state):
            y, r, p = state
            q = product(p)
            y, fresh = y + (r @ r) / (p @ q) * p, r - (r @ r) / (p @ q) * q
            return y, fresh, fresh + (fresh @ fresh) / (r @ r) * p

        g = lib.grad(loss)(x)
        return lax.fori_loop(0, 2, step, (jnp.zeros_like(x), g, g))[0]

    def jacobians(a, x):
        return lax.map(lambda y: lib.jacfwd(lambda v: jnp.sin(a * v) * v[::-1])(y * x), x)

    f = {"scan of grads": scan_of_grads, "conjugate gradients of a Hessian": curvature, "map of jacobians": jacobians}
    found = {"jvp of while of vmap of grad": lambda: lib.jvp(newton, (2.0,), (1.0,))}
    found["vmap of jvp of while of vmap of grad"] = lambda: lib.vmap(lambda a: lib.jvp(newton, (a,), (1.0,)))(
        np.array([2.0, 0.5])
    )
    for name, g in f.items():
        found[name] = lambda g=g: g(a, x)
        found[f"grad of {name}"] = lambda g=g: lib.grad(lambda a: sum(map(jnp.sum, lib.tree.leaves(g(a, x)))))(a)
        found[f"jacfwd of {name}"] = lambda g=g: lib.jacfwd(g, (0, 1))(a, x)
        found[f"vmap of {name}"] = lambda g=g: lib.vmap(g, (0, None))(np.array([0.6, -0.3]), x)
    return found


def training(lib, jnp, lax):
    params = {"w": real(3, 2), "b": real(2), "out": real(2, seed=1)}
    xs, ys = real(3, 4, 3), real(3, seed=2)

    def loss(params, x, y):
        h, _ = lax.scan(lambda h, x: (jnp.tanh(x @ params["w"] + h * params["b"]), None), jnp.zeros(2), x)
        return (h @ params["out"] - y) ** 2

    def clipped(params):
        """Gradients example by example, none longer than a limit."""
        each = lib.vmap(lib.grad(loss), (None, 0, 0))(params, xs, ys)
        sizes = jnp.sqrt(sum(jnp.sum(g.reshape(3, -1) ** 2, 1) for g in lib.tree.leaves(each)))
        return lib.tree.map(lambda g: jnp.einsum("i,i...->...", 1 / jnp.maximum(sizes, 0.2), g), each)

    def trained(params, rate):
        def step(p, pair):
            value, slopes = lib.value_and_grad(loss)(p, *pair)
            return lib.tree.map(lambda p, g: p - rate * g, p, slopes), value

        return lax.scan(step, params, (xs, ys))

    def after(params, rate):
        return loss(trained(params, rate)[0], xs[0], ys[0])

    return {
        "per-example gradients of a scan": lambda: lib.vmap(lib.grad(loss), (None, 0, 0))(params, xs, ys),
        "clipped per-example gradients": lambda: clipped(params),
        "training in a scan": lambda: trained(params, 0.3),
        "gradient through training in a scan": lambda: lib.grad(after, (0, 1))(params, 0.3),
        "gradient through training, forward": lambda: lib.jacfwd(after, 1)(params, 0.3),
        "ensemble": lambda: lib.vmap(trained, (None, 0))(params, np.array([0.1, 0.3])),
    }


def sampling(lib, jnp, lax):
    def energy(x):
        return jnp.sum(x**4 - x**2)

    def step(carry):
        key, x, n, accepted = carry
        key, one, two = lib.random.split(key, 3)
        proposal = x + lib.random.uniform(one, x.shape, "float64", -0.5, 0.5)
        take = jnp.log(lib.random.uniform(two, (), "float64")) < energy(x) - energy(proposal)
        return key, jnp.where(take, proposal, x), n + 1, accepted + take

    def chain(key, x):
        return lax.while_loop(lambda c: (c[2] < 6) & (c[3] < 4), step, (key, x, 0, 0))[1:]

    def reparametrized(scale, key):
        def one(c, key):
            return jnp.tanh(c + scale * lib.random.uniform(key, c.shape, "float64", -1.0, 1.0)), jnp.sum(c)

        return lax.scan(one, jnp.zeros(2), lib.random.split(key, 3))[1]

    def keys():
        return lib.random.split(lib.random.PRNGKey(5), 3)

    start = real(3, 2)
    return {
        "Metropolis": lambda: chain(lib.random.PRNGKey(1), start[0]),
        "vmap of Metropolis": lambda: lib.vmap(chain)(keys(), start),
        "vmap of Metropolis, one key": lambda: lib.vmap(chain, (None, 0))(lib.random.PRNGKey(1), start),
        "jacfwd of samples": lambda: lib.jacfwd(lambda s: reparametrized(s, lib.random.PRNGKey(2)))(0.4),
        "vmap of grad of samples": lambda: lib.vmap(lib.grad(lambda s, k: jnp.sum(reparametrized(s, k))), (None, 0))(
            0.4, keys()
        ),
    }


def table(lib, interpret):
    """(label, place) -> array."""
    found = {}
    for label, thunk in orders(lib).items():
        values = interpret(lambda thunk=thunk: lib.tree.leaves(thunk()))
        found.update(((label, i), y) for i, y in enumerate(values))
    return found


def by_jax(lib):
    return table(lib, lambda whole: INTERPRETING.interpreted(lib.jit(whole).lower().compiler_ir("stablehlo")))
