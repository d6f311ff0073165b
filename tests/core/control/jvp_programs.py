"""Functions with jvp rules of their own under every transformation; run with xlascope and with jax, imports neither."""

import functools
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

_spec = spec_from_file_location("rule_rows", Path(__file__).with_name("rule_rows.py"))
rows = module_from_spec(_spec)
_spec.loader.exec_module(rows)

M, S, SQUARE, V, W = rows.M, rows.S, rows.SQUARE, rows.V, rows.W
rule = rows.Rows()


def odd_sine(lib):
    """A sine whose derivative is 3 cos, so that nobody can mistake the rule for the real one."""

    @lib.custom_jvp
    def sine(x):
        return lib.numpy.sin(x)

    @sine.defjvp
    def sine_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return sine(x), 3.0 * lib.numpy.cos(x) * t

    return sine


@rule("jvp: one", V)
def one(lib):
    return odd_sine(lib)


@rule("jvp: twice, and something around", V)
def around(lib):
    f = odd_sine(lib)
    return lambda x: f(f(x) * x) + x


@rule("jvp: two arguments", V, W)
def two(lib):
    @lib.custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def product_jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        return product(x, y), 2.0 * y * s + 5.0 * x * t

    return product


@rule("jvp: defjvps", V, W)
def summed(lib):
    @lib.custom_jvp
    def product(x, y):
        return lib.numpy.sin(x) * y

    product.defjvps(lambda t, out, x, y: 2.0 * y * t + out * t, lambda t, out, x, y: 5.0 * x * t)
    return product


@rule("jvp: defjvps with None", V, W)
def summed_none(lib):
    @lib.custom_jvp
    def product(x, y):
        return x * y

    product.defjvps(None, lambda t, out, x, y: 5.0 * x * t + out * t)
    return product


@rule("jvp: trees in and out", V, W)
def trees(lib):
    @lib.custom_jvp
    def f(p):
        return {"s": p["a"] * p["b"][0], "t": (p["a"], None)}

    @f.defjvp
    def f_jvp(primals, tangents):
        (p,), (t,) = primals, tangents
        moved = {"s": t["a"] * 2.0 + p["a"] * t["b"][0], "t": (7.0 * t["a"], None)}
        return f(p), moved

    return lambda x, y: f({"a": x, "b": [y]})


@rule("jvp: an integer argument", V, np.int32(3))
def integer(lib):
    @lib.custom_jvp
    def power(x, n):
        return x**3 + n

    @power.defjvp
    def power_jvp(primals, tangents):
        (x, n), (t, _) = primals, tangents
        return power(x, n), t * n * 2.0

    return power


@rule("jvp: an integer result", V)
def integer_result(lib):
    @lib.custom_jvp
    def f(x):
        return x * 2.0, lib.numpy.argmax(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), (t * 4.0, np.zeros((), lib.dtypes.float0))

    return f


@rule("jvp: nondiff function argument", V, W)
def nondiff(lib):
    @functools.partial(lib.custom_jvp, nondiff_argnums=(0, 2))
    def applied(f, x, factor):
        return f(x) * factor

    @applied.defjvp
    def applied_jvp(f, factor, primals, tangents):
        (x,), (t,) = primals, tangents
        return applied(f, x, factor), f(x) * t * factor * 3.0

    return lambda x, y: applied(lib.numpy.tanh, x, 2) * applied(lambda z: z * z, y, 3)


@rule("jvp: nondiff by name", V)
def nondiff_named(lib):
    @functools.partial(lib.custom_jvp, nondiff_argnames=("mode",))
    def f(x, mode):
        return x * x if mode == "square" else x

    @f.defjvp
    def f_jvp(mode, primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x, mode), (3.0 if mode == "square" else 5.0) * t * x

    return lambda x: f(x, mode="square") + f(x, "linear")


