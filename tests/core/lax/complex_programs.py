"""Functions of complex numbers, with what to differentiate them at: for us and, in its own process, for jax."""

from __future__ import annotations

from typing import Any

import numpy as np

Z = np.array([0.5 - 1.2j, -0.7 + 0.3j, 1.1 + 0.4j], np.complex64)
W = np.array([1.3 + 0.2j, 0.4 - 0.9j, -0.6 - 0.8j], np.complex64)
A = (np.arange(9).reshape(3, 3) / 5 - 0.8 + 0.1j * np.arange(9).reshape(3, 3)[::-1]).astype(np.complex64)
X = np.array([0.5, -1.25, 2.0], np.float32)
Y = np.array([1.5, 0.75, -0.5], np.float32)
ZEROS = np.array([0, 1j, -1, 0], np.complex64)

_ONE = """neg exp log sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh expm1 log1p square
logistic"""
# The text of a function of arrays, and its operands.
HOLOMORPHIC = {
    **{name: (f"lambda z: lax.{name}(z)", Z) for name in _ONE.split()},
    "integer_pow": ("lambda z: lax.integer_pow(z, 3) + lax.integer_pow(z, -2)", Z),
    "exp2": ("lambda z: lax.exp2(z)", Z),
    "polynomial": ("lambda z: (z * z + 2j * z - 1) / (z + 3)", Z),
    "mul": ("lambda z, w: lax.mul(z, w)", Z, W),
    "add stretched": ("lambda z, w: lax.add(z, w)", Z, W[0]),
    "mul stretched": ("lambda z, w: lax.mul(z, w)", Z, W[0]),
    "div": ("lambda z, w: lax.div(z, w)", Z, W),
    "div stretched": ("lambda z, w: lax.div(z, w)", Z, W[0]),
    "pow": ("lambda z, w: lax.pow(z, w)", Z, W),
    "dot": ("lambda a, z: lax.dot(a, z)", A, Z),
    "dot_general": ("lambda a, b: lax.dot_general(a, b, (((0,), (1,)), ((), ())))", A, A.T),
    "reduce_sum": ("lambda a: lax.reduce_sum(a, (0,))", A),
    "reduce_prod": ("lambda a: jnp.prod(a, 1)", A),
    "cumsum": ("lambda z: lax.cumsum(z, 0, True)", Z),
    "cumprod": ("lambda z: lax.cumprod(z)", Z),
    "cumlogsumexp": ("lambda z: lax.cumlogsumexp(z)", Z),
    "atan2": ("lambda z, w: lax.atan2(z, w)", Z, W),
    "select": ("lambda z, w: lax.select(z.real > 0, z, w)", Z, W),
    "to complex64": ("lambda z: lax.convert_element_type(z, np.complex64)", Z),
    "gather": ("lambda a: a[np.array([0, 2])]", A),
    "scatter": ("lambda a, z: a.at[1].set(z).at[np.array([0, 0])].add(z)", A, Z),
    "pad": ("lambda z: lax.pad(z, np.complex64(1j), [(1, 1, 1)])", Z),
    "twice conjugated": ("lambda z: jnp.conj(jnp.sin(jnp.conj(z)))", Z),
    "through parts": ("lambda z: lax.complex(lax.real(z), lax.imag(z)) * z", Z),
    "jit": ("lambda z: jit(lambda z: jnp.exp(z) * z)(z)", Z),
}
OTHERS = {
    "real": ("lambda z: lax.real(z)", Z),
    "imag": ("lambda z: lax.imag(z)", Z),
    "abs": ("lambda z: lax.abs(z)", Z),
    "abs at zero": ("lambda z: lax.abs(z)", ZEROS),
    "abs squared": ("lambda z: jnp.abs(z) ** 2", Z),
    "angle": ("lambda z: jnp.angle(z)", Z),
    "angle in degrees": ("lambda z: jnp.angle(z, deg=True)", Z),
    "angle of real": ("lambda x: jnp.angle(x)", X),
    "sign": ("lambda z: lax.sign(z)", Z),
    "sign at zero": ("lambda z: lax.sign(z) * z", ZEROS),
    "conj": ("lambda z: lax.conj(z)", Z),
    "conj times z": ("lambda z: lax.conj(z) * z", Z),
    "conj of real": ("lambda x: lax.conj(x)", X),
    "numpy's conj of real": ("lambda x: jnp.conj(x)", X),
    "complex": ("lambda x, y: lax.complex(x, y)", X, Y),
    "exp of i x": ("lambda x: jnp.exp(1j * x)", X),
    "real to complex": ("lambda x: lax.convert_element_type(x, np.complex64) * (1 + 2j)", X),
    "complex to real": ("lambda z: lax.convert_element_type(z, np.float32)", Z),
    "real through complex": ("lambda x: jnp.real(jnp.exp(1j * x) * (x + 2j))", X),
    "real through abs": ("lambda x, y: jnp.abs(lax.complex(x, y) ** 2)", X, Y),
    "angle through complex": ("lambda x, y: jnp.angle(lax.complex(x, y))", X, Y),
    "parts": ("lambda z: z.real * z.imag", Z),
    "vdot": ("lambda z, w: jnp.vdot(z, w)", Z, W),
    "vecdot": ("lambda z, w: jnp.vecdot(z, w)", Z, W),
    "length": ("lambda z: jnp.sqrt(jnp.sum(jnp.abs(z) ** 2))", Z),
    "norm": ("lambda z: jnp.linalg.norm(z)", Z),
    "mixed": ("lambda x, z: x * z + jnp.conj(z) / (x + 3)", X, Z),
    "mixed product": ("lambda x, a: jnp.dot(a, x)", X, A),
    "mean": ("lambda z: jnp.mean(z)", Z),
    "var": ("lambda z: jnp.var(z)", Z),
    "std": ("lambda z: jnp.std(z)", Z),
    "where": ("lambda z, x: jnp.where(x > 0, z, x)", Z, X),
    "power of a real base": ("lambda x, z: jnp.abs(x) ** z", X, Z),
    "square root of the branch": ("lambda x: jnp.abs(jnp.sqrt(x + 0j))", X),
    "jit": ("lambda z: jit(lambda z: jnp.abs(jnp.conj(z) * z))(z)", Z),
}
FUNCTIONS = {**{f"{name}, holomorphic": row for name, row in HOLOMORPHIC.items()}, **OTHERS}


