"""Functions of trees and all their derivatives, computed with xlascope and with jax."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np

Pair = namedtuple("Pair", "first second")


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.4, 1.6, shape).astype(np.float32)


def functions(lib: Any) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Functions by name, each with arguments; smooth there."""
    jnp, lax, nn = lib.numpy, lib.lax, lib.nn

    class Layer:
        def __init__(self, w: Any, b: Any) -> None:
            self.w, self.b = w, b

    lib.tree_util.register_pytree_node(Layer, lambda a: ((a.w, a.b), "layer"), lambda _, xs: Layer(*xs))
    v, w, m = _numbers(3), _numbers(3, seed=1), _numbers(2, 3, seed=2)
    s = np.float32(0.7)
    half = lib.jit(lambda d: {"y": jnp.tanh(d["x"]) * d["y"], "z": d["y"]})
    return {
        "a number": (lambda x: x * x, (s,)),
        "a dict": (lambda d: d["a"] * d["b"], ({"a": v, "b": w},)),
        "a dict to a dict": (lambda d: {"sum": d["a"] + d["b"], "last": d["b"][-1]}, ({"b": v, "a": w},)),
        "dicts in dicts": (lambda d: d["x"]["y"] * jnp.sin(d["z"]), ({"x": {"y": s}, "z": v},)),
        "an ordered dict": (lambda d: OrderedDict(q=d["z"] ** 2, p=d["a"]), (OrderedDict(z=v, a=s),)),
        "a tuple": (lambda t: (t[1], t[0] * t[1][0]), ((s, v),)),
        "a list in a tuple": (lambda t: [t[0][1] / t[0][0], t[1]], (([v, w], s),)),
        "a named tuple": (lambda p: Pair(p.second**2, p.first), (Pair(v, s),)),
        "a named tuple with None": (lambda p: Pair(None, p.first * 2), (Pair(v, None),)),
        "None beside": (lambda x, nothing: {"y": jnp.exp(x), "n": nothing}, (v, None)),
        "a registered class": (lambda a: a.w @ a.b, (Layer(m, v),)),
        "to a registered class": (lambda x, y: Layer(x * y, {"y": y}), (v, s)),
        "two arguments": (lambda x, y: jnp.outer(x, y), (m[0], v)),
        "three arguments": (lambda x, y, z: (x * y, y * z[0]), (s, v, [s])),
        "an argument without effect": (lambda x, y: x**3, (v, w)),
        "a constant result": (lambda x: {"y": x * x, "one": jnp.ones(2)}, (v,)),
        "the argument itself": (lambda x: x, ({"a": v, "b": (s,)},)),
        "a result twice": (lambda x: (lambda y: [y, y])(x * x), (v,)),
        "an operand twice": (lambda d: d["x"] * d["x"] + d["x"], ({"x": v},)),
        "a dense layer": (lambda p, x: nn.relu(x @ p["w"] + p["b"]), ({"w": m, "b": v}, m[:, :2])),
        "a softmax": (lambda d: nn.log_softmax(d["logits"] * 3), ({"logits": v},)),
        "norms": (lambda t: jnp.sqrt(sum(jnp.sum(x**2) for x in t)), ((v, s, m),)),
        "a sort": (lambda x: jnp.sort(x)[::-1], (v,)),
        "largest": (lambda d: {k: jnp.max(x) for k, x in d.items()}, ({"m": m, "v": v},)),
        "where": (lambda x, y: jnp.where(x > 1.0, x * y, jnp.sin(y)), (v, w)),
        "pieces": (lambda x: (x[:, 1:], x[0], x.T[::2]), (m,)),
        "joined": (lambda t: jnp.concatenate([t[0], jnp.stack([t[1]] * 2)]), ((v, s),)),
        "updated": (lambda d: jnp.asarray(d["x"]).at[1].set(d["u"] ** 2).at[0].multiply(d["u"]), ({"x": v, "u": s},)),
        "running sums": (lambda x: jnp.cumsum(x**2), (v,)),
        "a product": (lambda x: jnp.prod(x), (v,)),
        "quotients and powers": (lambda x, y: (x / y) ** y, (v, w)),
        "inside jit": (lambda d: half(half(d) | {"x": d["x"]}), ({"x": v, "y": s},)),
        "inside vmap": (lambda a, b: lib.vmap(lambda r: {"y": jnp.dot(r, b)})(a), (m, v)),
        "a derivative": (lambda x: lib.grad(lambda y: jnp.sum(jnp.sin(y) * x))(x), (v,)),
        "a constant of itself": (lambda x: x * lax.stop_gradient(2.0) + 0.5, (v,)),
        "sines of sums": (lambda d: jnp.sin(jnp.sum(d["x"]) + d["y"]), ({"x": v, "y": w},)),
    }


def draw(lib: Any, tree: Any, seed: int) -> Any:
    """A tree of random directions."""
    random = np.random.default_rng(seed)
    return lib.tree_util.tree_map(lambda x: random.standard_normal(np.shape(x)).astype(np.float32), tree)


def derivatives(lib: Any, name: str) -> dict[str, tuple[str, list[Any]]]:
    """All derivatives of one function, each as the text of its structure and its leaves."""
    f, args = functions(lib)[name]
    everything = tuple(range(len(args)))
    tangents = draw(lib, args, 1)
    cotangent = draw(lib, lib.eval_shape(f, *args), 2)

    def total(*xs: Any) -> Any:
        weighted = lib.tree_util.tree_map(lambda y, c: lib.numpy.sum(y * c), f(*xs), cotangent)
        return sum(lib.tree_util.tree_leaves(weighted))

    def computed(args: Any, tangents: Any, cotangent: Any) -> Any:
        push = lib.linearize(f, *args)[1]
        return {
            "value": f(*args),
            "jvp": lib.jvp(f, args, tangents)[1],
            "vjp": lib.vjp(f, *args)[1](cotangent),
            "linearize": push(*tangents),
            "transpose": lib.linear_transpose(push, *args)(cotangent),
            "grad": lib.grad(total, everything)(*args),
            "jacfwd": lib.jacfwd(f, everything)(*args),
            "jacrev": lib.jacrev(f, everything)(*args),
            "hessian": lib.hessian(total, everything)(*args),
        }

    structures = {}

    def flat(*given: Any) -> Any:
        found = {}
        for what, tree in computed(*given).items():
            found[what], structure = lib.tree_util.tree_flatten(tree)
            structures[what] = str(structure)
        return found

    found = lib.jit(flat)(args, tangents, cotangent)
    return {what: (structures[what], [np.asarray(x) for x in leaves]) for what, leaves in found.items()}


def every(lib: Any) -> dict[str, Any]:
    return {name: derivatives(lib, name) for name in functions(lib)}
