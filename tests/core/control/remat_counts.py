"""What checkpointed functions save and what they compute again, policy by policy; run with xlascope and with jax."""

import numpy as np

X = np.linspace(0.1, 0.9, 9, dtype=np.float32).reshape(3, 3)
Y = X[::-1] * np.float32(0.5)
T = np.stack([X, Y])
COUNTED = ("sin", "cos", "exp", "dot_general", "tanh", "scan", "cond")


def functions(lib):
    """Name to (function, operands)."""
    jnp, lax, name = lib.numpy, lib.lax, lib.ad_checkpoint.checkpoint_name
    inner = lib.jit(lambda x, y: jnp.sin(x @ y))
    most = lambda x: jnp.exp(x - jnp.max(x))  # noqa: E731
    return {
        "sines": (lambda x: jnp.sin(jnp.sin(jnp.sin(x))), (X,)),
        "products": (lambda x, y: jnp.sin(jnp.sin(x @ y) @ y), (X, Y)),
        "batched products": (lambda t: jnp.tanh(jnp.einsum("bij,bjk->bik", jnp.sin(t), t)), (T,)),
        "named": (lambda x, y: jnp.sin(name(jnp.cos(x @ y), "a") * name(jnp.exp(y), "b")), (X, Y)),
        "named twice": (lambda x: name(jnp.sin(name(jnp.sin(x), "a")), "b") * x, (X,)),
        "jit inside": (lambda x, y: jnp.cos(inner(inner(x, y), y)), (X, Y)),
        "scan inside": (lambda x: lax.scan(lambda c, s: (jnp.sin(c * s), jnp.cos(c)), x[0], x), (X,)),
        "layers": (lambda x, t: lax.scan(lambda c, w: (jnp.sin(inner(c, w)), None), x, t)[0], (X, T)),
        "scan in a scan": (
            lambda x: lax.scan(lambda c, s: lax.scan(lambda d, r: (jnp.sin(d @ Y) * r, d), c, s), x, T[:, :2, 0])[0],
            (X,),
        ),
        "cond inside": (lambda x: lax.cond(x[0, 0] > 0, lambda x: jnp.sin(jnp.exp(x)), lambda x: x, x), (X,)),
        "linear": (lambda x, y: x @ Y + y, (X, Y)),
        "softmax": (lambda x: most(x) / jnp.sum(most(x)), (X,)),
        "two results": (lambda x: (jnp.sin(x), jnp.cos(jnp.sin(x))), (X,)),
    }


def policies(lib):
    p = lib.checkpoint_policies
    return {
        "no policy": None,
        "nothing": p.nothing_saveable,
        "everything": p.everything_saveable,
        "dots": p.dots_saveable,
        "checkpoint_dots": p.checkpoint_dots,
        "dots without batch": p.dots_with_no_batch_dims_saveable,
        "only a": p.save_only_these_names("a"),
        "any but a": p.save_any_names_but_these("a"),
        "anything except a": p.save_anything_except_these_names("a"),
        "both": p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("b")),
        "own": lambda primitive, *avals, **params: primitive.name == "sin",
    }


def equations(jaxpr):
    """All equations, those inside of others as well."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for held in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(held, "eqns"):
                    yield from equations(held)


def counts(lib, f, operands):
    """How often each operation stands in what is computed again, and how many operands that has."""
    gradient = lib.grad(loss_of(lib, f), tuple(range(len(operands))))
    again = [e for e in equations(lib.make_jaxpr(gradient)(*operands)) if e.primitive.name in ("remat2", "checkpoint")]
    names = [e.primitive.name for a in again for e in equations(a.params["jaxpr"])]
    return {name: names.count(name) for name in COUNTED if name in names}, [len(a.invars) for a in again]


def loss_of(lib, f):
    """The sum of all results."""
    return lambda *xs: sum(lib.numpy.sum(y) for y in lib.tree_util.tree_leaves(f(*xs)))


def every(lib):
    return {
        (name, policy): counts(lib, lib.checkpoint(f, policy=rule), operands)
        for name, (f, operands) in functions(lib).items()
        for policy, rule in policies(lib).items()
    }