def direction(value: Any, seed: int) -> np.ndarray[Any, Any]:
    """A tangent or cotangent for a value: of its shape and dtype."""
    random = np.random.default_rng(seed)
    drawn = random.uniform(-1, 1, value.shape) + 1j * random.uniform(-1, 1, value.shape)
    return np.asarray(drawn if value.dtype.kind == "c" else drawn.real).astype(value.dtype)


def evaluate(library: Any, name: str) -> list[Any]:
    """The value, the pushed tangent, the pulled cotangents; of holomorphic functions the gradient, and jacobians."""
    text, *given = FUNCTIONS[name]
    function = eval(text, {"lax": library.lax, "jnp": library.numpy, "jit": library.jit, "np": np})
    tangents = tuple(direction(x, seed) for seed, x in enumerate(given))
    numbers = tuple(range(len(given)))

    def everything(*operands: Any) -> list[Any]:
        value, moved = library.jvp(function, operands, tangents)
        again, pullback = library.vjp(function, *operands)
        found = [value, moved, again, *pullback(direction(value, 7))]
        found += library.vmap(lambda ct: pullback(ct))(np.stack([direction(value, 8), direction(value, 9)]))
        if "holomorphic" in name:
            found += library.grad(lambda *xs: function(*xs).sum(), numbers, holomorphic=True)(*operands)
        elif value.dtype.kind == "f" and not any(x.dtype.kind == "c" for x in operands):
            found += library.grad(lambda *xs: function(*xs).sum(), numbers)(*operands)
            found += library.jacfwd(function, numbers)(*operands)
        elif value.dtype.kind == "f":
            again = library.jvp(lambda *xs: library.vjp(function, *xs)[1](direction(value, 7))[0], operands, tangents)
            found.append(again[1])
        return found

    return [np.asarray(x) for x in library.jit(everything)(*given)]


def every(library: Any) -> dict[str, Any]:
    """What all functions give; of those that raise, what they say."""
    found: dict[str, Any] = {}
    for name in FUNCTIONS:
        try:
            found[name] = evaluate(library, name)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found
