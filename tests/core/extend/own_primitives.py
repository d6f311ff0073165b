"""Primitives with rules registered in JAX's way, and interpreters of one's own; run with xlascope and with jax."""

from importlib import import_module

import numpy as np

X = np.float32([0.5, -1.0, 2.0])
Y = np.float32([1.5, 0.25, -3.0])
Z = np.float32([1.0, 2.0, 3.0])


class Library:
    """The modules of one of the libraries."""

    def __init__(self, lib):
        self.lib, self.lax, self.jnp = lib, lib.lax, lib.numpy
        name = lib.__name__
        self.core = import_module(f"{name}.extend.core")
        self.ShapedArray = import_module(f"{name}.core").ShapedArray
        self.ad = import_module(f"{name}.interpreters.ad")
        self.batching = import_module(f"{name}.interpreters.batching")
        self.mlir = import_module(f"{name}.interpreters.mlir")
        dialects = "xlascope.extend.mlir.dialects" if name == "xlascope" else "jaxlib.mlir.dialects"
        self.hlo = import_module(dialects).stablehlo

    def like(self, x):
        return self.ShapedArray(x.shape, x.dtype)

    def batch_all(self, p):
        """Register that all operands get the mapped axis in front."""

        def batch(args, dims, **params):
            size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
            results = p.bind(
                *(self.batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)), **params
            )
            return results, (0,) * len(results) if p.multiple_results else 0

        self.batching.primitive_batchers[p] = batch


def multiply_add(L):
    """x * y + z with every rule written out, and StableHLO by hand."""
    p = L.core.Primitive("multiply_add")

    def multiply_add(x, y, z):
        return p.bind(x, y, z)

    @p.def_impl
    def impl(x, y, z):
        return np.add(np.multiply(x, y), z)

    @p.def_abstract_eval
    def abstract_eval(x, y, z):
        assert x.shape == y.shape == z.shape
        return L.like(x)

    def lowering(ctx, x, y, z):
        assert [a.shape for a in ctx.avals_in] == [ctx.avals_out[0].shape] * 3
        return [L.hlo.AddOp(L.hlo.multiply(x, y), z).result]

    L.mlir.register_lowering(p, lowering, platform="cpu")

    def jvp(primals, tangents):
        x, y, z = primals
        dx, dy, dz = (L.jnp.zeros_like(x) if type(t) is L.ad.Zero else t for t in tangents)
        return multiply_add(x, y, z), multiply_add(dx, y, multiply_add(x, dy, dz))

    L.ad.primitive_jvps[p] = jvp

    def transpose(ct, x, y, z):
        linear = [L.ad.is_undefined_primal(one) for one in (x, y, z)]
        return (
            multiply_add(ct, y, L.jnp.zeros_like(ct)) if linear[0] else None,
            multiply_add(x, ct, L.jnp.zeros_like(ct)) if linear[1] else None,
            ct if linear[2] else None,
        )

    L.ad.primitive_transposes[p] = transpose

    L.batch_all(p)
    return multiply_add


def hypot(L):
    """The short ways: derivatives by operand that use the result, and a lowering from a function."""
    p = L.core.Primitive("my_hypot")
    p.def_abstract_eval(lambda x, y: L.like(x))
    L.mlir.register_lowering(p, L.mlir.lower_fun(lambda x, y: L.jnp.sqrt(x * x + y * y), multiple_results=False))
    p.def_impl(L.lib.jit(p.bind))
    L.ad.defjvp2(p, lambda t, r, x, y: t * x / r, lambda t, r, x, y: t * y / r)
    L.batch_all(p)
    return lambda x, y, z: p.bind(x, y) * z


def weighted(L):
    """Bilinear, with a parameter."""
    p = L.core.Primitive("weighted")
    p.def_abstract_eval(lambda x, y, *, weight: L.like(x))
    p.def_impl(lambda x, y, *, weight: x * y * weight)
    L.mlir.register_lowering(p, L.mlir.lower_fun(lambda x, y, *, weight: x * y * weight, multiple_results=False))
    L.ad.defbilinear(
        p,
        lambda ct, x, y, *, weight: p.bind(ct, y, weight=weight),
        lambda ct, x, y, *, weight: p.bind(x, ct, weight=weight),
    )
    L.batch_all(p)
    return lambda x, y, z: p.bind(x, y, weight=2.0) + z


