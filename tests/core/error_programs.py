"""Misuses that either library can be put to: which class of error each one raises, and what the classes are."""

import numpy as np

NAMES = [
    "ConcretizationTypeError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]


def bases(lib):
    """For each class of errors the classes of Python's own above it, and those of the library that both have."""
    found = {}
    for name in NAMES:
        above = [c for c in getattr(lib.errors, name).__mro__ if c is not object]
        builtin = sorted(c.__name__ for c in above if c.__module__ == "builtins")
        found[name] = builtin, sorted(c.__name__ for c in above if c.__name__ in NAMES)
    return found


def raised(lib):
    """The class of the error that each misuse raises, by its place in the table."""
    found = []
    for misuse in misuses(lib):
        try:
            misuse()
            found.append("nothing")
        except Exception as error:
            found.append(type(error).__name__)
    return found


def misuses(lib):
    jnp, lax = lib.numpy, lib.lax
    ones = np.ones(3, np.float32)
    leaked = []

    def leaks(x):
        leaked.extend([x, x * 2])
        return x

    lib.jit(leaks)(1.0)
    return [
        # values that are not there yet
        lambda: lib.jit(lambda x: 1 if x else 2)(1.0),
        lambda: lib.jit(lambda x: x and x)(1.0),
        lambda: lib.jit(lambda x: 0 < x < 1)(1.0),
        lambda: lib.vmap(lambda x: 1 if x > 0 else 2)(ones),
        lambda: lib.jit(lib.grad(lambda x: x if x > 0 else -x))(1.0),
        lambda: lib.jit(float)(1.0),
        lambda: lib.jit(int)(1),
        lambda: lib.jit(complex)(1.0),
        lambda: lib.jit(lambda x: x.item())(1.0),
        lambda: lib.jit(lambda x: x.tolist())(ones),
        lambda: lib.jit(lambda n: list(range(n)))(3),
        lambda: lib.jit(lambda n: [1, 2][n])(1),
        lambda: lib.jit(lambda x: np.sin(x))(1.0),
        lambda: lib.jit(lambda x: np.asarray(x))(1.0),
        lambda: lib.jit(lambda i: ones[i])(1),
        lambda: lib.jit(lambda x: x[x > 0])(ones),
        lambda: lib.jit(lambda x, m: x[m])(ones, ones > 0),
        # sizes of results that depend on values
        lambda: lib.jit(lambda i: lib.ops.segment_sum(ones, i))(np.arange(3)),
        lambda: lib.jit(jnp.bincount)(np.arange(3)),
        lambda: lib.vmap(jnp.bincount)(np.arange(6).reshape(2, 3)),
        lambda: lib.jit(lambda i: jnp.delete(ones, i))(np.arange(2)),
        lambda: lib.jit(jnp.roots)(ones),
        lambda: lib.jit(jnp.trim_zeros)(ones),
        lambda: lib.jit(jnp.arange)(3),
        lambda: lib.vmap(lambda n: jnp.arange(0, n))(np.arange(3)),
        # values that are there no more
        lambda: leaked[0] + 1,
        lambda: leaked[1] + 1,
        lambda: jnp.sin(leaked[1]),
        lambda: lib.jit(lambda x: x + leaked[1])(1.0),
        lambda: lib.jit(lambda x: x)(leaked[1]),
        lambda: lib.grad(lambda x: x * leaked[1])(1.0),
        # arguments
        lambda: lib.jit(lambda x, n: x, static_argnums=1)(1.0, [1]),
        lambda: lib.jit(lambda x: x)("text"),
        lambda: lib.jit(lambda x: "text")(1.0),
        lambda: lib.jit(3),
        lambda: lib.vmap(lambda x: x, in_axes=({"a": 0},))({"b": ones}),
        lambda: lib.vmap(lambda x, y: x)(ones, np.ones(4, np.float32)),
        lambda: lib.vmap(lambda x: x, in_axes=2)(ones),
        lambda: lib.grad(lambda x: x)(ones),
        lambda: lib.grad(lambda x: (x, x))(1.0),
        lambda: lib.grad(lambda x: x)(3),
        # arrays
        lambda: jnp.zeros(3).__setitem__(0, 1.0),
        lambda: bool(jnp.zeros(3)),
        lambda: jnp.zeros(3) + jnp.zeros(4),
        lambda: jnp.zeros((2, 3)) + jnp.zeros(2),
        lambda: jnp.zeros((2, 3)) @ jnp.zeros((2, 3)),
        lambda: lax.add(jnp.zeros(3), jnp.arange(3)),
        # programs
        lambda: lax.scan(lambda c, x: (jnp.append(c, x), None), jnp.zeros(1), ones),
        lambda: lax.while_loop(lambda c: c.sum() < 3, lambda c: jnp.append(c, 1.0), jnp.zeros(1)),
        lambda: lax.cond(True, lambda: 1, lambda: 1.5),
        lambda: lib.grad(lambda x: lax.while_loop(lambda y: y < 3.0, lambda y: y * 2, x))(1.0),
        lambda: lax.psum(1.0, "i"),
    ]
