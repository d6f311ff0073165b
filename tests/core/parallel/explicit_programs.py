"""Programs whose types say how values lie, run with xlascope and with jax: types, values, and what is refused."""

import numpy as np

F32 = np.float32
A = np.random.default_rng(1).normal(size=(8, 4)).astype(F32)
B = np.random.default_rng(2).normal(size=(8, 4)).astype(F32)
D = np.random.default_rng(3).normal(size=(4, 8)).astype(F32)
V = np.arange(8, dtype=F32) - 3
IMAGES = np.random.default_rng(4).normal(size=(8, 1, 8, 8)).astype(F32)
KERNEL = np.random.default_rng(5).normal(size=(2, 1, 3, 3)).astype(F32)
MATRICES = np.stack([np.eye(3, dtype=F32) * (i + 1) for i in range(8)])

#: Each operand by its letter: what it is, and how it lies over a mesh of 4 (x) by 2 (y).
OPERANDS = {
    "a": (A, ("x", None)),
    "b": (B, (None, "y")),
    "c": (B, ("y", None)),
    "d": (D, ("x", "y")),
    "e": (D, ("y", None)),
    "h": (A, (("x", "y"), None)),
    "v": (V, ("x",)),
    "w": (V, ("y",)),
    "r": (A[0], ("y",)),
    "z": (A, ()),
    "images": (IMAGES, ("x",)),
    "wide": (IMAGES, (None, None, "x")),
    "matrices": (MATRICES, ("x",)),
}