def scaled(L):
    """Linear, in both spellings, and a derivative for one operand only."""
    one, two = L.core.Primitive("scale_one"), L.core.Primitive("scale_two")
    for p in (one, two):
        p.def_abstract_eval(lambda x, *, by: L.like(x))
        p.def_impl(lambda x, *, by: x * by)
        L.mlir.register_lowering(p, L.mlir.lower_fun(lambda x, *, by: x * by, multiple_results=False))
        L.batching.defvectorized(p)
    L.ad.deflinear(one, lambda ct, *, by: [one.bind(ct, by=by)])
    L.ad.deflinear2(two, lambda ct, x, *, by: [two.bind(ct, by=by)])
    left = L.core.Primitive("left")
    left.def_abstract_eval(lambda x, y: L.like(x))
    left.def_impl(lambda x, y: x * x + y)
    L.mlir.register_lowering(left, L.mlir.lower_fun(lambda x, y: x * x + y, multiple_results=False))
    L.ad.defjvp(left, lambda t, x, y: 2.0 * t * x, None)
    L.batch_all(left)
    return lambda x, y, z: left.bind(one.bind(L.jnp.sin(x), by=3.0), two.bind(y * y, by=0.5)) * z


def both(L):
    """Two results: sum and product. The lowering closes over a constant array."""
    p = L.core.Primitive("both")
    p.multiple_results = True
    one = L.jnp.asarray(np.float32(1))
    p.def_abstract_eval(lambda x, y: [L.like(x), L.like(x)])
    p.def_impl(lambda x, y: [x + y, x * y])
    L.mlir.register_lowering(p, L.mlir.lower_fun(lambda x, y: [x + y * one, x * y], multiple_results=True))

    def jvp(primals, tangents):
        (x, y), (dx, dy) = primals, map(L.ad.instantiate_zeros, tangents)
        return p.bind(x, y), [dx + dy, dx * y + x * dy]

    L.ad.primitive_jvps[p] = jvp
    L.batch_all(p)

    def function(x, y, z):
        total, product = p.bind(x, y)
        return L.jnp.sin(total) * product + z

    return function


def summed(L):
    """A reduction, linear, under a transformation that adds an axis."""
    p = L.core.Primitive("my_sum")
    p.def_abstract_eval(lambda x, *, axes: L.ShapedArray([n for i, n in enumerate(x.shape) if i not in axes], x.dtype))
    p.def_impl(lambda x, *, axes: L.jnp.sum(x, axes))
    L.mlir.register_lowering(p, L.mlir.lower_fun(lambda x, *, axes: L.jnp.sum(x, axes), multiple_results=False))
    L.ad.deflinear2(p, lambda ct, x, *, axes: [L.jnp.broadcast_to(L.jnp.expand_dims(ct, axes), x.aval.shape)])

    def batch(args, dims, *, axes):
        (x,), (d,) = args, dims
        return p.bind(L.batching.bdim_at_front(x, d, 3), axes=tuple(a + 1 for a in axes)), 0

    L.batching.primitive_batchers[p] = batch
    return lambda x, y, z: p.bind(L.jnp.stack([x * y, y, z * x]), axes=(0,))


MAKERS = (multiply_add, hypot, weighted, scaled, both, summed)


def transformed(L, f):
    """A function of three arrays, or numbers, in nested transformations."""
    lib, jnp = L.lib, L.jnp
    total = lambda *xs: jnp.sum(f(*xs))  # noqa: E731

    def loop(x):
        return lib.lax.scan(lambda c, row: (0.1 * f(c, row, Z), f(row, c, Z)), x, np.stack([X, Y, Z]))

    def branch(x):
        return lib.lax.cond(jnp.sum(x) > 0, lambda x: f(x, Y, Z), lambda x: f(x, Z, Y), x)

    return {
        "alone": lambda: f(X, Y, Z),
        "jit": lambda: lib.jit(f)(X, Y, Z),
        "grad": lambda: lib.grad(f, (0, 1))(X[0], Y[0], Z[0]),
        "grad of sum": lambda: lib.grad(total, (0, 1, 2))(X, Y, Z),
        "jit of grad": lambda: lib.jit(lib.grad(total, (0, 2)))(X, Y, Z),
        "grad of jit": lambda: lib.grad(lib.jit(total), 1)(X, Y, Z),
        "vmap": lambda: lib.vmap(f)(X, Y, Z),
        "jit of vmap of grad": lambda: lib.jit(lib.vmap(lib.grad(f, (0, 1))))(X, Y, Z),
        "vmap of jit of grad": lambda: lib.vmap(lib.jit(lib.grad(f)))(X, Y, Z),
        "grad of vmap": lambda: lib.grad(lambda x: jnp.sum(lib.vmap(f)(x, Y, Z)))(X),
        "grad of grad": lambda: lib.grad(lib.grad(f))(X[1], Y[1], Z[1]),
        "jit of grad of jit of grad": lambda: lib.jit(lib.grad(lib.jit(lib.grad(f))))(X[1], Y[1], Z[1]),
        "hessian": lambda: lib.hessian(total)(X, Y, Z),
        "jvp": lambda: lib.jvp(f, (X, Y, Z), (Z, X, Y)),
        "jvp of grad": lambda: lib.jvp(lib.grad(total), (X, Y, Z), (Z, X, Y)),
        "vmap of vmap": lambda: lib.vmap(lib.vmap(f))(*(np.stack([v, v + 1, v - 1]) for v in (X, Y, Z))),
        "linearize": lambda: lib.linearize(f, X, Y, Z)[1](Y, Z, X),
        "scan": lambda: lib.jit(loop)(X),
        "grad of scan": lambda: lib.grad(lambda x: jnp.sum(loop(x)[0]))(X),
        "grad of cond": lambda: lib.jit(lib.grad(lambda x: jnp.sum(branch(x))))(X),
        "grad of checkpoint": lambda: lib.grad(lib.checkpoint(total))(X, Y, Z),
        "vjp": lambda: lib.vjp(f, X, Y, Z)[1](Z),
    }


