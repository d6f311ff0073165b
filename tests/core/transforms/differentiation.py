"""Programs that differentiate, run with xlascope and with jax: calls, misuses, and functions of trees."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

FLOAT0 = np.dtype([("float0", np.void, 0)])
Point = namedtuple("Point", "x y")
V = np.array([0.5, -1.5, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) / 4 - 0.3
Z = np.array([0.5 + 1j, -1.5 + 0.25j], np.complex64)


def zero0(*shape: int) -> Any:
    """A tangent of an integer value."""
    return np.zeros(shape, FLOAT0)


# What a call gives. ``f`` takes two numbers, ``tree`` a dictionary. ---------------------------------------------------

CALLS = """
lib.grad(lambda x: with_slope(x, lambda x, t: 0.0))(2.0)
lib.jit(lib.grad(lambda x: with_slope(x, lambda x, t: np.float32(3)) * x))(2.0)
lib.grad(lambda x: with_slope(x, lambda x, t: np.ones(3, np.float32)).sum())(jnp.asarray(V))
lib.vmap(lib.grad(lambda x: with_slope(x, lambda x, t: 3.0) * x))(jnp.asarray(V))
jnp.zeros_like(zero0(2))
jnp.zeros((2, 3), zero0().dtype)
lib.grad(f)(3.0, 4.0)
lib.grad(f, 1)(3.0, 4.0)
lib.grad(f, -1)(3.0, 4.0)
lib.grad(f, -2)(3.0, 4.0)
lib.grad(f, True)(3.0, 4.0)
lib.grad(f, np.int32(1))(3.0, 4.0)
lib.grad(f, (0,))(3.0, 4.0)
lib.grad(f, (1, 0))(3.0, 4.0)
lib.grad(f, (0, -1))(3.0, 4.0)
lib.grad(f, [0, 1])(3.0, 4.0)
lib.grad(f)(3.0, 4)
lib.grad(f)(3.0, n=4.0)
lib.grad(f)(np.float64(3), np.float64(4))
lib.grad(f)(np.float16(3), np.float16(4))
lib.grad(f)(jnp.bfloat16(3), jnp.bfloat16(4))
lib.grad(lambda x, *, scale=1.0: scale * x**2)(3.0, scale=2.0)
lib.grad(lambda x, scale=1.0: scale * x**2)(3.0)
lib.grad(lambda x: 3.0)(1.0)
lib.grad(lambda d: tree(d)['sum'])({'a': V, 'b': [2.0, None]})
lib.grad(lambda p: p.x * p.y)(Point(2.0, 3.0))
lib.value_and_grad(f)(3.0, 4.0)
lib.value_and_grad(f, (0, 1))(3.0, 4.0)
lib.value_and_grad(f, [-1])(3.0, 4.0)
lib.grad(lambda x: (x**2, {'twice': x * 2, 'text': 'kept', 'none': None}), has_aux=True)(3.0)
lib.grad(lambda x: [x**2, x], has_aux=True)(3.0)
lib.value_and_grad(lambda x: (x**2, (x * 3, 'kept')), has_aux=True)(3.0)
lib.grad(lib.grad(lambda x: (x**3, x), has_aux=True), has_aux=True)(3.0)
lib.grad(lambda x: x * 2.0, allow_int=True)(3)
lib.grad(lambda x: x * 2.0, allow_int=True)(True)
lib.grad(f, (0, 1), allow_int=True)(3.0, 4)
lib.grad(f, [1], allow_int=True)(3.0, 4)
lib.grad(lambda d: d['x'] * d['n'], allow_int=True)({'x': 2.0, 'n': np.arange(2)[1]})
lib.value_and_grad(lambda x, i: x[i].sum(), (0, 1), allow_int=True)(V, np.array([1, 2]))
lib.vmap(lib.grad(lambda x, i: x[i], (0, 1), allow_int=True), (None, 0))(V, np.arange(2))
lib.jit(lib.grad(lambda x, i: x[i] ** 2, (0, 1), allow_int=True))(V, 1)
lib.grad(lib.grad(lambda x, n: x**3 * n))(2.0, 5)
lib.jit(lib.grad(lambda x, i: x[i] ** 2))(V, 1)
lib.jvp(f, (3.0, 4.0), (1.0, 0.0))
lib.jvp(f, [3.0, 4.0], [1.0, 0.5])
lib.jvp(f, (3.0, 4), (1.0, zero0()))
lib.jvp(lambda x: x * 2.0, (np.arange(3),), (zero0(3),))
lib.jvp(lambda x: x, (3.0,), (np.float64(2),))
lib.jvp(lambda x: (x, 3, jnp.int32(4), x > 0, jnp.arange(2)), (1.0,), (1.0,))
lib.jvp(lambda x: (3.0, jnp.ones(2)), (1.0,), (1.0,))
lib.jvp(lambda: {'a': 2.0}, (), ())
lib.jvp(tree, ({'a': V, 'b': [2.0, None]},), ({'a': V * 2, 'b': [1.0, None]},))
lib.jvp(lambda x: (x**2, {'aux': x, 'text': 'kept'}), (3.0,), (1.0,), has_aux=True)
lib.jvp(lambda x: jnp.round(x).astype(int), (1.5,), (1.0,))
lib.vjp(f, 3.0, 4.0)[1](1.0)
lib.vjp(f, 3.0, 4)[1](2.0)
lib.vjp(lambda *xs: xs, 3.0, 4)[1]((2.0, zero0()))
lib.vjp(lambda *xs: xs, 3.0, 4)[1]((2.0, 7))
lib.vjp(lambda *xs: xs, 3.0, 4)[1]((2.0, 7.0))
lib.vjp(lambda x: x, V)[1](np.float64([1, 2, 3]))
lib.vjp(lambda x, y: x, 3.0, None)[1](2.0)
lib.vjp(lambda x: 3.0, 1.0)[1](2.0)
lib.vjp(lambda: 3.0)[1](2.0)
lib.vjp(tree, {'a': V, 'b': [2.0, None]})[1]({'out': V, 'sum': 2.0})
lib.vjp(lambda x: (x**2, {'aux': x, 'text': 'kept'}), 3.0, has_aux=True)[::2]
lib.vjp(lambda x: (x**2, {'aux': x, 'text': 'kept'}), 3.0, has_aux=True)[1](2.0)
lib.linearize(f, 3.0, 4.0)[1](1.0, 0.5)
lib.linearize(f, 3.0, 4)[1](1.0, zero0())
lib.linearize(lambda x: (x, 3.0, jnp.int32(3)), 1.0)[1](2.0)
lib.linearize(tree, {'a': V, 'b': [2.0, None]})[1]({'a': V, 'b': [1.0, None]})
lib.linearize(lambda x: (x**2, {'aux': x, 'text': 'kept'}), 3.0, has_aux=True)[::2]
lib.linearize(lambda x: (x**2, {'aux': x, 'text': 'kept'}), 3.0, has_aux=True)[1](2.0)
lib.linear_transpose(lambda x: 2.0 * x, 1.0)(3.0)
lib.linear_transpose(lambda x: M @ x, S((3,), 'float32'))(V[:2])
lib.linear_transpose(lambda x, y: x - 2 * y, 1.0, 1.0)(3.0)
lib.linear_transpose(lambda d: {'o': d['a'] - 2 * d['b'], 's': d['a'].sum()}, {'a': V, 'b': V})({'o': V, 's': 1.0})
lib.linear_transpose(lambda x: x + 1.0, 1.0)(3.0)
lib.linear_transpose(lambda x: 3.0, 1.0)(3.0)
lib.linear_transpose(lambda x, y: x, 1.0, V)(3.0)
lib.linear_transpose(lambda x: x * 2, 1)(3)
lib.linear_transpose(lambda x: x.sum(), np.arange(3))(jnp.int32(2))
lib.linear_transpose(lambda x: x / 2.0, V)(V)
lib.linear_transpose(lambda x: jnp.where(V > 0, x, 0.0), V)(V)
lib.linear_transpose(lambda x: x[np.array([2, 0])], V)(V[:2])
lib.linear_transpose(lambda x: jnp.concatenate([x, 2 * x])[1:5], V)(np.ones(4, 'f'))
lib.linear_transpose(lambda x: jnp.cumsum(x), V)(V)
lib.linear_transpose(lib.jit(lambda x: {'y': M @ x}), V)({'y': V[:2]})
lib.linear_transpose(lambda x: (1 + 2j) * x, 1j)(1.0 + 0j)
lib.linear_transpose(lib.linearize(jnp.sin, 1.0)[1], 1.0)(1.0)
lib.linear_transpose(lambda c: lib.linear_transpose(lambda x: M @ x, V)(c)[0], V[:2])(V)
lib.vmap(lambda c: lib.linear_transpose(lambda x: M @ x, V)(c))(np.ones((4, 2), 'f'))
lib.jit(lambda c: lib.linear_transpose(lambda x: M @ x, V)(c))(V[:2])
lib.grad(lambda c: lib.linear_transpose(lambda x: M @ x, V)(c)[0].sum())(V[:2])
lib.jacfwd(f)(3.0, 4.0)
lib.jacfwd(f, -1)(3.0, 4.0)
lib.jacfwd(f, [0, 1])(3.0, 4.0)
lib.jacrev(f, (-1, 0))(3.0, 4.0)
lib.jacobian(f, (0,))(3.0, 4.0)
lib.jacfwd(f)(3.0, n=4.0)
lib.jacfwd(tree)({'a': V, 'b': [2.0, None]})
lib.jacrev(tree)({'a': V, 'b': [2.0, None]})
lib.jacfwd(lambda x, p: p.x * x, (0, 1))(V, Point(2.0, 3.0))
lib.jacrev(lambda x, p: p.x * x, (0, 1))(V, Point(2.0, 3.0))
lib.jacfwd(lambda x: (x, 3.0, jnp.int32(3), jnp.arange(2)))(V)
lib.jacrev(lambda x: (x, 3.0))(V)
lib.jacfwd(lambda x: {})(V)
lib.jacrev(lambda x: x, allow_int=True)(V)
lib.jacrev(lambda x: x * 2.0, allow_int=True)(3)
lib.jacrev(lambda x, i: x[i], (0, 1), allow_int=True)(V, np.array([1, 2]))
lib.jacfwd(lambda x, y: (x * y).sum(), (0, 1))(np.ones(2, 'float16'), np.ones(2, 'f'))
lib.jacrev(lambda x, y: {'a': (x * y).sum(), 'b': x.sum()}, (0, 1))(np.ones(2, 'float16'), np.ones(2, 'f'))
lib.jacfwd(lambda x: x)(np.ones((0,), 'f'))
lib.jacrev(lambda x: x)(np.ones((0,), 'f'))
lib.jacfwd(lambda x: (x**2, {'y': x * 3}), has_aux=True)(V)
lib.jacrev(lambda x: (x**2, {'y': x * 3, 'text': 'kept'}), has_aux=True)(V)
lib.jacfwd(lib.jacrev(lambda x: (x**2, x), has_aux=True), has_aux=True)(V)
lib.hessian(lambda x: (x**2, {'y': x * 3}), has_aux=True)(2.0)
lib.hessian(lambda x, y: x * x * y, (0, 1))(2.0, 3.0)
lib.hessian(lambda x, y: x * x * y, -1)(2.0, 3.0)
lib.hessian(lambda d: (d['a'] * d['a']).sum() * d['b'][0])({'a': V, 'b': [2.0, None]})
lib.hessian(lambda x: jnp.sin(x) * V)(2.0)
lib.jit(lib.hessian(lambda x: jnp.sum(x**3)))(V)
lib.vmap(lib.jacfwd(lambda x: jnp.outer(x, x)))(M)
lib.jacfwd(lambda x: lib.jacrev(jnp.tanh)(x) @ x)(V)
"""

# Complex values, by JAX's conventions.
COMPLEX = """
lib.grad(lambda z: z**2, holomorphic=True)(1.0 + 2.0j)
lib.grad(lambda z: jnp.sum(z**3 - 2j * z), holomorphic=True)(Z)
lib.grad(jnp.sin, holomorphic=True)(0.5 + 1j)
lib.grad(lambda z: jnp.exp(z) / z, holomorphic=True)(0.5 + 1j)
lib.grad(lambda d: d['a'] * d['b'][0] ** 2, holomorphic=True)({'a': 1j, 'b': [2.0 + 1j]})
lib.value_and_grad(lambda z: z**3, holomorphic=True)(1.0 + 2.0j)
lib.grad(lib.grad(lambda z: z**3, holomorphic=True), holomorphic=True)(1.0 + 2.0j)
lib.grad(jnp.abs)(3.0 + 4.0j)
lib.grad(lambda z: jnp.real(z))(3.0 + 4.0j)
lib.grad(lambda z: jnp.imag(z))(3.0 + 4.0j)
lib.grad(lambda z: jnp.sum(jnp.real(z) ** 2 + 3 * jnp.imag(z)))(Z)
lib.grad(lambda z: jnp.real(z * jnp.conj(z)))(3.0 + 4.0j)
lib.grad(lambda z: jnp.real(z**2))(3.0 + 4.0j)
lib.grad(lambda x: jnp.real((x + 2j) ** 2))(3.0)
lib.grad(lambda x: jnp.abs(x * 1j + 3.0))(4.0)
lib.value_and_grad(lambda z, x: jnp.real(z * x), (0, 1))(3.0 + 4.0j, 2.0)
lib.jvp(lambda z: z**2, (1.0 + 2.0j,), (1.0 + 0j,))
lib.jvp(jnp.conj, (1.0 + 2.0j,), (1j,))
lib.jvp(jnp.real, (1.0 + 2.0j,), (3.0 + 1j,))
lib.jvp(jnp.imag, (1.0 + 2.0j,), (3.0 + 1j,))
lib.jvp(lambda x: x * 1j, (2.0,), (3.0,))
lib.jvp(jnp.abs, (3.0 + 4.0j,), (1.0 + 1j,))
lib.vjp(lambda z: z**2, 1.0 + 2.0j)[1](1.0 + 1j)
lib.vjp(jnp.conj, 1.0 + 2.0j)[1](1.0 + 1j)
lib.vjp(jnp.real, 1.0 + 2.0j)[1](2.0)
lib.vjp(jnp.imag, 1.0 + 2.0j)[1](2.0)
lib.vjp(lambda x: x * (1 + 2j), 2.0)[1](1.0 + 1j)
lib.vjp(lambda x: jnp.exp(1j * x), V)[1](np.complex64([1, 1j, 1 + 1j]))
lib.vjp(jnp.abs, Z)[1](np.float32([1, 2]))
lib.linearize(lambda z: z**2, 1.0 + 2.0j)[1](1j)
lib.linear_transpose(jnp.real, 1j)(2.0)
lib.linear_transpose(jnp.conj, 1j)(2.0 + 1j)
lib.jacfwd(lambda z: z**2, holomorphic=True)(Z)
lib.jacrev(lambda z: z**2, holomorphic=True)(Z)
lib.jacfwd(lambda z: {'a': z * z[0]}, (0,), holomorphic=True)(Z)
lib.jacrev(lambda z: {'a': z * z[0]}, (0,), holomorphic=True)(Z)
lib.jacrev(lambda z: jnp.real(z**2))(Z)
lib.jacfwd(lambda x: x * 1j)(V)
lib.hessian(lambda z: z**3, holomorphic=True)(2.0 + 1j)
lib.hessian(lambda z: jnp.sum(z**2) * z[0], holomorphic=True)(Z)
lib.jit(lib.grad(lambda z: jnp.sum(jnp.abs(z))))(Z)
lib.vmap(lib.grad(lambda z: z**2, holomorphic=True))(Z)
"""

# Values that differentiation takes for constants.
STOPPED = """
lib.grad(lambda x: x * stop(x))(3.0)
lib.grad(lambda d: d['a'] * stop(d)['a'] + stop(d)['b'][0] * d['b'][0])({'a': 2.0, 'b': [3.0, None]})
lib.grad(lambda x, n: x * stop({'x': x, 'n': n})['n'], (0, 1), allow_int=True)(2.0, 3)
stop({'a': V, 'i': 3, 'n': None, 'p': Point(1.0, True)})
lib.jvp(lambda x: (stop(x), x * stop(x)), (3.0,), (1.0,))
lib.jvp(stop, ({'a': V, 'n': 2},), ({'a': V, 'n': zero0()},))
lib.vjp(stop, V)[1](V)
lib.linearize(lambda x: stop(x) + x, V)[1](V)
lib.grad(lambda x: jnp.sum(x + stop(jnp.round(x) - x)))(V)
lib.value_and_grad(lambda x: jnp.sum((x + stop(jnp.round(x) - x)) ** 2))(V)
lib.grad(lambda x: jnp.sum(jnp.where(x > 0, x, stop(x))))(V)
lib.grad(lambda x: jnp.sum(jnp.round(x)))(V)
lib.hessian(lambda x: x**2 * stop(x))(3.0)
lib.hessian(lambda x: jnp.sum(x**2 * stop(x)))(V)
lib.hessian(lambda x: stop(x) ** 3)(3.0)
lib.jacfwd(lambda x: stop(x) * x)(V)
lib.jacrev(lambda x: stop(x) * x)(V)
lib.vmap(lib.grad(lambda x: stop(x) * x))(V)
lib.vmap(stop)(V)
lib.grad(lambda x: jnp.sum(lib.vmap(lambda v: stop(v) * v)(x)))(V)
lib.jit(lib.grad(lambda x: stop(x) * x))(3.0)
lib.grad(lib.jit(lambda x: stop(x) * x))(3.0)
lib.grad(lib.grad(lambda x: stop(x) * x**2))(3.0)
lib.grad(lambda x: lib.grad(lambda y: stop(y) * x * y)(x))(3.0)
lib.linear_transpose(lambda x: x * stop(2.0), 1.0)(3.0)
"""

# Linear functions as values: they leave and enter jitted functions, and are mapped.
CARRIED = """
lib.jit(lambda x: lib.vjp(jnp.sin, x))(1.0)[1](2.0)
lib.jit(lambda x: lib.linearize(jnp.sin, x))(1.0)[1](2.0)
lib.jit(lambda x: lib.vjp(tree, x)[1])({'a': V, 'b': [2.0, None]})({'out': V, 'sum': 2.0})
lib.jit(lambda pull, c: pull(c))(lib.vjp(jnp.sin, V)[1], V)
lib.jit(lambda push, t: push(t))(lib.linearize(jnp.sin, V)[1], V)
lib.jit(lambda back, c: back(c))(lib.linear_transpose(lambda x: M @ x, V), V[:2])
lib.jit(lambda pull, c: pull(c))(lib.jit(lambda x: lib.vjp(jnp.sin, x)[1])(V), V)
lib.jit(lambda x: lib.linear_transpose(lambda y: x * y, x))(V)(V)
lib.tree_util.tree_map(lambda r: 2 * r, lib.vjp(jnp.sin, V)[1])(V)
lib.vmap(lambda x, c: lib.vjp(jnp.sin, x)[1](c))(V, V)
lib.vmap(lambda pull, c: pull(c))(lib.vmap(lambda x: lib.vjp(lambda y: jnp.sin(y) * y, x)[1])(V), V)
lib.vmap(lambda push, t: push(t))(lib.vmap(lambda x: lib.linearize(jnp.sin, x)[1])(V), V)
lib.grad(lambda x: lib.vjp(jnp.sin, x)[1](x)[0])(1.0)
lib.grad(lambda c: lib.jit(lambda x: lib.vjp(jnp.sin, x)[1])(1.0)(c)[0])(2.0)
lib.grad(lambda x: lib.jit(lambda y: lib.vjp(jnp.sin, y)[1])(x)(1.0)[0])(2.0)
lib.jit(lambda n: lib.vjp(lambda x, i: x[i] * 2, V, n)[1])(1)(3.0)[0]
lib.jit(lambda x: lib.vjp(lambda y: 3.0, x)[1])(1.0)(2.0)
"""

# What is wrong, and the words that our message has beside the user's line. --------------------------------------------

MISUSES = {
    "lib.grad(3)": ["grad takes a function", "3", "int"],
    "lib.jacfwd(None)": ["jacfwd takes a function", "None"],
    "lib.jacrev('f')": ["jacrev takes a function", "'f'"],
    "lib.vjp(3, 1.0)": ["vjp takes a function"],
    "lib.jvp(3, (1.0,), (1.0,))": ["jvp takes a function"],
    "lib.linearize(3, 1.0)": ["linearize takes a function"],
    "lib.linear_transpose(3, 1.0)": ["linear_transpose takes a function"],
    "lib.grad(f, 2)(3.0, 4.0)": ["argnums=2", "2 positional"],
    "lib.grad(f, -3)(3.0, 4.0)": ["argnums=-3", "2 positional"],
    "lib.grad(f)(x=3.0, n=4.0)": ["0 positional", "by name"],
    "lib.grad(f, 1.0)(3.0, 4.0)": ["argnums", "integer", "1.0", "float"],
    "lib.grad(f, 'x')(3.0, 4.0)": ["argnums", "integer", "'x'"],
    "lib.grad(f, (0, 1.0))(3.0, 4.0)": ["argnums", "integer", "(0, 1.0)"],
    "lib.grad(f, None)(3.0, 4.0)": ["argnums", "integer", "None"],
    "lib.grad(f, ())(3.0, 4.0)": ["argnums=()", "no argument"],
    "lib.grad(f, (0, 0))(3.0, 4.0)": ["argnums=(0, 0)", "twice"],
    "lib.jacfwd(f, 2)(3.0, 4.0)": ["jacfwd", "argnums=2", "2 positional"],
    "lib.jacrev(f, (0, 2))(3.0, 4.0)": ["jacrev", "argnums=(0, 2)"],
    "lib.jacfwd(f, (0, -2))(3.0, 4.0)": ["jacfwd", "twice"],
    "lib.hessian(f, 5)(3.0, 4.0)": ["argnums=5"],
    "lib.grad(f)(3, 4.0)": ["argument 0 of f", "int32", "astype(float)", "argnums"],
    "lib.grad(f, 1)(3.0, True)": ["argument 1 of f", "bool"],
    "lib.grad(f, (1, 0))(3, 4.0)": ["argument 0 of f", "int32"],
    "lib.grad(tree)({'a': V, 'b': [2, None]})": ["argument 0['b'][0] of tree", "int32"],
    "lib.grad(tree)({'a': 'text', 'b': [2.0, None]})": ["argument 0['a'] of tree", "str"],
    "lib.grad(f)([[1.0, 'a']], 2.0)": ["argument 0[0][1] of f", "str"],
    "lib.grad(f, allow_int=True)(zero0(), 1.0)": ["float0"],
    "lib.grad(lambda x: x * 2)(V)": ["one scalar result", "(3,)", "jacrev", "defined at"],
    "lib.grad(lambda x: x * 2)(V[:1])": ["one scalar result", "(1,)"],
    "lib.grad(lambda x: jnp.int32(3))(1.0)": ["real floating-point result", "int32", "vjp"],
    "lib.grad(lambda x: x > 0)(1.0)": ["real floating-point result", "bool"],
    "lib.grad(lambda x: None)(1.0)": ["one scalar result", "None", "return missing"],
    "lib.grad(lambda x: (x, x))(1.0)": ["one scalar result", "tuple of 2", "has_aux"],
    "lib.grad(lambda x: 'text')(1.0)": ["result", "str", "'text'"],
    "lib.grad(lambda x: x * 1j)(1.0)": ["complex64", "holomorphic=True"],
    "lib.grad(jnp.abs, holomorphic=True)(1j)": ["holomorphic=True", "complex result", "float32"],
    "lib.grad(lambda x: x, holomorphic=True)(1.0)": ["holomorphic=True", "complex inputs", "argument 0", "float32"],
    "lib.grad(lambda x: x, has_aux=True)(1.0)": ["pair (result, aux)", "an array"],
    "lib.grad(lambda x: (x, x, x), has_aux=True)(1.0)": ["pair (result, aux)", "tuple of 3"],
    "lib.vjp(lambda x: x, 1.0, has_aux=True)": ["pair (result, aux)"],
    "lib.jvp(lambda x: x, (1.0,), (1.0,), has_aux=True)": ["pair (result, aux)"],
    "lib.linearize(lambda x: x, 1.0, has_aux=True)": ["pair (result, aux)"],
    "lib.jacfwd(lambda x: x, has_aux=True)(1.0)": ["pair (result, aux)"],
    "lib.jvp(f, (1.0, 2.0), [1.0, 2.0])": ["the jvp of f", "list of 2", "tuple of 2"],
    "lib.jvp(f, 1.0, 1.0)": ["tuples", "float"],
    "lib.jvp(f, V[:2], V[:2])": ["tuples", "ndarray"],
    "lib.jvp(f, (1.0, 2.0), (1.0,))": ["structure", "tuple of 1", "tuple of 2"],
    "lib.jvp(f, (1.0, 2.0), (1.0, None))": ["at [1]", "None", "leaf"],
    "lib.jvp(tree, ({'a': V},), ({'b': V},))": ["at [0]", "['b']", "['a']"],
    "lib.jvp(lambda x: x, ([V, {'k': V}],), ([V, {'k': V[:2]}],))": ["argument 0[1]['k']", "(2,)", "(3,)"],
    "lib.jvp(lambda x: x, (V,), (V.astype('float16'),))": ["argument 0", "float16", "float32", "astype"],
    "lib.jvp(lambda x: x, (1.0,), (1,))": ["int32", "float32", "Write 1.0 instead of 1."],
    "lib.jvp(lambda x: x, (1.0,), (1j,))": ["complex64", "float32"],
    "lib.jvp(lambda x: x, (1j,), (1.0,))": ["float32", "complex64"],
    "lib.jvp(lambda x: x, (1,), (1,))": ["int32", "expected float0", "numpy.zeros(()"],
    "lib.jvp(lambda x: x, (1,), (1.0,))": ["float32", "expected float0"],
    "lib.jvp(lambda x: x, (1,), (zero0(2),))": ["(2,)", "expected ()"],
    "lib.jvp(lambda x: x, (1.0,), (zero0(),))": ["dtype float0", "float32"],
    "lib.jvp(lambda x: x, ('a',), ('a',))": ["argument 0", "str"],
    "lib.jvp(lambda x: 'a', (1.0,), (1.0,))": ["result", "str"],
    "lib.vjp(tree, {'a': V, 'b': ['text']})": ["argument 0['b'][0] of tree", "str"],
    "lib.vjp(lambda x: {'a': x}, 1.0)[1]({'b': 1.0})": ["['b']", "['a']", "the vjp of"],
    "lib.vjp(lambda x: Point(x, (x, x)), 1.0)[1](Point(1.0, 2.0))": ["at .y", "leaf", "tuple of 2"],
    "lib.vjp(lambda x: (x, x), 1.0)[1]([1.0, 1.0])": ["list of 2", "tuple of 2"],
    "lib.vjp(lambda x: (x, x), 1.0)[1](1.0, 1.0)": ["one argument", "got 2"],
    "lib.vjp(f, 1.0, 2.0)[1]()": ["one argument", "got 0"],
    "lib.vjp(lambda x: {'k': x}, V)[1]({'k': V[:2]})": ["the cotangent ['k']", "(2,)", "(3,)"],
    "lib.vjp(lambda x: x, V)[1](1.0)": ["()", "(3,)"],
    "lib.vjp(lambda x: x, V)[1](V.astype('float16'))": ["float16", "float32"],
    "lib.vjp(lambda x: x, 1.0)[1](1)": ["int32", "float32"],
    "lib.vjp(lambda x: (x, 3), 1.0)[1]((1.0, zero0(2)))": ["[1]", "(2,)", "expected ()"],
    "lib.linearize(f, 1.0, 2.0)[1](1.0)": ["the linearized f", "tuple of 1", "tuple of 2"],
    "lib.linearize(lambda x: x, {'a': 1.0})[1]({'b': 1.0})": ["at [0]", "['b']"],
    "lib.linearize(lambda x: x, V)[1](V[:2])": ["argument 0", "(2,)", "(3,)"],
    "lib.linearize(lambda x: x, V)[1](V.astype('float16'))": ["float16", "float32"],
    "lib.linearize(lambda x: x, 1)[1](1)": ["int32", "expected float0"],
    "lib.linear_transpose(jnp.sin, 1.0)(1.0)": ["sin is not linear"],
    "lib.linear_transpose(lambda x: x, 'a')": ["argument 0", "str"],
    "lib.linear_transpose(lambda x, n: x * 2.0, 1.0, 1)(1.0)": ["(float32, int32) to (float32)"],
    "lib.linear_transpose(lambda n: n * 2.0, 1)(1.0)": ["(int32) to (float32)"],
    "lib.linear_transpose(lambda x: (x, x), 1.0)([1.0, 1.0])": ["list of 2", "the linear transpose of"],
    "lib.linear_transpose(lambda x: x, V)(V[:2])": ["(2,)", "(3,)"],
    "lib.linear_transpose(lambda x: x, V)(V.astype('float16'))": ["float16", "float32"],
    "lib.linear_transpose(lambda x: x * 2, 1)(3.0)": ["float32", "int32"],
    "lib.linear_transpose(lambda x: x * 2, 1)(zero0())": ["float0", "int32"],
    "lib.jacfwd(f)(3, 4.0)": ["jacfwd", "argument 0 of f", "int32"],
    "lib.jacrev(f)(3, 4.0)": ["jacrev", "argument 0 of f", "argnums"],
    "lib.jacfwd(lambda z: z)(1j)": ["jacfwd of a complex argument", "holomorphic=True"],
    "lib.jacrev(lambda z: z)(1j)": ["jacrev", "complex64", "holomorphic=True"],
    "lib.jacfwd(lambda z: z, holomorphic=True)(1.0)": ["complex inputs", "float32"],
    "lib.jacrev(lambda z: z, holomorphic=True)(1.0)": ["complex inputs", "float32"],
    "lib.jacfwd(jnp.abs, holomorphic=True)(1j)": ["complex result", "float32"],
    "lib.jacrev(jnp.abs, holomorphic=True)(1j)": ["complex result", "float32"],
    "lib.jacrev(lambda x: (x, jnp.int32(3)))(1.0)": ["jacrev", "real floating-point result", "int32"],
    "lib.jacrev(lambda x: x > 0)(V)": ["bool"],
    "lib.hessian(lambda x: x**3)(2)": ["int32"],
    "lib.hessian(lambda x: x**3)(2j)": ["holomorphic=True"],
    "lib.hessian(lambda x: (x**2, x, x), has_aux=True)(1.0)": ["pair (result, aux)", "tuple of 3"],
}


def scope(lib: Any) -> dict[str, Any]:
    """The names that rows use."""
    jnp = lib.numpy

    def f(x, n):
        return x**2 * n

    def tree(d):
        return {"out": jnp.sin(d["a"]) * d["b"][0], "sum": jnp.sum(d["a"] ** 2) * d["b"][0]}

    def with_slope(x, slope):
        """x, with a rule that takes slope(x, tangent) for the tangent."""
        rule = lib.custom_jvp(lambda x: x * 1.0)
        rule.defjvp(lambda primals, tangents: (rule(*primals), slope(*primals, *tangents)))
        return rule(x)

    return {
        **{
            "lib": lib,
            "jnp": jnp,
            "np": np,
            "f": f,
            "with_slope": with_slope,
            "tree": tree,
            "zero0": zero0,
            "stop": lib.lax.stop_gradient,
        },
        **{"V": V, "M": M, "Z": Z, "Point": Point, "S": lib.ShapeDtypeStruct},
    }


def plain(lib: Any, value: Any) -> Any:
    """A tree as text and NumPy arrays; of float0 arrays the shape."""
    leaves, structure = lib.tree_util.tree_flatten(value)
    found = [x if isinstance(x, str) else _array(x) for x in leaves]
    return str(structure), found


def _array(x: Any) -> Any:
    if getattr(x, "dtype", None) == FLOAT0:
        return ("float0", x.shape)
    array = np.asarray(x)
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return ("bfloat16", array.astype(np.float32))
    return array.astype({"float64": np.float32, "int64": np.int32}.get(array.dtype.name, array.dtype))


def rows(texts: str) -> list[str]:
    return [line for line in texts.splitlines() if line]


def value_of(lib: Any, row: str) -> Any:
    return plain(lib, eval(row, scope(lib)))


def value_in_jit(lib: Any, row: str) -> Any:
    """The same, computed as one program: the oracle's values in a fifth of the time."""
    structure, texts = None, []

    def computed() -> Any:
        nonlocal structure
        leaves, structure = lib.tree_util.tree_flatten(eval(row, scope(lib)))
        texts.extend(x if isinstance(x, str) else None for x in leaves)
        return [0.0 if isinstance(x, str) else x for x in leaves]

    found = lib.jit(computed)()
    return str(structure), [_array(x) if text is None else text for x, text in zip(found, texts, strict=True)]


def every_call(lib: Any) -> dict[str, Any]:
    return {row: value_in_jit(lib, row) for row in rows(CALLS + COMPLEX + STOPPED + CARRIED)}


def every_misuse(lib: Any) -> dict[str, list[str]]:
    """The names of the classes of the errors, most special first; none where nothing is raised."""
    found = {}
    for row in MISUSES:
        try:
            eval(row, scope(lib))
            found[row] = []
        except Exception as error:
            found[row] = [kind.__name__ for kind in type(error).__mro__]
    return found
