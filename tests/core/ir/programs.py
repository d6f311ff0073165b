# ruff: noqa: E501 (a row is one line)
"""Programs whose jaxprs both libraries print: texts over ``lax``, ``jnp`` and ``xs`` (the library)."""

from typing import Any

import numpy as np

X = np.arange(6, dtype=np.float32).reshape(2, 3)
V = np.arange(3, dtype=np.float32)
S = np.float32(0.5)
K = np.int32(1)
ONES, ZEROS = np.ones(8, np.float32), np.zeros(8, np.float32)
DOT = "(((1,), (0,)), ((), ()))"

PROGRAMS: dict[str, tuple[Any, ...]] = {
    "identity": ("lambda x: x", V),
    "nothing": ("lambda: ()",),
    "a literal alone": ("lambda: 3",),
    "a literal and an argument": ("lambda x: (2.0, x)", S),
    "two results": ("lambda x: (lax.sin(x), lax.neg(x))", V),
    "many operands and nothing else": ("lambda *xs: xs", *[S] * 23),
    "many operands": ("lambda *xs: lax.concatenate(xs, 0)", *[V] * 25),
    "more operands": ("lambda *xs: lax.concatenate([*xs, *xs, *xs], 0)", *[V] * 12),
    "a literal": ("lambda x: lax.mul(x, np.float32(2))", S),
    "literals with all digits": ("lambda x: (x * 0.1, x + 1e-8, x - 1e20, x * np.float32(3.3), x + float('nan'))", S),
    "literals of other types": (
        "lambda x, i, c, b: (x.astype('bfloat16') * 1.1, i & 6, c + 1.1, b ^ True)", S, np.uint8(3), np.complex64(1), np.bool_(True),
    ),
    "a complex factor": ("lambda x: x * (1 + 2j)", S),
    "a constant": ("lambda x: lax.add(x, xs.device_put(np.float32([1, 2, 3])))", V),
    "two constants": ("lambda x: (x + xs.device_put(V), xs.device_put(X) * 2)", 1.0),
    "weak": ("lambda x: lax.add(x, 1.5)", 2.0),
    "weak in several places": ("lambda x: (x * 0.1, 0.1 + x, xs.jit(lambda x: x)(0.1), 0.1)", 2.0),
    "unused inside": ("lambda x: xs.jit(lambda x: (lax.sin(x), x)[1])(x)", S),
    "mixed": ("lambda x: (x & True, x + 1e-8, x + np.float16(3))", 1),
    "elementwise": ("lambda x: lax.div(lax.exp(lax.tanh(x)), lax.integer_pow(x, 3))", V),
    "reductions": ("lambda x: (lax.reduce_max(lax.cumsum(x, 1), (1,)), lax.argmax(x, 1, 'int32'))", X),
    "sum": ("lambda x: jnp.sum(x, 0)", X),
    "shapes": ("lambda x: lax.rev(lax.transpose(lax.reshape(x, (3, 2)), (1, 0)), (0,))", X),
    "broadcasts": ("lambda x: (lax.broadcast_in_dim(x, (2, 3, 1), (0, 1)), jnp.zeros(3), x[None])", X),
    "slices": ("lambda x: lax.pad(lax.slice(x, (0, 1), (2, 3)), np.float32(0), ((0, 0, 0), (1, 0, 0)))", X),
    "strides": ("lambda x: x[::2]", V),
    "dynamic": ("lambda x: lax.dynamic_slice(x, (1, 1), (1, 2))", X),
    "comparison": ("lambda x: lax.select(lax.gt(x, np.float32(1)), x, lax.neg(x))", S),
    "conversion": ("lambda x: lax.convert_element_type(x, 'int32')", V),
    "clamp": ("lambda x: lax.clamp(np.float32(0), x, np.float32(1))", V),
    "iota": ("lambda x: jnp.arange(3) + x", V),
    "powers": ("lambda x, i: (x**2, x**3, x**-1, x**0.5, x**1, x**0, i**2, jnp.power(x, 2), jnp.square(x))", X, K),
    "gradient of powers": ("lambda x: xs.grad(lambda x: jnp.sum(x**3))(x)", V),
    "concatenate": ("lambda x: lax.concatenate([x, x], 1)", X),
    "many variables": ("lambda x: [x := lax.sin(x) for _ in range(30)][-1]", S),
    "dot": (f"lambda x, v: lax.dot_general(x, v, {DOT}, preferred_element_type=np.float32)", X, V),
    "dot without a type": (f"lambda x, v: lax.dot_general(x, v, {DOT})", X, V),
    "dot deeper": ("lambda x: xs.jit(lambda x: xs.jit(lambda x: lax.sin(x @ x.T))(x))(x)", X),
    "unused": ("lambda x: [lax.sin(x), lax.cos(x)][1]", X),
    "unused among several": ("lambda x: lax.sort((x, x))[1]", X),
    "batch": ("lambda x: xs.vmap(lambda v: lax.sin(v * 2.0) + v)(x)", X),
    "gradient": ("lambda x: xs.grad(lambda x: jnp.sum(jnp.sin(x) * 3.0))(x)", V),
    "first of the lecture": ("lambda first, second: jnp.sum(first + jnp.sin(second) * 3.)", ZEROS, ONES),
    "function as an argument": (
        "(lambda inner: lambda first, second: jnp.sum(first + inner(second) * 3.))(lambda v: jnp.sin(v) if v.shape[0] > 4 else 1 / 0)",
        ZEROS, ONES,
    ),
    "nested call": ("lambda x: xs.jit(lambda y: lax.sin(y))(lax.cos(x))", V),
    "nested twice": ("lambda x: xs.jit(lambda y: xs.jit(lambda z: lax.neg(z))(lax.sin(y)))(x)", V),
    "nested four times": ("(lambda j: j(j(j(j(lax.sin)))))(lambda f: xs.jit(lambda x: f(x) * 2.0))", S),
    "nested call that closes over": (
        "lambda arg: arg + xs.jit(lambda x: x + arg * jnp.ones(1))(arg - 2.)", 1.0
    ),
    "call of literals": ("lambda x: xs.jit(lambda x, y: x + y)(2.0, x)", S),
    "call of nothing": ("xs.jit(lambda x: x)", S),
    "call with a literal result": ("xs.jit(lambda x: (x, 2.0))", S),
    "called twice": ("(lambda f: lambda x: f(f(x)))(xs.jit(lambda x: lax.sin(x) + 1.0))", S),
    "long body called twice": ("(lambda f: lambda x: f(f(x)))(xs.jit(lambda x: jnp.sum(lax.sin(x) * 2.0) + x))", V),
    "called twice inside": ("(lambda f: xs.jit(lambda x: f(f(x)) * 2.0))(xs.jit(lambda x: lax.sin(x) + 1.0))", S),
    "two called twice": (
        "(lambda f, g: lambda x: f(f(x)) + g(g(x)))(xs.jit(lambda x: lax.sin(x) + 1.0), xs.jit(lambda x: lax.cos(x)))", S,
    ),
    "the outer one is met first": (
        "(lambda f, g: lambda x: xs.jit(lambda x: f(f(x)))(x) + g(g(x)))(xs.jit(lambda x: lax.sin(x)), xs.jit(lambda x: lax.cos(x)))", S,
    ),
    "shared with what it calls": ("(lambda f: (lambda g: lambda x: g(g(x)))(xs.jit(lambda x: f(x) * 2.0)))(xs.jit(lambda x: lax.sin(x)))", S),
    "called with two types": ("(lambda f: lambda x: (f(x), f(x.astype('int32'))))(xs.jit(lambda x: x + 1))", S),
    "batched call": ("xs.vmap(xs.jit(lambda x: x + 1.0))", V),
    "many results": ("lambda x: xs.jit(lambda x: (lax.sin(x),) * 12)(x)", S),
    "long bodies": ("lambda x: xs.jit(lambda x: tuple(x + i for i in range(25)))(x)", S),
    "long body in a long body": ("lambda x: xs.jit(lambda x: x + xs.jit(lambda x: tuple(x + i for i in range(11))[3])(x))(x)", S),
    **{f"body of {n}": (f"lambda x: xs.jit(lambda x: [x := lax.sin(x) for _ in range({n})][-1])(x)", S) for n in (9, 10, 11)},
    **{
        f"{n} letters": (f"lambda x: xs.jit(named('{'f' * n}', lambda x: lax.sin(x)))(x)", S)
        for n in (3, 10, 15, 16, 17, 40, 60)
    },
    **{f"{n} steps": (f"lambda x: [x := lax.sin(x) for _ in range({n})][-1]", S) for n in range(1, 8)},
    **{f"{n} axes": (f"lambda x: lax.expand_dims(x, {tuple(range(n))})", S) for n in range(1, 16, 2)},
    **{f"{n} axes summed": (f"lambda x: jnp.sum(x, {tuple(range(n))})", np.ones((1,) * 16, np.float32)) for n in range(1, 16)},
}  # fmt: skip

