"""Random nestings of transformations, and derivatives of functions of trees; run with xlascope and with jax."""

import itertools
import random as dice

import numpy as np

SCALAR = ("tanh", "polynomial", "table", "norm")
TRANSFORMS = ("grad", "jit", "vmap", "jvp", "vjp", "value", "jacfwd", "jacrev", "linearize")


def functions(lib):
    jnp = lib.numpy
    table = np.linspace(-1.0, 2.0, 6, dtype="float32").reshape(2, 3)

    def inner(x):
        return jnp.sin(x) * x

    return {
        "tanh": jnp.tanh,
        "polynomial": lambda x: x * x * x - 2.0 * x / (1.0 + x * x),
        "table": lambda x: jnp.sum(jnp.exp(table * x)[0] * jnp.where(table[1] > 0.5, x, 1.0)),
        "norm": lambda x: jnp.sqrt(1.0 + lib.jit(inner)(x) ** 2) + lib.nn.log_softmax(jnp.stack([x, x * x, -x]))[0],
    }


def wrapped(lib, name, f):
    """A scalar-to-scalar function from another, by one transformation."""
    jnp = lib.numpy
    if name == "grad":
        return lib.grad(f)
    if name == "jit":
        return lib.jit(f)
    if name == "vmap":
        return lambda x: jnp.sum(lib.vmap(lambda s: f(x * s))(np.array([0.5, 1.0, 2.0], "float32")))
    if name == "jvp":
        return lambda x: (lambda y, t: y + t)(*lib.jvp(f, (x,), (jnp.cos(x),)))
    if name == "vjp":
        return lambda x: (lambda y, back: y * back(jnp.ones_like(y))[0])(*lib.vjp(f, x))
    if name == "value":
        return lambda x: (lambda y, g: y - g)(*lib.value_and_grad(f)(x))
    if name == "jacfwd":
        return lib.jacfwd(f)
    if name == "jacrev":
        return lib.jacrev(f)
    return lambda x: (lambda y, push: y + push(x))(*lib.linearize(f, x))


def chains():
    """All pairs, and a fixed draw of longer ones."""
    yield from (("norm", chain) for chain in itertools.product(TRANSFORMS, repeat=2))
    drawn = dice.Random(20261121)
    for depth in (3,) * 30 + (4,) * 10:
        yield drawn.choice(SCALAR), tuple(drawn.choice(TRANSFORMS) for _ in range(depth))


def nested(lib):
    found = functions(lib)
    values = {}
    for name, chain in chains():
        f = found[name]
        for step in chain:
            f = wrapped(lib, step, f)
        values[" of ".join((*reversed(chain), name))] = np.asarray(f(0.7))
    return values


def trees(lib):
    return {name: lib.tree.map(np.asarray, value) for name, value in _trees(lib)}


def _trees(lib):
    jnp = lib.numpy
    params = {"w": np.arange(6.0, dtype="float32").reshape(2, 3) / 3, "b": [np.float32(0.5), np.ones(3, "float32")]}
    x = np.array([0.3, -1.2], "float32")

    def f(p, x, scale=1.0):
        return {"out": jnp.tanh(x @ p["w"] + p["b"][1]) * p["b"][0] * scale, "sum": jnp.sum(x * x)}

    def loss(p, x, scale=1.0):
        return jnp.sum(f(p, x, scale)["out"] ** 2)

    for argnums in (0, 1, (0, 1), (1, 0), -1, (0, -1)):
        yield f"grad {argnums}", lib.grad(loss, argnums)(params, x)
        yield f"value_and_grad {argnums}", lib.value_and_grad(loss, argnums)(params, x)
    yield "grad with a keyword", lib.grad(loss)(params, x, scale=3.0)
    yield "grad, aux", lib.grad(lambda p, x: (loss(p, x), {"twice": x * 2}), has_aux=True)(params, x)
    yield "value_and_grad, aux", lib.value_and_grad(lambda p, x: (loss(p, x), p["b"]), has_aux=True)(params, x)
    for argnums in (0, 1, (0, 1)):
        yield f"jacfwd {argnums}", lib.jacfwd(f, argnums)(params, x)
        yield f"jacrev {argnums}", lib.jacrev(f, argnums)(params, x)
        yield f"hessian {argnums}", lib.hessian(loss, argnums)(params, x)
    yield "hessian of a tree", lib.hessian(f)(params, x)
    yield "jacfwd, aux", lib.jacfwd(lambda p: (f(p, x), x), has_aux=True)(params)
    yield "jacrev, aux", lib.jacrev(lambda p: (f(p, x), x), has_aux=True)(params)
    yield "jvp", lib.jvp(f, (params, x), (params, x))
    yield "vjp", lib.vjp(f, params, x)[1]({"out": np.ones(3, "float32"), "sum": np.float32(2)})
    y, push = lib.linearize(f, params, x)
    yield "linearize", (y, push(params, x))
    yield "jit(grad)", lib.jit(lib.grad(loss))(params, x)
    yield "per example", lib.vmap(lib.grad(loss), in_axes=(None, 0))(params, np.stack([x, 2 * x, 3 * x]))
    yield from _maps(lib, params)
    yield from _integers(lib)


