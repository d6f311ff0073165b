"""Expressions that xlascope.numpy and jax.numpy have to agree on: value, dtype, weakness, or the kind of error.

Each is evaluated by itself and inside jit. This file imports neither library: `every(library)` is given one.
"""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np

#: What the names in the expressions stand for.
VALUES = {
    "x": np.array([-1.5, 0.0, 2.5], np.float32),
    "p": np.array([0.25, 1.0, 3.5], np.float32),
    "q": np.array([0.1, -0.5, 0.9], np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "i": np.array([2, 0, 1], np.int32),
    "k": np.array([-7, 7, 3], np.int32),
    "u": np.array([1, 200, 7], np.uint8),
    "s": np.array([-8, 5, 2], np.int8),
    "b": np.array([True, False, True]),
    "h": np.array([1.5, -2.0, 0.5], np.float16),
    "w": np.array([np.nan, np.inf, -np.inf, 1.0], np.float32),
    "e": np.zeros((0, 3), np.float32),
    "r": np.array([[2, 0], [1, 1]], np.int32),
    "z": np.array([1 + 2j, -0.5j, -3 + 1j], np.complex64),
    "y": np.array([0.5, 2j, -3], np.complex64),
    "a": (np.arange(12).reshape(3, 4) + 1j * np.arange(12)[::-1].reshape(3, 4)).astype(np.complex64),
    "c": np.array([complex(np.nan, 1), complex(1, np.inf), 1 - 1j], np.complex64),
    "f": np.float32(2.5),
    "n": np.int32(1),
}

_ONE = """
abs absolute negative positive sign square exp exp2 expm1 log log1p log2 log10 sqrt cbrt sin cos tan arctan
sinh cosh tanh arcsinh degrees radians deg2rad rad2deg floor ceil trunc rint round isnan isinf isfinite
isposinf isneginf signbit logical_not reciprocal fabs sinc real nan_to_num ravel sum prod max min all any mean
var std argmax argmin cumsum cumprod count_nonzero ptp zeros_like ones_like nansum nanmean nanmax nanmin conj
"""
_TWO = """
add subtract multiply true_divide divide floor_divide remainder mod fmod power maximum minimum fmax fmin equal
not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logaddexp arctan2 hypot
copysign isclose dot inner outer vdot float_power
"""
_BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
_ARITHMETIC = "+ - * / // %"
_COMPARE = "< <= > >= == !="
_LOGIC = "& | ^"


def _table() -> list[str]:
    rows = [f"jnp.{name}({x})" for name in _ONE.split() for x in ("x", "i", "h", "w")]
    rows += [f"jnp.{name}({x})" for name in ("arcsin", "arccos", "arctanh") for x in ("q", "i")]
    rows += ["jnp.arccosh(p)", "jnp.invert(i)", "jnp.invert(b)", "jnp.bitwise_not(u)", "jnp.logaddexp2(x, p)"]
    pairs = ("x, p", "x, 2", "i, k", "k, 2", "i, p", "2.5, k", "u, s", "h, i", "x, f", "b, i", "h, 2")
    rows += [f"jnp.{name}({two})" for name in _TWO.split() for two in pairs]
    rows += [f"jnp.{name}({two})" for name in _BITS.split() for two in ("i, n", "u, 3", "s, 1", "u, s")]
    rows += [f"x {op} p" for op in f"{_ARITHMETIC} ** {_COMPARE}".split()]
    rows += [f"k {op} 3" for op in f"{_ARITHMETIC} ** {_COMPARE} {_LOGIC} << >>".split()]
    rows += [f"3 {op} k" for op in f"{_ARITHMETIC} {_COMPARE} {_LOGIC}".split()]
    rows += [f"2.5 {op} x" for op in f"{_ARITHMETIC} {_COMPARE}".split()]
    return rows + [row for row in _MORE.splitlines() if row and not row.startswith("#")]


_MORE = """
# complex numbers
jnp.real(z)
jnp.conj(z)
jnp.angle(z)
jnp.angle(z, deg=True)
jnp.angle(x)
jnp.abs(z)
jnp.absolute(z)
jnp.sign(z)
jnp.square(z)
jnp.exp(z)
jnp.log(z)
jnp.log2(z)
jnp.log10(z)
jnp.sqrt(z)
jnp.sin(z)
jnp.tanh(z)
jnp.arcsin(z)
jnp.power(z, 2)
z ** 2
z ** y
2 ** z
z ** 0.5
z + x
z * 2j
x * 1j
x + 1j
-z
abs(z)
z / y
z == y
z != x
z < y
z <= y
z > x
jnp.maximum(z, y)
jnp.minimum(z, x)
jnp.nan_to_num(c)
jnp.sum(a, 0)
jnp.prod(a, 1)
jnp.mean(a)
jnp.var(a, 1)
jnp.std(a)
jnp.sort(z)
jnp.argsort(z)
jnp.cumsum(z)
jnp.cumprod(z)
jnp.dot(a.T, z)
jnp.vdot(z, y)
jnp.vecdot(z, y)
jnp.outer(z, x)
a.T @ z
jnp.einsum('ij,i->j', a, z)
jnp.linalg.norm(z)
jnp.linalg.norm(a, axis=1)
jnp.linalg.norm(z, 1)
jnp.where(x > 0, z, x)
jnp.round(z * 1.3, 1)
jnp.rint(z * 1.3)
jnp.allclose(z, z)
jnp.array_equal(z, z)
jnp.array([1j, 2])
jnp.asarray(1j)
jnp.zeros(2, complex)
jnp.ones_like(z)
jnp.full(2, 1j)
z.astype('float32')
z.astype('complex64')
x.astype(complex)
jnp.diff(z)
jnp.gradient(z)
jnp.trace(a)
jnp.linspace(0, 1j, 3)
jnp.arange(3) * 1j
jnp.sinc(z)
jnp.reciprocal(z)
jnp.expm1(z)
jnp.cov(a)
jnp.average(z, weights=x)
jnp.count_nonzero(z)
jnp.tensordot(a, a, 2)
jnp.kron(z, y)
jnp.float_power(z, 2)
jnp.positive(z)
jnp.negative(z)
jnp.exp2(z)
jnp.conjugate(x)
z.real
z.imag
z.conj()
x.imag
x.real
z.T.conj()
jnp.logical_and(z, y)
jnp.trapezoid(z)
jnp.triu(a)
jnp.matvec(a.T, z)
jnp.vecmat(z, a)
jnp.isnan(c)
jnp.isinf(c)
jnp.isfinite(c)
jnp.iscomplex(z)
jnp.isreal(z)
jnp.isclose(z, y)
jnp.fabs(z)
jnp.floor(z)
jnp.trunc(z)
z // y
jnp.angle(3)
# what ends where it is told to
jnp.linspace(0, 1, 42)[-1]
jnp.linspace(jnp.inf, 1, 3)
jnp.linspace(1, jnp.inf, 1)
jnp.linspace(x, 2, 3, axis=1)
jnp.logspace(3, 2, 5, axis=-1)
jnp.geomspace(-1, -100, 3)
jnp.geomspace(2, -1, 3, endpoint=False)
# the type asked for, in every step
jnp.einsum('i->', s * s)
jnp.einsum('i->', s * s, preferred_element_type='int32')
jnp.einsum('i,j->j', u, u, preferred_element_type='int32')
jnp.einsum('i,j->ij', u, u, preferred_element_type='int32')
# weak where the operand is
jnp.angle(1.5)
jnp.angle(1.5j, deg=True)
jnp.angle(jnp.full(2, 1j), deg=True)
jnp.round(1.5, 1)
jnp.round(jnp.full(2, 1.5), 1)
jnp.heaviside(jnp.full(3, 1.0), 2.0)
jnp.heaviside(1.0, jnp.full(3, 1.0))
jnp.full_like(0, n)
jnp.full(3, 1.0).at[i].add(x)
# the common elements
jnp.intersect1d(i, k, size=2)
jnp.intersect1d(k, [7, 3, 7], size=2)
jnp.intersect1d(x, w, True, size=3, fill_value=7)
jnp.intersect1d(k % 2, i % 2, return_indices=True, size=3)
jnp.intersect1d(b, b, size=3, fill_value=2)
jnp.intersect1d(e, e, size=2)
# updates in the type where both meet, and indices from the front
jnp.asarray(b).at[1].max(-2.5)
jnp.asarray(b).at[i].min(0.5)
jnp.asarray(i).at[i].multiply(2.5)
jnp.asarray(s).at[0].add(300)
jnp.asarray(x).at[-1].set(7, wrap_negative_indices=False)
jnp.asarray(x).at[k].add(7, wrap_negative_indices=False)
jnp.asarray(x).at[k].get(wrap_negative_indices=False)
jnp.asarray(x).at[k].get(wrap_negative_indices=False, mode='fill')
jnp.asarray(x).at[k].set(7, wrap_negative_indices=False, mode='clip')
# angles within their bounds
jnp.logaddexp(3 + 1e10j, y)
# who is no operand
jnp.asarray(x).__contains__('a')
jnp.asarray(x).__contains__(jnp.dtype('float32'))
jnp.argsort(x, stable=2**31)
jnp.diag_indices(3, -1)
jnp.diag_indices(2.5)
jnp.can_cast({1}, 'float32')
jnp.lexsort(3)
jnp.delete(i, slice(None))
jnp.bitwise_or(2**40, u)
jnp.iscomplexobj(range(3))
# operators
-x
+x
~i
~b
abs(x)
divmod(k, 2)
divmod(x, 2)
divmod(7, k)
x ** 2
x ** -1
x ** 0
i ** 2
i ** -1
2 ** i
i ** i
b ** 2
h ** 3
round(x)
round(x, 1)
m @ m.T
x @ x
m.T @ x
m @ x
x + [1, 2, 3]
x & 1
b + True
b * True
b - True
b / True
b // True
u + 300
u - 2
x + m
m + x[:, None]
t + m
t * x[:, None]
x + x[:2]
# where and choice
jnp.where(x > 0, x, 0)
jnp.where(x > 0, 1, 0)
jnp.where(x > 0, 1.0, i)
jnp.where(b, m.T, 0).shape
jnp.where(i, x, p)
jnp.where(x[:, None] > 0, m, f)
jnp.clip(m, -1, 2)
jnp.clip(i, 0, 1.5)
jnp.clip(m, max=1)
x.clip(min=0)
jnp.nan_to_num(w, nan=1.0, posinf=2.0, neginf=3.0)
jnp.isclose(w, w, equal_nan=True)
jnp.allclose(x, x + 1e-7)
jnp.array_equal(x, x)
jnp.array_equal(x, p)
jnp.array_equal(x, m)
jnp.array_equal(w, w, equal_nan=True)
# reductions
jnp.sum(m, axis=0)
jnp.sum(m, axis=(0, 1))
jnp.sum(t, axis=(0, -1), keepdims=True)
jnp.sum(b)
jnp.sum(u)
jnp.sum(s)
jnp.sum(h)
jnp.sum(x, initial=1)
jnp.sum(x, where=b)
jnp.sum(m, axis=3)
jnp.sum(m, axis=(0, 0))
jnp.sum(i, dtype=jnp.float32)
jnp.sum([1, 2])
jnp.sum(e)
jnp.prod(m, axis=1)
jnp.prod(u)
jnp.max(m, axis=1)
jnp.max(e)
jnp.max(e, axis=1)
jnp.max(i, initial=5)
jnp.max(x, where=b, initial=-9.0)
jnp.min(t, axis=(1, 2))
jnp.min(t, axis=1, keepdims=True)
jnp.mean(m, axis=0)
jnp.mean(i)
jnp.mean(h)
jnp.mean(m, axis=1, keepdims=True)
jnp.mean(x, where=b)
jnp.var(m, axis=1)
jnp.var(m, ddof=1)
jnp.var(i)
jnp.var(h)
jnp.std(m, axis=0, keepdims=True)
jnp.std(m, ddof=1, axis=1)
jnp.average(m, axis=1)
jnp.average(x, weights=p)
jnp.average(m, axis=0, weights=p)
jnp.all(m > -9, axis=0)
jnp.any(m > 0, axis=1)
jnp.any(x, where=b)
jnp.argmax(m, axis=0)
jnp.argmax(m, axis=1, keepdims=True)
jnp.argmin(t, axis=-1)
jnp.argmax(w)
jnp.argmin(w)
jnp.argmax(jnp.array([1, 3, 3]))
jnp.cumsum(m, axis=1)
jnp.cumsum(b)
jnp.cumsum(u)
jnp.cumsum(x, dtype=jnp.float16)
jnp.cumprod(m, axis=0)
jnp.cumsum(f)
jnp.count_nonzero(m, axis=0)
jnp.ptp(m, axis=1)
m.sum()
m.sum(0)
m.sum(axis=1, keepdims=True)
m.mean(0)
m.std(0)
m.var(1)
m.max()
m.min(1)
m.prod()
m.argmax(1)
m.argmin()
m.cumsum(1)
m.cumprod(0)
b.all()
b.any()
m.trace()
m.diagonal()
# creation
jnp.array(1.0)
jnp.array(1)
jnp.array(True)
jnp.array([1, 2.5])
jnp.array([[1, 2], [3, 4]], dtype=jnp.float16)
jnp.array([x, p])
jnp.array([[f, 2], [n, 3]])
jnp.array([])
jnp.array([[1, 2], [3]])
jnp.array(x, dtype=int)
jnp.array(m, ndmin=3)
jnp.array("a")
jnp.asarray(x)
jnp.asarray(3, dtype=jnp.uint8)
jnp.asarray(300, dtype=jnp.uint8)
jnp.float32(3)
jnp.int32(x)
jnp.bfloat16(1.5).astype(jnp.float32)
jnp.zeros(3)
jnp.zeros((2, 3), int)
jnp.zeros((2,), bool)
jnp.ones((2, 1), jnp.float16)
jnp.full(3, 2.0)
jnp.full((2, 2), 7)
jnp.full((2, 3), x)
jnp.full(3, 2, dtype=float)
jnp.full_like(i, 2.5)
jnp.full_like(x, 1)
jnp.zeros_like(m, dtype=int)
jnp.ones_like(x, shape=(2,))
jnp.empty((2,))
jnp.arange(3)
jnp.arange(3.0)
jnp.arange(2.5)
jnp.arange(1, 4)
jnp.arange(1, 10, 3)
jnp.arange(10, 0, -3)
jnp.arange(0, 1, 0.25)
jnp.arange(5, dtype=float)
jnp.arange(0)
jnp.arange(-3)
jnp.linspace(0, 1, 5)
jnp.linspace(0, 5, 6, dtype=int)
jnp.linspace(0, 1, 1)
jnp.linspace(0, 1, 5, endpoint=False)
jnp.linspace(0, 1, 3, retstep=True)
jnp.linspace(x, p, 3)
jnp.linspace(x, 1, 3, axis=1)
jnp.logspace(0, 2, 3)
jnp.eye(3)
jnp.eye(2, 3, 1)
jnp.eye(3, k=-1, dtype=int)
jnp.identity(2, int)
jnp.tri(3)
jnp.tri(2, 4, 1)
library.jit(lambda k: jnp.eye(3, 4, k))(1)
library.vmap(lambda k: jnp.eye(3, k=k))(i - 1)
library.jit(lambda k: jnp.tri(3, 4, k))(-1)
library.vmap(lambda k: jnp.tri(3, k=k, dtype=int))(i)
jnp.tri(np.array(3), k=np.array(1))
library.jit(lambda k: jnp.trace(t, k, 1, 2))(1)
library.vmap(lambda k: jnp.trace(m > 0, k))(i)
library.jit(lambda k: jnp.linalg.trace(t, offset=k))(-1)
jnp.trace(m, np.array(1))
jnp.diag(m, np.array(1))
jnp.diagflat(x, np.array(1))
library.jit(lambda d: jnp.var(m, 0, ddof=d))(1)
library.jit(lambda d: jnp.std(m, 1, ddof=d))(1.5)
library.jit(lambda d: jnp.var(x, ddof=d))(3)
library.jit(lambda d: jnp.var(x, ddof=d))(4)
library.jit(lambda d: jnp.var(x, correction=d, where=b))(1)
library.jit(lambda d: jnp.std(h, ddof=d))(1)
library.vmap(lambda d: jnp.var(m, ddof=d))(i)
library.grad(lambda d: jnp.var(x, ddof=d))(1.0)
jnp.var(x, ddof=np.array(1))
jnp.std(x, correction=np.array(1.5))
jnp.nanvar(w[::3], ddof=np.array(1))
jnp.cov(m, ddof=np.int32(1))
jnp.resize(x, np.int32(5))
jnp.tril(m)
jnp.triu(m, 1)
jnp.tril(t, -1)
jnp.tril(x)
jnp.diag(x)
jnp.diag(x, 1)
jnp.diag(m)
jnp.diag(m, -1)
jnp.meshgrid(x, i)
jnp.meshgrid(x, i, indexing="ij")
jnp.meshgrid(x, i, sparse=True)
jnp.indices((2, 3))
jnp.fromfunction(lambda a, b: a + b, (2, 2), dtype=int)
# shapes
jnp.reshape(m, (4, 3))
jnp.reshape(m, (2, -1))
jnp.reshape(m, -1)
jnp.reshape(m, (5, -1))
jnp.reshape(m, (-1, -1))
jnp.reshape(m, (4, 3), order="F")
jnp.reshape(e, (0, -1))
m.reshape(4, 3)
m.reshape((2, 6))
m.reshape(-1)
m.ravel()
m.flatten()
m.T
t.T
t.mT
x.mT
m.transpose()
t.transpose(1, 0, 2)
t.transpose((2, 0, 1))
t.swapaxes(0, 2)
jnp.transpose(t, (1, 2, 0))
jnp.transpose(t, (0, 0, 1))
jnp.swapaxes(t, 0, -1)
jnp.moveaxis(t, 0, -1)
jnp.moveaxis(t, (0, 1), (-1, 0))
jnp.rollaxis(t, 2)
jnp.matrix_transpose(t)
jnp.squeeze(m[None])
jnp.squeeze(m[None, :, None], 0)
jnp.squeeze(m, 0)
jnp.expand_dims(m, 1)
jnp.expand_dims(m, (0, -1))
jnp.expand_dims(m, 5)
jnp.atleast_1d(f)
jnp.atleast_2d(x)
jnp.atleast_3d(m)
jnp.broadcast_to(x, (2, 3))
jnp.broadcast_to(x[:, None], (3, 2))
jnp.broadcast_to(x, (2, 2))
jnp.broadcast_to(1, (2,))
jnp.broadcast_arrays(x, m[:, :1])
jnp.concatenate([x, p])
jnp.concatenate([x, i])
jnp.concatenate([m, m], axis=1)
jnp.concatenate([m, m], axis=None)
jnp.concatenate([1, 2])
jnp.concatenate([x, m])
jnp.concatenate([])
jnp.concatenate([x, p], dtype=int)
jnp.stack([x, p])
jnp.stack([x, i], axis=1)
jnp.stack([x, x[:2]])
jnp.stack([1, 2.0])
jnp.stack(m)
jnp.vstack([x, p])
jnp.hstack([x, p])
jnp.hstack([m, m])
jnp.dstack([x, p])
jnp.column_stack([x, p])
jnp.append(x, 1.0)
jnp.append(m, m, axis=0)
jnp.split(m, 3)
jnp.split(m, [1, 3], axis=1)
jnp.split(m, 2)
jnp.array_split(m, 2)
jnp.array_split(x, 2)
jnp.vsplit(m, 3)
jnp.hsplit(m, 2)
jnp.unstack(m)
jnp.tile(x, 2)
jnp.tile(m, (2, 1, 2))
jnp.tile(f, 3)
jnp.repeat(x, 2)
jnp.repeat(m, 2, axis=1)
jnp.repeat(m, 3)
x.repeat(2)
jnp.flip(m)
jnp.flip(m, 0)
jnp.flip(m, (0, 1))
jnp.flipud(m)
jnp.fliplr(m)
jnp.rot90(m)
jnp.rot90(m, 2)
jnp.rot90(m, -1)
jnp.roll(x, 1)
jnp.roll(m, 5)
jnp.roll(m, 1, axis=0)
jnp.roll(m, (1, -1), axis=(0, 1))
jnp.roll(x, -4)
jnp.diagonal(m, 1)
jnp.diagonal(t, axis1=1, axis2=2)
jnp.diagonal(t, -1, 2, 0)
jnp.pad(x, 1)
jnp.pad(m, (1, 2))
jnp.pad(m, ((1, 0), (0, 2)), constant_values=5)
jnp.pad(x, (1, 2), constant_values=(1, 2))
jnp.pad(x, 2, mode="edge")
jnp.pad(x, (2, 1), mode="reflect")
jnp.pad(x, 2, mode="symmetric")
jnp.pad(x, (1, 4), mode="wrap")
jnp.pad(m, 1, mode="edge")
jnp.delete(x, 1)
# products
jnp.dot(m, m.T)
jnp.dot(t, x[:2])
jnp.dot(m, t.transpose(0, 2, 1))
jnp.dot(x, 2)
jnp.dot(m, m)
jnp.dot(h, x)
jnp.dot(i, i)
jnp.dot(b, b)
jnp.matmul(m, m.T)
jnp.matmul(t, t.mT)
jnp.matmul(t, m.T)
jnp.matmul(m.T, x)
jnp.matmul(x, m)
jnp.matmul(x, t)
jnp.matmul(m.T[:2], t)
jnp.matmul(m, m)
jnp.matmul(x, 2)
jnp.matmul(i, x)
jnp.vdot(m, m)
jnp.vecdot(m, m)
jnp.inner(m, m)
jnp.outer(x, p)
jnp.outer(m, i)
jnp.tensordot(t, m, 2)
jnp.tensordot(t, t, ([0, 2], [0, 2]))
jnp.tensordot(t, t, axes=((1,), (1,)))
jnp.trace(m)
jnp.trace(t, 1, 1, 2)
jnp.linalg.norm(x)
jnp.linalg.norm(m)
jnp.linalg.norm(m, axis=0)
jnp.linalg.norm(m, 1)
jnp.linalg.norm(m, jnp.inf)
jnp.linalg.norm(x, 1)
jnp.linalg.norm(x, 3)
jnp.linalg.norm(x, jnp.inf)
jnp.linalg.norm(x, -jnp.inf)
jnp.linalg.norm(i)
jnp.linalg.norm(m, axis=1, keepdims=True)
jnp.matvec(m.T, x)
jnp.vecmat(x, m)
jnp.kron(jnp.eye(2), m[:, :2])
jnp.kron(x, i)
jnp.cross(x, p)
jnp.cross(m.T, x)
jnp.cross(x[:2], p[:2])
jnp.einsum("ij,jk->ik", m, m.T)
jnp.einsum("ij,jk", m, m.T)
jnp.einsum("ij->ji", m)
jnp.einsum("ij->", m)
jnp.einsum("ii->i", m[:, :3])
jnp.einsum("ii", m[:, :3])
jnp.einsum("i,j->ij", x, p)
jnp.einsum("i,i,i->i", x, p, q)
jnp.einsum("bij,bkj->bik", t, t)
jnp.einsum("...ij,jk->...ik", t, m.T)
jnp.einsum("...i,...i", m, m)
jnp.einsum("ij,kj,lk->il", m, m, m[:, :3])
jnp.einsum("abc,cd,e->dea", t, m.T, x)
jnp.einsum(m, [0, 1], m, [2, 1], [0, 2])
jnp.einsum("ij,i->j", m, i)
jnp.einsum("ij,kl->ij", m, m)
jnp.einsum("ij,jk->ik", m, m)
jnp.einsum("ij->ik", m)
jnp.einsum("ijk->ij", m)
# along an axis
jnp.diff(x)
jnp.diff(m, axis=0)
jnp.diff(m, 2)
jnp.diff(b)
jnp.diff(x, prepend=0.0, append=x[:1])
jnp.ediff1d(m)
jnp.ediff1d(x, to_begin=jnp.array([9.0]))
jnp.trapezoid(x)
jnp.trapezoid(m, dx=0.5, axis=0)
jnp.trapezoid(m, x=p, axis=0)
jnp.gradient(x)
jnp.gradient(m)
jnp.gradient(m, 2.0, axis=1)
jnp.interp(x, p, q)
jnp.interp(p, jnp.array([0.0, 1.0, 3.0]), x)
jnp.interp(p, jnp.array([0.3, 1.0, 3.0]), x, left=-1.0, right=9.0)
jnp.cumulative_sum(x)
jnp.cumulative_sum(u)
jnp.cumulative_sum(s, include_initial=True)
jnp.cumulative_prod(s)
jnp.cumulative_sum(h)
x.sort(descending=True)
m.argsort(axis=0)
m.ptp(axis=1)
x.nonzero(size=2)
x.searchsorted(p, side="right")
m.compress(b, axis=0, size=2)
i.choose([x, p, q], mode="clip")
m.argpartition(2)
k.view("uint8")
m.view("complex64")
t.view(bool)
z.view("int16")
b.view("int8")
x.view("int4")
s.view("int32")
k.byteswap()
z.byteswap()
h.byteswap()
b.byteswap()
f.view("int32")
e.view("int8")
jnp.log2(jnp.array([0j, complex(jnp.inf, 1), 1j]))
jnp.sin(jnp.array([complex(0, jnp.inf), complex(0, -jnp.inf), 1e-9j]))
jnp.cumulative_sum(m, axis=1, include_initial=True)
jnp.cumulative_prod(x, include_initial=True)
# choice and statistics
jnp.select([x < 0, x > 0], [x, 2 * x])
jnp.select([x < 0, x > 0], [i, 2], 0.5)
jnp.piecewise(x, [x < 0, x > 0], [lambda v: -v, 7.0])
jnp.piecewise(x, [x < 0], [1.0, lambda v: v * 2])
jnp.choose(jnp.array([0, 7, -1]), [x, p], mode="clip")
jnp.apply_along_axis(jnp.sum, 0, m)
jnp.apply_along_axis(lambda v: v[:2], 1, m)
jnp.vectorize(lambda a, b: a * b + 1)(x, 2)
jnp.vectorize(lambda a, b: a if False else a + b)(m, m[0])
jnp.array_equiv(x, x[None])
jnp.array_equiv(x, m)
jnp.isin(i, jnp.array([1, 2]))
jnp.isin(m, x, invert=True)
jnp.bincount(i, length=4)
jnp.bincount(i, weights=p, length=3)
jnp.cov(m)
jnp.cov(m, rowvar=False)
jnp.cov(x)
jnp.cov(x, p)
jnp.cov(m, bias=True)
jnp.corrcoef(m * m)
jnp.corrcoef(x, p)
jnp.histogram(m, 4)
jnp.histogram(x, jnp.array([-2.0, 0.0, 3.0]))
jnp.histogram(m, 3, range=(-2, 2))
jnp.histogram(m, 4, density=True)
jnp.histogram(x, 2, weights=p)
jnp.histogram_bin_edges(m, 4)
jnp.nanprod(w)
jnp.nanvar(w)
jnp.nanstd(jnp.array([1.0, jnp.nan, 4.0]))
jnp.nanargmax(w)
jnp.nanargmin(m, axis=0)
jnp.nancumsum(jnp.array([1.0, jnp.nan, 4.0]))
jnp.nancumprod(jnp.array([2.0, jnp.nan, 4.0]))
jnp.polyval(x, 2.0)
jnp.polyval(i, p)
jnp.polyadd(x, p[:2])
jnp.polysub(x[:1], p)
jnp.polyder(x)
jnp.polyint(x)
jnp.vander(x)
jnp.vander(i, 2)
jnp.vander(x, increasing=True)
jnp.hanning(5)
jnp.hamming(4)
jnp.blackman(6)
jnp.bartlett(5)
jnp.hanning(1)
jnp.modf(x)
jnp.ldexp(x, i)
jnp.heaviside(x, 0.5)
jnp.around(x)
jnp.geomspace(1, 8, 4)
# order
jnp.sort(x)
jnp.sort(m, axis=0)
jnp.sort(w)
jnp.sort(m, axis=None)
jnp.sort(i, descending=True)
jnp.argsort(x)
jnp.argsort(m, axis=0)
jnp.argsort(jnp.array([1, 0, 1, 0]))
jnp.argsort(jnp.array([1, 0, 1, 0]), descending=True)
jnp.lexsort((x, i))
jnp.median(x)
jnp.median(m)
jnp.median(m, axis=0)
jnp.median(m, axis=1, keepdims=True)
jnp.median(i)
jnp.median(w)
jnp.quantile(x, 0.3)
jnp.quantile(m, jnp.array([0.1, 0.5, 0.9]), axis=1)
jnp.quantile(x, 0.3, method="lower")
jnp.quantile(x, 0.3, method="higher")
jnp.quantile(x, 0.3, method="nearest")
jnp.quantile(x, 0.3, method="midpoint")
jnp.percentile(m, 30, axis=0)
jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9]))
jnp.searchsorted(jnp.array([1, 3, 5]), 3, side="right")
jnp.searchsorted(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([jnp.nan, 0.0, 2.0, jnp.inf]))
jnp.searchsorted(jnp.array([1.0, jnp.nan, jnp.nan]), w, side="right")
jnp.searchsorted(jnp.array([1, 1, 2, 2, 3]), r)
jnp.searchsorted(jnp.array([1, 1, 2, 2, 3]), r, side="right", method="scan_unrolled")
jnp.searchsorted(jnp.array([1, 1, 2, 2, 3]), r, method="sort")
jnp.searchsorted(jnp.array([1.0, 1.0, jnp.nan]), w, side="right", method="sort")
jnp.searchsorted(jnp.array([1.0, 1.0, jnp.nan]), w, method="compare_all")
jnp.searchsorted(i, k, sorter=jnp.array([1, 2, 0]))
jnp.searchsorted(jnp.zeros(0), x)
jnp.searchsorted(jnp.array([-0.0, 0.0]), jnp.array([0.0, -0.0]))
jnp.searchsorted(z, z, side="right")
jnp.searchsorted(p, x, method="guess")
jnp.searchsorted(p, x, side="up")
jnp.searchsorted(m, x)
jnp.digitize(x, p[::-1])
jnp.digitize(x, p, right=True)
jnp.digitize(w, jnp.zeros(0))
jnp.ldexp(jnp.array([1e-30, 2e30, 3.0]), jnp.array([200, -200, -1]))
jnp.ldexp(h, i)
jnp.ldexp(x, p)
jnp.gradient(x, p)
jnp.gradient(m, 2.0, jnp.array([0.0, 1.0, 3.0, 7.0]))
jnp.gradient(i, 2.0)
jnp.gradient(m, p[:2], axis=0)
jnp.nonzero(m, size=14, fill_value=(7, 8))[1]
jnp.nonzero(m, size=14, fill_value=(0.5, 8))[0]
jnp.flatnonzero(x, size=4, fill_value=-2.5)
jnp.nonzero(x, size=-1)
jnp.fill_diagonal(m, p[:2], inplace=False)
jnp.fill_diagonal(jnp.zeros((2, 2, 2)), r[0], inplace=False)
jnp.fill_diagonal(r, jnp.nan, inplace=False)
jnp.full(2, -1.5, "uint8")
jnp.full(2, jnp.inf, int)
jnp.full(2, 2.0**40, int)
jnp.array([jnp.nan], int)
jnp.array([300.0], "uint8")
jnp.array(1j, float)
jnp.cov(m, fweights=jnp.array([1, 2, 1, 3]))
jnp.cov(m, aweights=jnp.array([0.5, 2.0, 1.0, 3.0]), fweights=jnp.array([1, 2, 1, 3]), ddof=2)
jnp.cov(m, fweights=jnp.array([1.0, 2.0, 1.0, 3.0]))
jnp.histogram(h, p)
jnp.histogram(99, 3, density=True)
jnp.histogram(i, 2, weights=z)
jnp.histogram_bin_edges(m, range=(1, 2, 3))
jnp.logaddexp(z, p)
jnp.logaddexp2(-0.942, x)
jnp.cumsum(x, dtype=bool)
jnp.cumprod(k - 3, dtype=bool)
jnp.inner(i, -2, preferred_element_type="float32")
jnp.dot(x, 2, preferred_element_type="int32")
jnp.einsum("i,j->ij", i, k, preferred_element_type="float32")
jnp.einsum("i->", i, preferred_element_type="float32")
jnp.einsum("i,i->", i, i.astype("uint4"), preferred_element_type="float32")
jnp.linspace(0, z, 3, dtype="uint16")
jnp.lexsort([n, n])
jnp.array_equal([1, 2], jnp.array([1, 2]))
jnp.array_equiv([1, 2], jnp.array([[1, 2]]))
jnp.isrealobj([1j, 2])
jnp.isrealobj(())
jnp.float32("1.5")
jnp.float32(range(3))
jnp.ix_(x[:0], i)
jnp.ix_(b)
jnp.imag(jnp.full(2, 1))
jnp.degrees(jnp.full(2, 1.5))
jnp.sin(True)
jnp.true_divide(True, False)
jnp.bincount(i, weights=m[0])
jnp.matvec(x, x)
jnp.concat([x], 0)
jnp.indices(3)
jnp.stack(range(3))
jnp.can_cast(3, "int8")
library.jit(lambda: 2**40)()
jnp.hypot(w, w[::-1])
jnp.hypot(jnp.array([1e30, 1e-30, 0.0, jnp.nan]), jnp.array([1e30, 1e-30, 0.0, -jnp.inf]))
jnp.max(z)
jnp.maximum(z, y)
jnp.minimum(z, jnp.conj(z))
jnp.sign(u)
jnp.cbrt(z)
jnp.broadcast_to(f, -3)
i.astype("int2") + i.astype("int2")
jnp.max(i.astype("int2"))
i.astype("int2").astype(jnp.float32)
jnp.isinf(i.astype("int2"))
i.astype("int4") + i.astype("int4")
jnp.max(i.astype("int4"))
i.astype("int4").astype(jnp.float32)
jnp.isinf(i.astype("int4"))
i.astype("uint2") + i.astype("uint2")
jnp.max(i.astype("uint2"))
i.astype("uint2").astype(jnp.float32)
jnp.isinf(i.astype("uint2"))
i.astype("uint4") + i.astype("uint4")
jnp.max(i.astype("uint4"))
i.astype("uint4").astype(jnp.float32)
jnp.isinf(i.astype("uint4"))
i.astype("float4_e2m1fn") + i.astype("float4_e2m1fn")
jnp.max(i.astype("float4_e2m1fn"))
i.astype("float4_e2m1fn").astype(jnp.float32)
jnp.isinf(i.astype("float4_e2m1fn"))
i.astype("float8_e3m4") + i.astype("float8_e3m4")
jnp.max(i.astype("float8_e3m4"))
jnp.concatenate([i.astype("float8_e3m4"), i.astype("float8_e3m4")])
i.astype("float8_e3m4").astype(jnp.float32)
jnp.isinf(i.astype("float8_e3m4"))
i.astype("float8_e4m3b11fnuz") + i.astype("float8_e4m3b11fnuz")
jnp.max(i.astype("float8_e4m3b11fnuz"))
jnp.concatenate([i.astype("float8_e4m3b11fnuz"), i.astype("float8_e4m3b11fnuz")])
i.astype("float8_e4m3b11fnuz").astype(jnp.float32)
jnp.isinf(i.astype("float8_e4m3b11fnuz"))
i.astype("float8_e8m0fnu") + i.astype("float8_e8m0fnu")
jnp.max(i.astype("float8_e8m0fnu"))
jnp.concatenate([i.astype("float8_e8m0fnu"), i.astype("float8_e8m0fnu")])
i.astype("float8_e8m0fnu").astype(jnp.float32)
jnp.isinf(i.astype("float8_e8m0fnu"))
(x * 9).astype("int4")
(w * 9).astype("uint4")
(x * 9).astype("float16").astype("int2")
jnp.stack([x, x * 9]).astype("int4")
jnp.sort(k.astype("int4"))
jnp.exp(i.astype("int4"))
i.astype("int4") * 3
i.astype("int4") < 1
i.astype("int4") * 1.5
i.astype("int4") + i
jnp.promote_types("int4", "bool")
jnp.promote_types("float4_e2m1fn", "int8")
jnp.promote_types("uint2", "uint4")
jnp.issubdtype("int4", jnp.signedinteger)
jnp.cumsum(i.astype("int4"))
jnp.where(b, i.astype("uint4"), 1)
library.lax.clz(i.astype("int4"))
library.lax.population_count(k.astype("int4"))
library.lax.shift_right_logical(k.astype("int4"), i.astype("int4"))
jnp.argmin(k.astype("int4"))
jnp.dot(i.astype("uint4"), i.astype("uint4"))
jnp.digitize(x, jnp.array([-1.0, 0.0, 1.0]))
# taking and indexing
x[0]
x[-1]
x[10]
x[-10]
x[n]
x[jnp.int32(10)]
x[True]
x[1.0]
x[0, 0]
x[[0, 1]]
x[1:]
x[:-1]
x[::2]
x[::-1]
x[2:0:-1]
x[5:]
x[3:1]
x[None]
x[..., None]
x[...]
x[()]
m[1]
m[1, 2]
m[-1, -1]
m[:, 0]
m[0, :]
m[1:, ::2]
m[::-1, ::-1]
m[..., 1]
m[None, 1, None, 1:3]
m[1:2, 3]
m[3]
t[0, ..., 1]
t[:, 1]
t[:, :, -1]
t[1, :, ::-2]
t[..., ..., 0]
x[i]
x[r]
x[jnp.array([10, -1, -10])]
m[i]
m[:, i]
m[i, i]
m[i, 0]
m[0, i]
m[i, 1:3]
m[1:, i]
m[i[:, None], r[0]]
m[n]
m[:, n]
m[n, 1]
m[n, n]
m[n, 1:3]
m[i, None]
t[i[:2] % 2, :, i[:2]]
t[0, i]
t[0, :, i]
t[:, i, 1]
t[:, i, i]
t[..., i]
t[n, :, i]
t[r % 2]
t[1:, r[0], ::-1]
u[i]
b[i]
e[:, 0]
e[0]
jnp.take(x, i)
jnp.take(x, jnp.array([10, -1, -10]))
jnp.take(i, jnp.array([10, -1]))
jnp.take(x, 1)
jnp.take(m, i, axis=0)
jnp.take(m, r, axis=1)
jnp.take(m, 5)
jnp.take(m, jnp.array([5, -5]), axis=1, mode="clip")
jnp.take(m, jnp.array([5, -5]), axis=1, mode="wrap")
jnp.take(m, jnp.array([5, 0]), axis=1, fill_value=7)
x.take(i)
jnp.take_along_axis(m, i[:, None], 1)
jnp.take_along_axis(m, r, 1)
jnp.take_along_axis(m, i[None, :1], 0)
jnp.take_along_axis(x, i, 0)
jnp.take_along_axis(m, jnp.array([[5], [-1], [-9]]), 1)
jnp.take_along_axis(x, r, 0)
jnp.take_along_axis(t, jnp.array([[[1], [0], [3]]]), 2)
jnp.unravel_index(7, (3, 4))
jnp.ix_(i, i)
m[jnp.ix_(i[:2], i)]
jnp.tril_indices(3)
jnp.triu_indices(2, 1)
# updates
x.at[0].set(1.0)
x.at[-1].set(1)
x.at[10].set(1.0)
x.at[-10].set(1.0)
x.at[n].set(1.0)
x.at[1:].set(9)
x.at[::2].set(jnp.array([7.0, 8.0]))
x.at[::-1].set(x)
x.at[...].set(0)
x.at[:].add(1)
x.at[0].add(1.5)
x[jnp.array([True, False])]
m[:, jnp.array([True, False, True])]
m[..., jnp.array([True, False, True, False])]
m.at[jnp.array([True])].add(1)
m[(), True]
m[True, [0, 1]]
x.at[u[2:] - 6].get(mode="fill")
jnp.take(x, u)
jnp.round(jnp.array([jnp.nan + 3j, 1.25 - 2.5j]), 1)
jnp.linalg.norm(e, jnp.inf)
jnp.linalg.norm(e.T, 1)
jnp.linalg.norm(e[:, 0], jnp.inf)
jnp.linalg.vector_norm(m, axis=(0, 1), ord=-1)
jnp.linalg.vector_norm(t, axis=(0, 2), ord=1, keepdims=True)
k.at[0].add(1.5)
k.at[i].mul(1.5)
k.at[i].min(0.5)
h.at[0].mul(f)
b.at[1].min(-1)
b.at[0].subtract(1)
b.at[0].subtract(True)
e.at[0].set(1)
e.at[:, 0].add(1)
e[jnp.array([], int)]
x[[0, 2],]
m[[0, 2], (1, 3)]
m[[True, False, True], 0]
m[(), 0]
x[[0.5],]
m.at[[0, 2], [1, 3]].add(5)
x.astype(int, copy=jnp.ones(2))
jnp.take(m, i, (0,), mode="raise")
jnp.linalg.vector_norm(i, axis=-1)
jnp.linalg.norm(x, 2j)
library.ops.segment_sum(x, i, num_segments=np.array(3))
library.ops.segment_sum(x, i, num_segments=-1)
library.ops.segment_sum(x, i, num_segments=3.0)
x.at[i].add(1)
x.at[i].set(p)
x.at[jnp.array([0, 0])].add(1)
x.at[jnp.array([0, 10])].add(1)
x.at[0].multiply(3)
x.at[i].multiply(p)
x.at[0].divide(2)
x.at[0].subtract(2)
x.at[0].power(2)
x.at[0].min(-5)
x.at[0].max(5)
x.at[i].max(0.5)
x.at[0].apply(jnp.sin)
x.at[10].get()
x.at[10].get(mode="fill")
x.at[i].get()
x.at[1].get(mode="fill", fill_value=3)
x.at[10].set(7.0, mode="clip")
x.at[-10].add(7.0, mode="clip")
x.at[jnp.array([1, 10])].set(7.0, mode="clip")
x.at[jnp.array([1, 10])].add(7.0, mode="drop")
x.at[0].set(1.0, mode="sideways")
m.at[1].set(x[0])
m.at[1, 2].set(9)
m.at[1].set(jnp.arange(4))
m.at[:, 0].set(x)
m.at[1:, ::2].set(0)
m.at[::2, ::-1].add(jnp.arange(4))
m.at[i].set(1)
m.at[i, i].set(x)
m.at[:, i].add(x)
m.at[i, 1:3].set(0)
m.at[0, i].set(x)
m.at[n, 1:].multiply(2)
m.at[None, 1].set(3)
t.at[:, i, 1].set(0)
t.at[0, :, i].add(1)
t.at[..., 0].set(m[:, 0])
i.at[0].set(5)
x.at[0].set(x)
m.at[0].set(x)
# integers divided by zero, truth values, masks
k % 0
jnp.fmod(k, 0)
divmod(k, 0)
jnp.remainder(u, jnp.uint8(0))
divmod(b, False)
jnp.left_shift(b, b)
jnp.right_shift(b, b)
jnp.sum(m > 0, 1, dtype=bool, initial=0.5)
jnp.prod(m, 1, dtype=bool)
jnp.sum(x, where=i)
jnp.mean(x, where=1.5)
jnp.max(x, where=b)
# reductions: strong, with initial values, of complex and of too few elements
jnp.sum(1.5)
jnp.prod(-3)
jnp.max(2.5)
jnp.cumsum(jnp.full((3,), 1.0))
jnp.min(s, initial=0.001)
jnp.max(i, initial=7.5)
jnp.max(x, initial=p)
jnp.nanstd(jnp.array([1.0, jnp.nan]), ddof=2)
jnp.nanvar(c)
jnp.var(z, where=b)
jnp.mean(jnp.array([2147483646, 1, 0, 2147483646, 0, -2147483648]), dtype=int)
jnp.nanvar(p, dtype=int)
jnp.std(x, dtype=int)
jnp.var(x, ddof=1, correction=1)
jnp.nanmax(jnp.array([jnp.nan, jnp.nan]))
jnp.nanmin(jnp.array([[jnp.nan, jnp.nan], [1.0, jnp.nan]]), 1, keepdims=True)
jnp.nansum(w[:2], where=b[:2])
jnp.cumulative_sum(m)
jnp.cumulative_prod(f)
# axes, sizes and places
jnp.sum(m, axis=[0])
jnp.sum(m, axis=1.5)
jnp.argmax(x, axis=(0,))
jnp.cumsum(f, axis="a")
jnp.argsort(m, axis=(0, 1))
jnp.roll(x, (1, 2), 0)
library.jit(lambda s: jnp.roll(m, s, (0, 1)))(jnp.array([1, -2]))
library.jit(lambda s: jnp.roll(m, s))(n)
jnp.select(jnp.stack([x < 0, x > 0]), jnp.stack([x, 2 * x]), 9)
jnp.polyint(m, 0)
jnp.polyder(f, 0)
jnp.trapezoid(b)
jnp.trapezoid(m, x=(m * m).T[:3, :3], axis=0)
jnp.setxor1d(i, k, size=7, fill_value=0.5)
jnp.setxor1d(w, x, size=8)
jnp.unique(jnp.full((2,), 1), size=3, fill_value=2)
jnp.nanargmax(jnp.array([16777216, 16777217, 3]))
jnp.argmin(jnp.zeros((2, 0, 3)), 0)
jnp.nanargmin(jnp.zeros((2, 0, 3)), -3, keepdims=True)
jnp.argmin(jnp.zeros((2, 0, 3)), 1)
jnp.nanmedian(jnp.full((1, 3), -0.0), keepdims=True)
jnp.ravel_multi_index((i, k), (3, 4), mode="ignore", dtype="int8")
jnp.sum(s, promote_integers=False)
jnp.sum(b, promote_integers=False)
jnp.prod(u, promote_integers=False)
jnp.resize(jnp.full((0,), 1), (0,))
jnp.signbit(jnp.real(jnp.round(-z / 9, -2)))
jnp.searchsorted(x[:2], p, sorter=i)
jnp.tri(None)
jnp.linspace(0, 1, 2.5)
jnp.indices((), "uint32")
jnp.zeros(3, dtype=-3)
jnp.concatenate(2.0)
jnp.unravel_index(jnp.array([0, 5, 7, -1, -7]), (2, 3))
jnp.unravel_index(jnp.array([0, 1]), (0,))
jnp.ravel_multi_index((i, jnp.array([1, -1, 7])), (3, 4), mode="wrap")
jnp.ravel_multi_index((i, jnp.array([1, -1, 7])), (3, 4), mode="clip", order="F")
jnp.take(e, jnp.zeros((0,), int), 0)
jnp.take(e, i, 0)
jnp.take(x, i, mode="drop")
jnp.take_along_axis(e, jnp.zeros((0, 3), int), 0)
jnp.nonzero(r, size=3, fill_value=-1)
jnp.argwhere(m > 0, size=3)
jnp.insert(x, jnp.array([0, 2, 0]), p)
jnp.insert(x, 0, p[:2])
jnp.insert(m, 1, 9, axis=1)
jnp.insert(x, slice(0, 2), 5)
jnp.bincount(x, length=3)
# other functions
jnp.geomspace(-1, -8, 3)
jnp.geomspace(p, 3, 3, axis=1)
jnp.angle(u)
jnp.log2(0)
jnp.deg2rad(True)
jnp.ones_like(3)
jnp.full_like(2.5, 1)
jnp.heaviside(0.5, i)
jnp.interp(x, p, q[:2])
jnp.copysign(z, z)
jnp.arctan2(z, y)
jnp.trunc(x=x)
jnp.fmax(x1=w, x2=1)
jnp.polyval(x[:0], x)
jnp.polyint(x[:0])
jnp.vander(i[:0])
jnp.apply_along_axis(lambda v: (v[:2], v.sum()), 0, m)
jnp.piecewise(x, [[True, False, False], [False, True, False]], [1, 2, 3])
jnp.isdtype(int, "text")
jnp.linalg.diagonal(t)
jnp.linalg.trace(t)
jnp.linalg.vector_norm(i, ord=jnp.inf)
jnp.linalg.vector_norm(jnp.full((3,), 1))
jnp.linalg.matrix_power(m[:, :3], 0)
library.ops.segment_sum(x, jnp.array([1, -1, 3]), num_segments=4)
library.nn.elu(i)
library.nn.elu(z)
library.nn.elu(2.5)
library.nn.selu(b)
library.nn.relu6(b)
library.nn.leaky_relu(u, -1)
library.nn.leaky_relu(i)
library.nn.soft_sign(z)
library.nn.softmax(jnp.full((3,), 1.0))
library.nn.logsumexp(z)
library.nn.logsumexp(z, return_sign=True)
library.nn.standardize(jnp.array([0.0, 1.0, 1.0]), mean=-1.0)
library.nn.one_hot([0, 1], 2)
# dtypes and questions
x.astype(int)
k.astype(jnp.uint8)
x.astype(bool)
x.astype(jnp.float16)
jnp.astype(x, int)
jnp.result_type(i, 2.5)
jnp.result_type(u, s)
jnp.result_type("int8", 1)
jnp.result_type(1, 2.0)
jnp.promote_types("int8", "uint8")
jnp.promote_types("float16", "bfloat16")
jnp.promote_types("uint64", "int8")
jnp.can_cast("int8", "int32")
jnp.can_cast("float32", "int32")
jnp.issubdtype(jnp.float32, jnp.floating)
jnp.issubdtype(jnp.bfloat16, jnp.inexact)
jnp.issubdtype("int32", jnp.integer)
jnp.issubdtype(jnp.int32, jnp.floating)
jnp.issubdtype(x.dtype, jnp.float32)
jnp.isdtype(x.dtype, "real floating")
jnp.isdtype(i.dtype, ("bool", "integral"))
x.dtype == jnp.float32
jnp.float32 == x.dtype
x.dtype == jnp.int32
jnp.dtype(jnp.int8)
jnp.iinfo(jnp.int8).max
jnp.finfo(jnp.float32).eps
jnp.finfo(jnp.bfloat16).max
jnp.shape(m)
jnp.ndim(m)
jnp.size(m)
jnp.size(m, 1)
jnp.isscalar(1)
jnp.isscalar(x)
jnp.isscalar("a")
x.nbytes
x.itemsize
len(m)
m.shape
x.real
x.imag
x.conj()
jnp.iscomplexobj(x)
jnp.pi
jnp.inf
jnp.newaxis
x == None
# what the differential judge found: dtypes, weakness, shapes
jnp.var(i, dtype="complex64")
jnp.var(i, dtype="int32", ddof=1)
jnp.nanvar(i, dtype="int32", ddof=1.5)
jnp.var(m, axis=1, mean=jnp.ones((3, 1)))
jnp.nanstd(w, mean=2.0)
jnp.nanmean(m[:1], 0, where=jnp.array([[True], [False]]))
jnp.where(x, size=4, fill_value=1.5)
jnp.nonzero(m, size=3, fill_value=(-1, 7))
jnp.nonzero(f)
jnp.where(b, x, p, size=2)
jnp.size(t, (0, 2))
jnp.radians(jnp.full((2,), 1.5))
jnp.take(jnp.full((3,), 2.5), i)
jnp.tril(jnp.full((2, 2), 1.0))
jnp.rint(True)
jnp.round(jnp.full((2,), 1.5), 1)
jnp.round(x, 400)
jnp.repeat(x, 2, total_repeat_length=5)
jnp.repeat(f, 2, axis=-1)
jnp.repeat(2.5, 3, axis=0)
jnp.repeat(n, 2, -1, total_repeat_length=3)
jnp.polyder(x, 9)
jnp.polyint(x, 2, 3)
jnp.cumprod(i, dtype=bool)
jnp.nancumsum(w, dtype=bool)
jnp.quantile(x, 0.5, method="inverted_cdf")
jnp.quantile(m, jnp.array([0.1, 0.6]), 1, weights=jnp.array([1.0, 2, 3, 4]), method="inverted_cdf")
jnp.quantile(jnp.full((3,), 1.5), 0.25, method="lower")
jnp.quantile(z, 0.5)
jnp.unique(i, size=5)
jnp.unique(r, True, True, True, axis=0, size=3, fill_value=7)
jnp.unique(w, True, True, True, equal_nan=False, size=4)
jnp.union1d(i, k, size=7)
jnp.setdiff1d(i, k, size=3, fill_value=9)
jnp.setdiff1d(i, k, size=7)
jnp.setxor1d(i, k, size=5)
jnp.tensordot(i, i, 1, preferred_element_type="int8")
jnp.vdot(jnp.full((3,), 2.5), jnp.full((3,), 2.5), preferred_element_type="float32")
jnp.logaddexp(z, y)
jnp.pad(i, (2, 3), "linear_ramp", end_values=(5, -4))
jnp.pad(m, (1, 2), "linear_ramp")
jnp.pad(i, (2, 3), "mean", stat_length=2)
jnp.pad(m, (1, 2), "median")
jnp.pad(x, 2, "maximum")
jnp.pad(k, (2, 8), "symmetric", reflect_type="odd")
jnp.pad(k, (2, 8), "reflect", reflect_type="odd")
jnp.pad(x, 1, lambda v, width, axis, kwargs: v.at[:1].set(7))
jnp.pad(x, -1)
jnp.negative(2**31)
jnp.ravel(2**62)
"""

#: Need values that are not known inside jit.
EAGER = """
jnp.where(x > 0)
jnp.nonzero(m > 0)
x.nonzero()
m.compress(b, axis=0)
i.choose([x, p, q])
jnp.flatnonzero(b)
jnp.argwhere(b)
jnp.argwhere(f)
jnp.argwhere(n - 1)
jnp.argwhere(f, size=3)
jnp.choose(jnp.array([0, 1, 0]), [x, p])
jnp.choose(jnp.array([0, 7, -1]), [x, p])
jnp.choose(b, [x, p])
jnp.argwhere(x, size=4, fill_value=0.5)
jnp.flatnonzero(jnp.array([1e-45, 1.0]))
jnp.blackman(n)
jnp.array_str(x, precision=1)
x[b]
m[b]
m[:, jnp.array([True, False, True, True])]
m[m > 0]
x.at[b].set(0.0)
jnp.repeat(x, jnp.array([1, 2, 0]))
list(x)
list(m)[1]
int(n)
float(f)
bool(b[0])
f"{f:.2f}"
x.tolist()
jnp.arange(n)
[*m][0]
x.copy()
jnp.copy(m)
jnp.mgrid[0:3]
jnp.mgrid[0:2, 0:1:0.5]
jnp.ogrid[0:2, 0:3]
jnp.r_[1, 2, 3:5]
jnp.c_[x, p]
jnp.s_[1:2]
jnp.array_str(x)
jnp.iscomplex(x)
jnp.isreal(x)
jnp.diagflat(x)
jnp.dsplit(t, 2)
jnp.resize(x, (2, 2))
jnp.fill_diagonal(m, 0, inplace=False)
jnp.insert(x, 1, 9.0)
jnp.trim_zeros(jnp.array([0, 1, 2, 0]))
jnp.mask_indices(3, jnp.triu)
jnp.iterable(x)
jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0]))
jnp.nanmedian(jnp.array([[3.0, jnp.nan, 1.0, 7.0], [jnp.nan, 5.0, jnp.nan, 2.0]]), axis=1)
jnp.union1d(i, k)
jnp.intersect1d(i, jnp.array([1, 2]))
jnp.setdiff1d(i, jnp.array([1]))
jnp.setxor1d(i, jnp.array([1, 5]))
jnp.bincount(i)
jnp.unique(jnp.array([3, 1, 3, 2]))
jnp.unique(jnp.array([3, 1, 3, 2]), return_counts=True)
jnp.ravel_multi_index((n, n), (3, 4))
jnp.ravel_multi_index((i, k), (3, 4))
jnp.unique(jnp.array([jnp.nan, 1, jnp.nan], jnp.bfloat16)).astype(float)
jnp.union1d(x.astype(jnp.bfloat16), i).astype(float)
library.ops.segment_sum(x, jnp.array([1, -1, 3]))
"""

#: Further rows, a file for each family of functions.
_FOLDER = Path(__file__).with_name("rows")


def _more_rows(name: str) -> list[str]:
    tables = [runpy.run_path(str(file)) for file in sorted(_FOLDER.glob("*.py"))]
    return [row for table in tables for row in table.get(name, "").splitlines() if row]


ROWS = [*_table(), *_more_rows("ROWS")]
EAGER_ROWS = [*(row for row in EAGER.splitlines() if row.strip()), *_more_rows("EAGER_ROWS")]


def _plain(value: Any) -> Any:
    """A result as NumPy arrays with their dtype and weakness, which can be pickled and compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "weak_type"):
        return np.asarray(value), bool(value.weak_type)
    if value is None or isinstance(value, (bool, int, float, str, np.dtype)):
        return value
    return np.asarray(value)


def _builtin(error: Exception) -> str:
    return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def is_error(result: Any) -> bool:
    """Whether a row raised."""
    return isinstance(result, tuple) and len(result) == 3


def evaluate(library: Any, row: str, *, jit: bool) -> Any:
    """What a row gives, or ("error", the builtin class of the error, its text)."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}
    kept: list[Any] = []

    def function(given: dict[str, Any]) -> Any:
        value = eval(row, {"jnp": jnp, "library": library}, dict(given))
        if hasattr(value, "weak_type") or (
            isinstance(value, (list, tuple)) and value and hasattr(value[0], "weak_type")
        ):
            return value
        kept.append(value)
        return ()

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = library.jit(function)(arrays) if jit else function(arrays)
            return _plain(kept[0] if kept else value)
    except Exception as error:
        return "error", _builtin(error), f"{type(error).__name__}: {error}"


def together(library: Any, rows: list[str]) -> list[Any]:
    """What rows that raise nothing give when one program computes them all."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> list[Any]:
        return [eval(row, {"jnp": jnp, "library": library}, dict(given)) for row in rows]

    return [_plain(value) for value in library.jit(function)(arrays)]


def every(library: Any) -> dict[str, Any]:
    """What all rows give, by themselves."""
    return {row: evaluate(library, row, jit=False) for row in [*ROWS, *EAGER_ROWS]}