#: Programs that hold others in other ways than calls.
CONTROL: dict[str, tuple[Any, ...]] = {
    "cond": ("lambda arg: lax.cond(arg >= 0., lambda xtrue: xtrue + 3., lambda xfalse: xfalse - 3., arg)", 5.0),
    "cond without operands": ("lambda p: lax.cond(p, lambda: 1.0, lambda: 2.0)", np.bool_(True)),
    "cond that closes over": ("lambda x, y: lax.cond(x > 0, lambda x: x + y, lambda x: x * 2, x)", S, S),
    "cond of the same": ("lambda x: (lambda f: lax.cond(x > 0, f, f, x))(xs.jit(lambda x: lax.sin(x)))", S),
    "switch": ("lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * 2.0, lambda x: lax.sin(x)], x)", K, S),
    "while": ("lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * x), (0, x))", S),
    "while on one value": ("lambda x: lax.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, x)", S),
    "for": ("lambda x: lax.fori_loop(0, 10, lambda i, c: c * x, x)", S),
    "for with a traced end": ("lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x)", S, K),
    "scan": ("lambda x: lax.scan(lambda c, y: (c + y, c * y), S, x)", V),
    "scan of a weak carry": ("lambda x: lax.scan(lambda c, y: (c + y, c * y), 0., x)", V),
    "scan with a length": ("lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=3)[0]", S),
    "scan backward": ("lambda x: lax.scan(lambda c, y: (c + y, c), S, x, reverse=True, unroll=2)", V),
    "scan with constants": ("lambda x, w: lax.scan(lambda c, y: (c * w, c + y), S, x)", V, S),
    "scan of a call": ("(lambda f: lambda x: lax.scan(lambda c, y: (f(c), f(y)), S, x))(xs.jit(lambda x: lax.sin(x)))", V),
    "scan twice": ("(lambda b: lambda x: (lax.scan(b, S, x), lax.scan(b, S, x)))(lambda c, y: (c + y, c))", V),
    "custom jvp": ("custom_jvp(xs)", S),
    "custom vjp": ("custom_vjp(xs)", S),
    "gradient of custom jvp": ("xs.grad(custom_jvp(xs))", S),
    "checkpoint": ("xs.checkpoint(lambda x: lax.sin(lax.sin(x)))", S),
    "checkpoint twice": ("(lambda f: lambda x: f(f(x)))(xs.checkpoint(lambda x: lax.sin(x)))", S),
    "gradient of checkpoint": ("xs.grad(xs.checkpoint(lambda x: lax.sin(lax.sin(x))))", S),
    "loop in a branch": (
        "lambda x: lax.cond(x > 0, lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0, x), lambda x: x, x)", S,
    ),
}  # fmt: skip