def _maps(lib, params):
    jnp = lib.numpy
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    for axis in (0, 1, 2, -1, -2):
        for out in (0, 1, -1):
            yield f"vmap {axis} to {out}", lib.vmap(lambda v: jnp.cumsum(v, 0) * 2, in_axes=axis, out_axes=out)(x)
    yield "vmap of two axes", lib.vmap(lambda u, v: u @ v, in_axes=(0, 2))(x[:, :, :2], np.ones((2, 3, 2), "float32"))
    yield "vmap with None", lib.vmap(lambda u, v: u + v, in_axes=(1, None))(x, np.ones((2, 4), "float32"))
    yield "nested vmap", lib.vmap(lib.vmap(lambda v: v / jnp.sum(v)), in_axes=1)(x)
    stacked = lib.tree.map(lambda p: np.stack([p, p + 1]), params)
    yield "vmap of a tree", lib.vmap(lambda p: p["w"].sum() * p["b"][0])(stacked)
    axes = ({"w": 0, "b": [None, 0]},)
    yield (
        "vmap of a tree of axes",
        lib.vmap(lambda p: p["w"] * p["b"][1] + p["b"][0], in_axes=axes)(
            {**stacked, "b": [np.float32(3), stacked["b"][1]]}
        ),
    )
    yield "vmap of a prefix", lib.vmap(lambda p, s: p["w"] * s, in_axes=(0, None))(stacked, 2.0)
    out_axes = {"a": 0, "b": 1, "c": None}
    yield "vmap, out_axes a tree", lib.vmap(lambda v: {"a": v, "b": v, "c": 7.0}, out_axes=out_axes)(x[0])
    yield "vmap, a keyword", lib.vmap(lambda v, *, w: v * w)(x, w=np.array([1.0, 2.0], "float32"))
    yield "vmap, nothing mapped in the result", lib.vmap(lambda v: 3.0)(x)
    yield "vmap of indexing", lib.vmap(lambda v, i: v[i], in_axes=(0, 0))(x, np.array([2, 0]))
    yield "vmap of a dot, right", lib.vmap(lambda u, v: u @ v, in_axes=(None, 0))(x[0], np.ones((5, 4, 2), "float32"))


def _integers(lib):
    jnp = lib.numpy
    yield "grad beside an integer argument", lib.grad(lambda x, n: x**2 * n)(3.0, 4)
    yield (
        "grad through astype",
        lib.grad(lambda x: jnp.sum(x.astype("int32").astype("float32") * x))(np.array([1.5, 2.5], "float32")),
    )
    yield "grad through an index", lib.grad(lambda x, i: x[i] * x[i + 1])(np.arange(4.0, dtype="float32"), 1)
    yield "grad in half precision", lib.grad(lambda x: jnp.sum(x * x))(np.array([1.0, 2.0], "float16"))
    # the perturbations of two derivatives are different ones
    yield "confusion", lib.grad(lambda x: x * lib.grad(lambda y: x + y)(1.0))(1.0)
    yield "confusion, forward", lib.jvp(lambda x: x * lib.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))
    yield "confusion, mixed", lib.grad(lambda x: lib.jvp(lambda y: x * x * y, (x,), (1.0,))[1] * x)(2.0)
    yield "confusion, vmap", lib.vmap(lambda x: lib.vmap(lambda y: x * y)(np.arange(3.0)))(np.arange(2.0))