@rule("jvp: symbolic zeros", V, W)
def symbolic(lib):
    zero = lib.custom_derivatives.SymbolicZero

    @lib.custom_jvp
    def product(x, y):
        return x * y

    def product_jvp(primals, tangents):
        (x, y), (s, t) = primals, tangents
        moved = lib.numpy.zeros_like(x)
        if not isinstance(s, zero):
            moved = moved + 2.0 * y * s
        if not isinstance(t, zero):
            moved = moved + 5.0 * x * t
        return product(x, y), moved

    product.defjvp(product_jvp, symbolic_zeros=True)
    return lambda x, y: product(x, 3.0 + 0.0 * V) + product(x, y) + product(np.float32(2) + 0.0 * V, y)


@rule("jvp: a rule that calls jvp, jit and scan", V)
def rule_of_transforms(lib):
    @lib.custom_jvp
    def f(x):
        return lib.lax.fori_loop(0, 3, lambda _, c: lib.numpy.sin(c) * 1.5, x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        _, moved = lib.jvp(lambda x: lib.numpy.cos(x) * x, (x,), (t,))
        scanned, _ = lib.lax.scan(lambda c, y: (c + y * y, None), moved, lib.numpy.stack([x, 2.0 * x]))
        return f(x), lib.jit(lambda t, s: t * 0.5 + s * 0.0)(moved, scanned)

    return f


@rule("jvp: a rule with grad and vmap inside", V)
def rule_of_grad(lib):
    @lib.custom_jvp
    def f(x):
        return lib.numpy.cos(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        slope = lib.grad(lambda z: lib.numpy.sum(z**4))(x)
        return f(x), slope * t

    return f


@rule("jvp: nested", V)
def nested(lib):
    inner = odd_sine(lib)

    @lib.custom_jvp
    def outer(x):
        return inner(x) * x

    @outer.defjvp
    def outer_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return lib.jvp(lambda x: inner(x) * inner(x), (x,), (t,))

    return outer


# jax drops the rule in the forward half of a loop: second derivatives are not those of the loop written out.
@rule("jvp: in scan", V, left_out=["grad of grad", "jacrev of jacrev", "hessian"])
def in_scan(lib):
    f = odd_sine(lib)
    return lambda x: lib.lax.scan(lambda c, y: (f(c) * y, f(y)), S, x)


@rule("jvp: in cond", np.float32(0.8), V)
def in_cond(lib):
    f = odd_sine(lib)
    return lambda p, x: lib.lax.cond(p > 0.5, f, lambda x: f(x) * x, x)


@rule("jvp: in remat", V)
def in_remat(lib):
    f = odd_sine(lib)
    return lib.checkpoint(lambda x: f(f(x)) * x)


@rule("jvp: in jit and in vmap", M)
def in_jit_vmap(lib):
    f = odd_sine(lib)
    return lib.jit(lib.vmap(lambda x: f(x) * x[0]))


@rule("jvp: a sum along the mapped axis", V)
def reduced(lib):
    @lib.custom_jvp
    def f(x):
        return lib.numpy.sum(x), x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), (2.0 * lib.numpy.sum(t), t * x)

    return f


@rule("jvp: tangents that do not depend on tangents", V, W)
def constant_tangent(lib):
    @lib.custom_jvp
    def f(x, y):
        return x * y, x + 1.0

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (s, _) = primals, tangents
        return f(x, y), (s * y, lib.numpy.zeros_like(x))

    return f


@rule("jvp: stop_gradient in the rule", V)
def stopped(lib):
    @lib.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), lib.lax.stop_gradient(x) * t * 4.0

    return f


@rule("jvp: a method", V)
def method(lib):
    class Layer:
        factor = 2.0

        @staticmethod
        @lib.custom_jvp
        def double(x):
            return x * Layer.factor

        @functools.partial(lib.custom_jvp, nondiff_argnums=(0,))
        def scaled(self, x):
            return x * self.factor

        @scaled.defjvp
        def scaled_jvp(self, primals, tangents):
            return self.double(*primals), tangents[0] * self.factor * 5.0

    Layer.double.defjvp(lambda primals, tangents: (Layer.double(*primals), tangents[0] * 7.0))
    layer = Layer()
    return lambda x: Layer.scaled(layer, x) * layer.double(x)


def everything_by_jax(lib):
    """Everything as jax has it."""
    return rows.everything(lib, [rule], rows.interpreted_by_jax(lib))