def named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


def custom_jvp(xs: Any) -> Any:
    """A function with a rule of its own for forward differentiation."""

    def slope(primals, tangents):
        return xs.numpy.sin(primals[0]), tangents[0] * 2.0

    smooth = xs.custom_jvp(named("smooth", lambda x: xs.numpy.sin(x)))
    smooth.defjvp(slope)
    return smooth


def custom_vjp(xs: Any) -> Any:
    """A function with a rule of its own for reverse differentiation."""

    def forward(x):
        return xs.numpy.sin(x), x

    def backward(x, ct):
        return (ct * x,)

    smooth = xs.custom_vjp(named("smooth", lambda x: xs.numpy.sin(x)))
    smooth.defvjp(forward, backward)
    return smooth


def _texts(library: Any, table: dict[str, tuple[Any, ...]]) -> dict[str, str]:
    found = {}
    for name, (text, *operands) in table.items():
        try:
            function = eval(text, {**globals(), "lax": library.lax, "jnp": library.numpy, "xs": library})
            found[name] = str(library.make_jaxpr(function)(*operands))
        except Exception as error:  # one row's failure is its own
            found[name] = f"{library.__name__}: {error!r}"
    return found


def texts(library: Any) -> dict[str, str]:
    """The jaxprs as printed."""
    return _texts(library, PROGRAMS)


def control_texts(library: Any) -> dict[str, str]:
    """The jaxprs of programs with control flow as printed."""
    return _texts(library, CONTROL)