def plain(L):
    """The same functions without primitives of one's own."""
    jnp = L.jnp
    return {
        "multiply_add": lambda x, y, z: x * y + z,
        "hypot": lambda x, y, z: jnp.sqrt(x * x + y * y) * z,
        "weighted": lambda x, y, z: 2.0 * x * y + z,
        # left is x * x + y, registered as if the result did not move with y
        "scaled": lambda x, y, z: ((3.0 * jnp.sin(x)) ** 2 + 0.5 * L.lax.stop_gradient(y * y)) * z,
        "both": lambda x, y, z: jnp.sin(x + y) * (x * y) + z,
        "summed": lambda x, y, z: x * y + y + z * x,
    }


def cases(L, name, f):
    """The transformations that suit a function."""
    found = transformed(L, f)
    if name == "summed":  # takes vectors
        scalars = ("grad", "grad of grad", "jit of grad of jit of grad")
        found = {how: run for how, run in found.items() if "vmap" not in how and how not in scalars}
    return found


def values(lib, run):
    """The results of a case as NumPy arrays."""
    return [np.asarray(x) for x in lib.tree_util.tree_leaves(run())]


#: The cases that are run with jax: it takes its time.
WITH_JAX = ("alone", "jit", "jit of grad", "jit of vmap of grad")


def registered(lib):
    """Results by operation and case, of those that are run with jax."""
    L = Library(lib)
    made = {make.__name__: make(L) for make in MAKERS}
    return {
        (name, how): values(lib, run)
        for name, f in made.items()
        for how, run in cases(L, name, f).items()
        if how in WITH_JAX
    }


# Interpreters -------------------------------------------------------------------------------------------------------


def run_by_hand(L, jaxpr, consts, args):
    """Each equation bound again."""
    values = {}

    def read(x):
        return x.val if type(x) is L.core.Literal else values[x]

    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        params = equation.primitive.get_bind_params(equation.params)
        results = equation.primitive.bind(*map(read, equation.invars), **params)
        results = results if equation.primitive.multiple_results else [results]
        values.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def walks(lib):
    """Functions to run equation by equation."""
    jnp = lib.numpy
    table = jnp.asarray(np.arange(9, dtype=np.float32).reshape(3, 3))
    inner = lib.jit(lambda x: jnp.sort(jnp.exp(x) @ table) / 100)
    return {
        "elementwise": lambda x: jnp.tanh(x) * 2.0 + x,
        "a call": lambda x: inner(x) + x.sum(),
        "calls twice": lambda x: inner(inner(x)),
        "indices": lambda x: x.at[jnp.array([0, 2])].add(x[1]) * x[::-1] + jnp.where(x > 0, x, 0.0),
        "integers": lambda x: jnp.argsort(x) * 2 + jnp.arange(3) + x,
        "constant results": lambda x: (1.0, x**2),
        "gradient": lib.grad(lambda x: jnp.sum(inner(x) ** 3)),
        "batch": lib.vmap(lambda s: inner(table[0] * s)),
        "shapes": lambda x: jnp.concatenate([jnp.reshape(x, (3, 1)), jnp.eye(3)], 1).T.sum(0, keepdims=True),
        "a loop": lambda x: lib.lax.scan(lambda c, y: (c * y, c + y), x[0], x),
        "a branch": lambda x: lib.lax.cond(x[0] > 0, inner, jnp.sin, x),
        "a while": lambda x: lib.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, x))[1],
        "a checkpoint": lib.checkpoint(lambda x: jnp.sin(x) * x),
    }


def by_hand(lib, function):
    """A function run equation by equation."""
    L = Library(lib)
    closed = lib.make_jaxpr(function)(lib.numpy.asarray(X))
    return lambda x: run_by_hand(L, closed.jaxpr, closed.consts, [x])


def walked(lib):
    """Some of them, as they are run with jax."""
    run = {name: by_hand(lib, function) for name, function in walks(lib).items() if name in ("a call", "a loop")}
    return {name: [np.asarray(x) for x in lib.tree_util.tree_leaves(f(X))] for name, f in run.items()}


def said(lib):
    """All that is run with jax."""
    return registered(lib), walked(lib)
