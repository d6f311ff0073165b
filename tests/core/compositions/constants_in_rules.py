"""Rules of one's own that hold arrays, in programs that loops and branches hold; run with xlascope and with jax."""

import numpy as np

K, X = np.array([1.0, 2.0, 3.0], "float32"), np.array([0.1, 0.2, 0.3], "float32")


def functions(lib):
    jnp = lib.numpy

    @lib.custom_jvp
    def forward(x):
        return jnp.sin(x) * K

    forward.defjvp(lambda primals, tangents: (forward(*primals), jnp.cos(primals[0]) * K * tangents[0]))

    @lib.custom_vjp
    def backward(x):
        return jnp.sin(x) * K

    backward.defvjp(lambda x: (backward(x), jnp.cos(x) * jnp.sin(K)), lambda kept, ct: (kept * ct * jnp.flip(K),))
    return {"custom_jvp": forward, "custom_vjp": backward}


def holders(lib):
    jnp, lax = lib.numpy, lib.lax
    return {
        "scan": lambda f, x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0],
        "for": lambda f, x: lax.fori_loop(0, 3, lambda i, x: f(x), x),
        "cond": lambda f, x: lax.cond(x[0] > 0, f, lambda x: x, x),
        "checkpoint": lambda f, x: lib.checkpoint(f)(x),
        "jit": lambda f, x: lib.jit(f)(x),
        "map": lambda f, x: lax.map(f, jnp.stack([x, 2 * x])),
        "checkpoint in a scan": lambda f, x: lax.scan(lambda c, _: (lib.checkpoint(f)(c), c), x, None, length=2)[0],
        "scan in a cond": lambda f, x: lax.cond(
            x[0] > 0, lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0], lambda x: x, x
        ),
    }


def table(lib):
    """(rule, holder, transformation) -> array."""
    jnp, batch = lib.numpy, lib.numpy.stack([X, 2 * X])
    found = {}
    for (rule, f), (holder, hold) in ((a, b) for a in functions(lib).items() for b in holders(lib).items()):

        def loss(x, f=f, hold=hold):
            return jnp.sum(hold(f, x))

        gradient = lib.grad(loss)
        made = {
            "grad": lambda g=gradient: g(X),
            "vmap of grad": lambda g=gradient: lib.vmap(g)(batch),
            "grad of vmap": lambda h=loss: lib.grad(lambda xs: jnp.sum(lib.vmap(h)(xs)))(batch),
            "grad of grad": lambda g=gradient: lib.grad(lambda x: jnp.sum(g(x) ** 2))(X),
        }
        for name, thunk in made.items():
            found[rule, holder, name] = np.asarray(lib.jit(thunk)())
    return found