#: Expressions of those, with ``jnp``, ``lax``, ``nn`` and the library itself, ``lib``; ``P`` makes a spec.
PROGRAMS = (
    "jnp.sin(v)",
    "a + b",
    "a + z",
    "a + 1.0",
    "a + r",
    "a * r[None]",
    "jnp.maximum(a, b)",
    "jnp.clip(a, 0, 1)",
    "a.astype(int)",
    "a > 0",
    "a @ d",
    "a @ e",
    "a @ D[:, :3]",
    "b @ D",
    "a.sum()",
    "a.sum(0)",
    "a.sum(1)",
    "a.argmax(0)",
    "a.mean(1, keepdims=True)",
    "a.var(0)",
    "a.T",
    "jnp.swapaxes(a, 0, 1)",
    "a[:, None]",
    "a.reshape(32)",
    "a.reshape(4, 2, 4)",
    "b.reshape(8, 2, 2)",
    "b.reshape(4, 2, 4)",
    "a.reshape(8, 2, 2)",
    "a.reshape(8, 1, 4)",
    "a.reshape(1, 8, 4)",
    "h.reshape(4, 2, 4)",
    "h.reshape(8, 4, 1)",
    "a.ravel()",
    "jnp.concatenate([a, a], 0)",
    "jnp.concatenate([a, a], 1)",
    "jnp.stack([a, a])",
    "a[:, :2]",
    "a[:, 1]",
    "a[::-1]",
    "a.at[:, 0].set(1.0)",
    "jnp.pad(a, ((0, 0), (1, 1)))",
    "jnp.pad(a, ((2, 2), (0, 0)))",
    "jnp.sort(a, 1)",
    "nn.softmax(a, axis=0)",
    "nn.softmax(a, axis=1)",
    "nn.logsumexp(a, axis=1)",
    "jnp.broadcast_to(a, (3, 8, 4))",
    "jnp.tile(a, (1, 2))",
    "jnp.repeat(a, 2, 1)",
    "jnp.split(a, 2)[1]",
    "lax.dynamic_slice(a, (0, 0), (4, 4))",
    "jnp.take_along_axis(a, np.zeros((8, 1), int), 1)",
    "lax.top_k(a, 2)[0]",
    "lax.top_k(a, 2)[1]",
    "jnp.tril(a)",
    "jnp.fft.fft(a, axis=1)",
    "lax.conv(images, KERNEL, (1, 1), 'SAME')",
    "lax.conv(wide, KERNEL, (1, 1), 'SAME')",
    "jnp.outer(v, w)",
    "jnp.zeros_like(a)",
    "jnp.zeros((8, 4), out_sharding=P('x'))",
    "jnp.arange(8, out_sharding=P('x'))",
    "jnp.dot(v, V)",
    "jnp.matmul(b, e, out_sharding=P('x', None))",
    "jnp.matmul(b, e, out_sharding=P())",
    "jnp.einsum('bi,bj->ij', a, a, out_sharding=P())",
    "a.reshape(4, 8, out_sharding=P('x'))",
    "a.at[I].get(out_sharding=P())",
    "lax.reshape(a, (4, 8), out_sharding=P(None, 'y'))",
    "lib.reshard(a, P(None, 'y'))",
    "lib.reshard(a, P())",
    "lax.reduce_window(a, -np.inf, lax.max, (2, 1), (2, 1), 'VALID')",
    "nn.one_hot(v.astype(int), 10)",
    "jnp.linalg.norm(a)",
    "lib.random.normal(lib.random.key(0), (8, 4), out_sharding=P('x'))",
    "lib.reshard(v[None], P(None, 'x')).squeeze(0)",
    "lib.grad(lambda a: (jnp.tanh(a @ d) ** 2).sum())(a)",
    "lib.grad(lambda d: (jnp.tanh(a @ d) ** 2).sum())(d)",
    "lib.grad(lambda r: jnp.mean((a + r) ** 2))(r)",
    "lib.grad(lambda z: jnp.sum(jnp.sin(a * z)))(z)",
    "lib.vmap(jnp.sin)(a)",
    "lib.vmap(lambda row: row * 2, 1)(b)",
    "lib.jvp(jnp.sin, (a,), (a,))[1]",
    "lib.jit(lambda a: jnp.cos(a) * 2)(a)",
    "lax.fori_loop(0, 3, lambda i, c: c * 2.0, a)",
    "lax.scan(lambda c, x: (c + x, c), r, b)[0]",
    "lax.cond(True, lambda a: a * 2, lambda a: a + 1, a)",
    "lib.checkpoint(lambda a: jnp.sin(a) * 2)(a)",
    "lib.shard_map(lambda p: lax.psum(p, 'x'), in_specs=P('x'), out_specs=P())(a)",
    "lib.shard_map(lambda p: p * 2, in_specs=P('x'), out_specs=P('x'))(a)",
    "lib.sharding.auto_axes(lambda a: a.T @ a, out_sharding=P('y'))(a)",
)
#: What nobody can tell; the user has to say it.
REFUSED = (
    "a + c",
    "a + h",
    "a + jnp.asarray(lib.reshard(A[0], P('x')))",
    "b @ e",
    "b @ d",
    "a.reshape(2, 4, 4)",
    "b.reshape(32)",
    "jnp.concatenate([a, b], 1)",
    "a[:3]",
    "a[0]",
    "a[I]",
    "a.at[0].set(1.0)",
    "jnp.pad(a, ((1, 1), (0, 0)))",
    "jnp.sort(a, 0)",
    "jnp.cumsum(a, 0)",
    "jnp.roll(a, 1, 0)",
    "jnp.take(a, 1, 0)",
    "jnp.einsum('bi,bj->ij', a, a)",
    "jnp.outer(v, v)",
    "jnp.vdot(v, v)",
    "v @ v",
)
#: What jax refuses and we know the answer of, with the type.
ALSO = {
    "jnp.concatenate([a, z], 1)": "[8@x,8]",
    "a[:4]": "[4@x,4]",
    "jnp.where(a > 0, a, b)": "[8@x,4@y]",
    "lax.dynamic_update_slice(a, A[:4], (0, 0))": "[8@x,4]",
    "jnp.linalg.cholesky(matrices)": "[8@x,3,3]",
}


def every(lib):
    """For each program the type and the value, or the error's class."""
    lib.sharding.set_mesh(lib.make_mesh((4, 2), ("x", "y")))
    P = lib.sharding.PartitionSpec
    names = {name: lib.device_put(value, P(*spec)) for name, (value, spec) in OPERANDS.items()}
    names |= {"lib": lib, "jnp": lib.numpy, "lax": lib.lax, "nn": lib.nn, "np": np, "P": P, "A": A, "D": D, "V": V}
    names |= {"KERNEL": KERNEL, "I": np.array([0, 5])}
    return {program: _found(lib, program, names) for program in (*PROGRAMS, *REFUSED, *ALSO)}


def _found(lib, program, names):
    try:
        found = eval(program, names)
    except Exception as error:
        return type(error).__name__, str(error)
    text = repr(lib.typeof(found)) if lib.__name__ == "xlascope" else str(lib.typeof(found))
    return text[text.index("[") : text.index("]") + 1], np.asarray(found)
