"""Expressions of linear algebra and Fourier transforms that xlascope.numpy and jax.numpy have to agree on.

This file imports neither library: `every(library)` is given one. Factorizations are unique only up to signs, so both
call LAPACK the same way.
"""

# ruff: noqa: E501 (an expression is one line)

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

#: What the names in the expressions stand for.
VALUES = {
    "x": np.array([-1.5, 0.0, 2.5], np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "i": np.array([2, 0, 1], np.int32),
    "k": np.array([-7, 7, 3], np.int32),
    "b": np.array([True, False, True]),
    "h": np.array([1.5, -2.0, 0.5], np.float16),
    "e": np.zeros((0, 3), np.float32),
    "z": np.array([1 + 2j, -0.5j, -3 + 1j], np.complex64),
    "a": (np.arange(12).reshape(3, 4) + 1j * np.arange(12)[::-1].reshape(3, 4)).astype(np.complex64),
    "f": np.float32(2.5),
    # square: of full rank, complex, symmetric and positive definite, a stack, singular, with NaN
    "s": np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [-0.2, 0.4, 1.8]], np.float32),
    "c": np.array([[2 + 1j, -1, 0.5j], [0.3, 1.5 - 1j, -0.7], [-0.2j, 0.4, 1.8]], np.complex64),
    "p": np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 1.2]], np.float32),
    "v": np.array([[2.0, 0.4j, 0.1], [-0.4j, 1.5, -0.3], [0.1, -0.3, 1.2]], np.complex64),
    "g": np.array([[[2.0, 0.5], [0.3, 1.0]], [[1.0, -2.0], [0.4, 3.0]]], np.float32),
    "w": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], np.float32),
    "n": np.array([[1.0, np.nan], [0.5, 2.0]], np.float32),
    "r": np.array([[1.0, 0.5, -0.3, 2.0], [0.2, -1.0, 0.8, 0.1], [0.6, 0.3, 1.1, -0.4]], np.float32),
}

FOURIER = """
jnp.fft.fft(x)
jnp.fft.fft(i)
jnp.fft.fft(h)
jnp.fft.fft(b, norm="ortho")
jnp.fft.fft(2.0)
jnp.fft.fft([1, 2])
jnp.fft.fft(m, 6, 0, "forward")
jnp.fft.fft(m, axis=(0, 1))
jnp.fft.fft(m, axis=2)
jnp.fft.fft(m, axis=0.0)
jnp.fft.fft(m, n=0)
jnp.fft.fft(m, n=2.0)
jnp.fft.fft(m, norm="none")
jnp.fft.fft(e)
jnp.fft.fft(e.T)
jnp.fft.ifft(a, 5, 0, "ortho")
jnp.fft.rfft(m, 5, 0, "forward")
jnp.fft.rfft(z)
jnp.fft.irfft(a)
jnp.fft.irfft(a, 5, 0, "ortho")
jnp.fft.irfft(x, 1)
jnp.fft.irfft(x[:1])
jnp.fft.hfft(z)
jnp.fft.hfft(x, 5, norm="ortho")
jnp.fft.hfft(m, axis=(0,))
jnp.fft.ihfft(x, 5, norm="forward")
jnp.fft.ihfft(m, axis=0, norm="ortho")
jnp.fft.ihfft(z)
jnp.fft.fft2(t)
jnp.fft.fft2(x)
jnp.fft.fft2(t, (5, 2), (0, 1), "ortho")
jnp.fft.fft2(t, axes=(0,))
jnp.fft.fft2(t, axes=None)
jnp.fft.fft2(t, s=(1, 2, 3))
jnp.fft.ifft2(a)
jnp.fft.rfft2(t, (5, 6), (1, 0))
jnp.fft.irfft2(a, (5, 6), (1, 0), "forward")
jnp.fft.fftn(t)
jnp.fft.fftn(t, (2, 3))
jnp.fft.fftn(t, axes=(0, 2, 1), norm="forward")
jnp.fft.fftn(t, axes=(0, 0))
jnp.fft.fftn(t, axes=())
jnp.fft.fftn(t, axes=0)
jnp.fft.fftn(t, (2, -1), (0, 1))
jnp.fft.fftn(t, s=2)
jnp.fft.fftn(2.0)
jnp.fft.fftn(jnp.arange(2.0 * 3 * 2 * 3 * 2).reshape(2, 3, 2, 3, 2))
jnp.fft.ifftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3), (3, 2, 4, 2))
jnp.fft.rfftn(t)
jnp.fft.rfftn(t, axes=())
jnp.fft.rfftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3))
jnp.fft.irfftn(t)
jnp.fft.irfftn(jnp.arange(2.0 * 3 * 2 * 3).reshape(2, 3, 2, 3), norm="ortho")
jnp.fft.fftfreq(5)
jnp.fft.fftfreq(4, 0.25)
jnp.fft.fftfreq(4, f)
jnp.fft.fftfreq(4, 2, dtype=jnp.float16)
jnp.fft.fftfreq(4, 0.5, dtype=jnp.int32)
jnp.fft.fftfreq(3, dtype=jnp.complex64)
jnp.fft.fftfreq(0)
jnp.fft.fftfreq(5, 1j)
jnp.fft.fftfreq(5, x)
jnp.fft.rfftfreq(5)
jnp.fft.rfftfreq(4, 0.25)
jnp.fft.rfftfreq(4, 2, dtype=jnp.int32)
jnp.fft.fftshift(m)
jnp.fft.fftshift(t, (0, -1))
jnp.fft.fftshift(t, [0, 0])
jnp.fft.fftshift(2.0)
jnp.fft.fftshift(m, ())
jnp.fft.fftshift([1, 2])
jnp.fft.ifftshift(b)
jnp.fft.ifftshift(t, (0, 1))
jnp.fft.ifftshift(e)
lax.fft(x, "fft", (3,))
lax.fft(i, "RFFT", (3,))
lax.fft(a, lax.FftType.IRFFT, (3, 6))
lax.fft(x, 0, (3,))
lax.fft(x, "none", (3,))
lax.fft(z, "rfft", (3,))
lax.fft(h, "rfft", (3,))
lax.fft(h, "fft", (3,))
lax.fft(x, "fft", ())
lax.fft(f, "fft", (1,))
"""

LINEAR = """
jnp.linalg.inv(s)
jnp.linalg.inv(g)
jnp.linalg.inv(c)
jnp.linalg.inv(n)
jnp.linalg.inv(m)
jnp.linalg.inv(x)
jnp.linalg.inv(i)
jnp.linalg.inv(jnp.array([[2, 1], [0, 1]]))
jnp.linalg.inv(jnp.zeros((2, 2)))
jnp.linalg.inv(jnp.zeros((0, 0)))
jnp.linalg.inv([[1.0]])
jnp.linalg.inv(s.astype(jnp.float16))
jnp.linalg.solve(s, x)
jnp.linalg.solve(s, m)
jnp.linalg.solve(c, x)
jnp.linalg.solve(s, z)
jnp.linalg.solve(s, i)
jnp.linalg.solve(g, x[:2])
jnp.linalg.solve(g, m[:2])
jnp.linalg.solve(g, g[:, 0])
jnp.linalg.solve(s, t)
jnp.linalg.solve(g, g[:1])
jnp.linalg.solve(s, x[:2])
jnp.linalg.solve(s, f)
jnp.linalg.solve(m, x)
jnp.linalg.solve(e.T @ e, x)
jnp.linalg.solve(e @ e.T, e)
jnp.linalg.det(s)
jnp.linalg.det(g)
jnp.linalg.det(c)
jnp.linalg.det(k)
jnp.linalg.det(m.T @ m)
jnp.linalg.det(jnp.eye(4)[::-1] * 2 + jnp.ones((4, 4)))
jnp.linalg.det(jnp.zeros((0, 0)))
jnp.linalg.det(jnp.array([[2]]))
jnp.linalg.det(jnp.full((4, 4), jnp.nan))
jnp.linalg.det(m)
jnp.linalg.slogdet(s)
jnp.linalg.slogdet(c)
jnp.linalg.slogdet(g)
jnp.linalg.slogdet(jnp.zeros((3, 3)))
jnp.linalg.slogdet(jnp.zeros((2, 0, 0)))
jnp.linalg.slogdet(s, method="qr")
jnp.linalg.slogdet(c, method="qr")
jnp.linalg.slogdet(s, method="none")
jnp.linalg.slogdet(m)
jnp.linalg.cholesky(p)
jnp.linalg.cholesky(v)
jnp.linalg.cholesky(v, upper=True)
jnp.linalg.cholesky(s, symmetrize_input=False)
jnp.linalg.cholesky(v + 1j * s, upper=True, symmetrize_input=False)
jnp.linalg.cholesky(-p)
jnp.linalg.cholesky(n)
jnp.linalg.cholesky(g)
jnp.linalg.cholesky(m)
jnp.linalg.cholesky(jnp.zeros((0, 0)))
jnp.linalg.cholesky(jnp.array([[2, 1], [1, 2]]))
jnp.linalg.qr(r)
jnp.linalg.qr(r.T)
jnp.linalg.qr(r.T, "complete")
jnp.linalg.qr(r, "r")
jnp.linalg.qr(r.T, mode="raw")
jnp.linalg.qr(c)
jnp.linalg.qr(t)
jnp.linalg.qr(e)
jnp.linalg.qr(e.T, "complete")
jnp.linalg.qr(x)
jnp.linalg.qr(s, "none")
jnp.linalg.svd(r)
jnp.linalg.svd(r.T, full_matrices=False)
jnp.linalg.svd(c)
jnp.linalg.svd(r, compute_uv=False)
jnp.linalg.svd(p, hermitian=True)
jnp.linalg.svd(-v, hermitian=True)
jnp.linalg.svd(v, hermitian=True, compute_uv=False)
jnp.linalg.svd(n, compute_uv=False)
jnp.linalg.svd(e)
jnp.linalg.svd(e.T, full_matrices=False)
jnp.linalg.svd(x)
jnp.linalg.svd(s, subset_by_index=(0, 2))
jnp.linalg.svd(s, full_matrices=False, subset_by_index=(0, 2))
jnp.linalg.svdvals(g)
jnp.linalg.eigh(p)
jnp.linalg.eigh(v)
jnp.linalg.eigh(s, "U", False)
jnp.linalg.eigh(g, "L", symmetrize_input=False)
jnp.linalg.eigh(n)
jnp.linalg.eigh(m)
jnp.linalg.eigh(p, "X")
jnp.linalg.eigh(jnp.zeros((0, 0)))
jnp.linalg.eigvalsh(v)
jnp.linalg.eigvalsh(s, "U")
jnp.linalg.eig(s)
jnp.linalg.eig(c)
jnp.linalg.eig(n)
jnp.linalg.eig(m)
jnp.linalg.eigvals(g)
jnp.linalg.eigvals(jnp.array([[0, 1], [-1, 0]]))
jnp.linalg.pinv(r)
jnp.linalg.pinv(r.T)
jnp.linalg.pinv(c)
jnp.linalg.pinv(w)
jnp.linalg.pinv(g, 0.5)
jnp.linalg.pinv(g, jnp.array([0.5, 0.01]))
jnp.linalg.pinv(s, rcond=0.1)
jnp.linalg.pinv(s, 0.1, rcond=0.1)
jnp.linalg.pinv(p, hermitian=True)
jnp.linalg.pinv(e)
jnp.linalg.pinv(x)
jnp.linalg.lstsq(r.T, jnp.arange(4.0))
jnp.linalg.lstsq(r, s)
jnp.linalg.lstsq(r.T, jnp.ones((4, 2)), numpy_resid=True)
jnp.linalg.lstsq(r, s, 0.5)
jnp.linalg.lstsq(c, x, -1.0)
jnp.linalg.lstsq(g, x)
jnp.linalg.lstsq(s, x[:2])
jnp.linalg.matrix_rank(s)
jnp.linalg.matrix_rank(w)
jnp.linalg.matrix_rank(g, 0.9)
jnp.linalg.matrix_rank(g, tol=2.0)
jnp.linalg.matrix_rank(v, hermitian=True)
jnp.linalg.matrix_rank(x)
jnp.linalg.matrix_rank(g, 0.9, tol=0.9)
jnp.linalg.matrix_rank(i)
jnp.linalg.cond(s)
jnp.linalg.cond(r)
jnp.linalg.cond(g, 1)
jnp.linalg.cond(c, "fro")
jnp.linalg.cond(s, -2)
jnp.linalg.cond(s, jnp.inf)
jnp.linalg.cond(s, "nuc")
jnp.linalg.cond(r, 1)
jnp.linalg.cond(x)
jnp.linalg.cond(jnp.zeros((2, 2)), 1)
jnp.linalg.cond(e)
jnp.linalg.cross(x, k)
jnp.linalg.cross(s, c)
jnp.linalg.cross(s, p, axis=0)
jnp.linalg.cross(x[:2], x[:2])
jnp.linalg.multi_dot([s, m, m.T])
jnp.linalg.multi_dot([x, s, p, x])
jnp.linalg.multi_dot([x, m])
jnp.linalg.multi_dot([x])
jnp.linalg.multi_dot([s, m, s])
jnp.linalg.multi_dot([s, x, s])
jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6) * 2, 2)
jnp.linalg.tensorinv(s, 1)
jnp.linalg.tensorinv(s, 0)
jnp.linalg.tensorinv(t, 2)
jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6) * 2, m[:2, :3])
jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 6, 3) * 2, m[:2, :3], (1,))
jnp.linalg.tensorsolve(t, x)
jnp.linalg.norm(s, 2)
jnp.linalg.norm(g, -2, (1, 2))
jnp.linalg.norm(c, "nuc")
jnp.linalg.norm(g, 2, (-1, -2), keepdims=True)
jnp.linalg.matrix_norm(g, ord="nuc")
jnp.linalg.matrix_power(s, -2)
jnp.linalg.matrix_power(c, 3)
lax.linalg.cholesky(p)
lax.linalg.cholesky(s, symmetrize_input=False)
lax.linalg.cholesky(m)
lax.linalg.triangular_solve(s, m, left_side=True, lower=True)
lax.linalg.triangular_solve(s, m.T, transpose_a=True, unit_diagonal=True)
lax.linalg.triangular_solve(c, z, left_side=True, conjugate_a=True)
lax.linalg.triangular_solve(c, z, lower=True, conjugate_a=True, transpose_a=True)
lax.linalg.triangular_solve(s, m)
lax.linalg.triangular_solve(m, m)
lax.linalg.lu(r)
lax.linalg.lu(r.T)
lax.linalg.lu(c)
lax.linalg.lu(w)
lax.linalg.lu(n)
lax.linalg.lu(e)
lax.linalg.lu(x)
lax.linalg.lu_pivots_to_permutation(i * 0 + 2, 3)
lax.linalg.lu_pivots_to_permutation(i * 0 + 2, 2)
lax.linalg.lu_pivots_to_permutation(x, 3)
lax.linalg.qr(r, pivoting=True)
lax.linalg.qr(r.T, full_matrices=False, pivoting=True)
lax.linalg.qr(e.T, pivoting=True)
lax.linalg.qr(c)
lax.linalg.householder_product(r.T, x)
lax.linalg.householder_product(r.T, x[:2])
lax.linalg.householder_product(r, x)
lax.linalg.eigh(p)
lax.linalg.eigh(v, lower=False, symmetrize_input=False)
lax.linalg.eigh(p, subset_by_index=(0, 3))
lax.linalg.eigh(p, subset_by_index=(0, 2))
lax.linalg.svd(r)
lax.linalg.svd(r, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR)
lax.linalg.svd(r, algorithm=lax.linalg.SvdAlgorithm.JACOBI)
lax.linalg.svd(c, compute_uv=False)
lax.linalg.eig(s)
lax.linalg.eig(c, compute_left_eigenvectors=False)
lax.linalg.eig(s, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
lax.linalg.schur(s)
lax.linalg.schur(c)
lax.linalg.schur(s, compute_schur_vectors=False)
lax.linalg.hessenberg(s)
lax.linalg.hessenberg(c)
lax.linalg.hessenberg(m)
lax.linalg.tridiagonal(p)
lax.linalg.tridiagonal(v, lower=False)
lax.linalg.ormqr(r.T, x, r.T)
lax.linalg.ormqr(r.T, x, r, left=False, transpose=True)
lax.linalg.ormqr(c, z, c, transpose=True)
lax.linalg.ormqr(r.T, x, r)
lax.linalg.qdwh(r.T)
lax.linalg.qdwh(c, is_hermitian=True)
lax.linalg.qdwh(s, max_iterations=1)
lax.linalg.qdwh(s, max_iterations=3)
lax.linalg.qdwh(s, max_iterations=0)
lax.linalg.qdwh(s, eps=1e-2)
lax.linalg.qdwh(s, eps=1.0)
lax.linalg.qdwh(jnp.diag(jnp.array([1.0, 1e-3, 1e-7])))
lax.linalg.qdwh(jnp.diag(jnp.array([1.0, 2.0, 0.0])))
lax.linalg.qdwh(jnp.zeros((3, 2)))
lax.linalg.qdwh(n)
lax.linalg.qdwh(e.T)
lax.linalg.qdwh(jnp.pad(s, ((0, 2), (0, 1))), dynamic_shape=(3, 3))
lax.linalg.qdwh(s, dynamic_shape=(3, jnp.int32(2)))
lax.linalg.qdwh(r)
lax.linalg.qdwh(g)
lax.linalg.qdwh(x)
lax.linalg.qdwh(h[:, None])
library.jvp(lambda a: lax.linalg.qdwh(a)[:2], (r.T,), (m.T,))
library.jvp(lambda a: lax.linalg.qdwh(a)[:2], (c,), (z * c,))
library.vmap(lax.linalg.qdwh)(g)
library.grad(lambda a: jnp.abs(jnp.linalg.inv(a)).sum())(c)
library.grad(lambda a: jnp.abs(jnp.linalg.solve(a, z)).sum())(c)
library.grad(lambda a: jnp.abs(jnp.linalg.det(a)))(c)
library.grad(lambda a: jnp.linalg.slogdet(a)[1] + jnp.imag(jnp.linalg.slogdet(a)[0]))(c)
library.grad(lambda a: jnp.abs(jnp.linalg.cholesky(a)).sum())(v)
library.grad(lambda a: jnp.abs(jnp.linalg.qr(a)[0] * m[:, :3]).sum() + jnp.abs(jnp.linalg.qr(a)[1] * m[:, :3]).sum())(c)
library.grad(lambda a: jnp.abs(jnp.linalg.svd(a)[0] * m[:, :3]).sum() + jnp.linalg.svdvals(a)[0])(c)
library.grad(lambda a: jnp.linalg.eigh(a)[0][1] + jnp.abs(jnp.linalg.eigh(a)[1] * m[:, :3]).sum())(v)
library.grad(lambda a: jnp.abs(jnp.linalg.eigvals(a)).sum())(c)
library.grad(lambda a: jnp.abs(jnp.linalg.pinv(a)).sum())(a)
library.grad(lambda a: jnp.abs(jnp.fft.fft2(a)).sum() + jnp.sum(jnp.fft.irfft(a) * 2))(a)
library.grad(lambda a: jnp.linalg.svdvals(a).sum())(jnp.eye(3))
library.grad(lambda a: jnp.linalg.svd(a)[0].sum())(jnp.eye(3))
library.grad(lambda a: jnp.linalg.svd(a)[0].sum())(w)
library.grad(lambda a: jnp.linalg.eigh(a)[1].sum())(jnp.eye(2))
library.grad(lambda a: jnp.linalg.eigvalsh(a).sum())(jnp.eye(2))
library.grad(lambda a: jnp.linalg.norm(a, "nuc"))(jnp.zeros((2, 2)))
library.grad(lambda a: jnp.linalg.det(a))(jnp.zeros((4, 4)))
library.grad(lambda a: jnp.linalg.det(a))(jnp.ones((4, 4)) + jnp.diag(jnp.array([0.0, 0, 1, 2])))
library.grad(lambda a: jnp.linalg.qr(a)[0].sum())(m)
library.grad(lambda a: jnp.linalg.svd(a)[0].sum())(m)
library.grad(lambda a: jnp.abs(jnp.linalg.eig(a)[1]).sum())(s)
library.grad(lambda a: jnp.abs(lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)[1] * m[:, :3]).sum())(s)
library.grad(lambda a: lax.linalg.schur(a)[0].sum())(s)
library.vmap(jnp.linalg.solve, (0, None))(g, x[:2])
library.vmap(jnp.linalg.solve, (None, 0))(s, m.T)
library.vmap(jnp.linalg.det, 2)(t[:, :2, :])
library.vmap(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), (None, 1), 1)(s, m)
lax.linalg.tridiagonal_solve(x, p[0], x, s)
lax.linalg.tridiagonal_solve(z, p[0] + 1j, z, c)
lax.linalg.tridiagonal_solve(x, x[:2], x, s)
lax.linalg.tridiagonal_solve(x * 0, x * 0, x * 0, s)
"""

ROWS = [row for row in (FOURIER + LINEAR).splitlines() if row.strip()]


def _plain(value: Any) -> Any:
    """A result as NumPy arrays with their weakness, which can be pickled and compared."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "weak_type"):
        return np.asarray(value), bool(value.weak_type)
    return value if value is None else np.asarray(value)


def is_error(result: Any) -> bool:
    """Whether a row raised."""
    return isinstance(result, tuple) and len(result) == 3


def evaluate(library: Any, row: str, *, jit: bool = False) -> Any:
    """What a row gives, or ("error", the builtin class of the error, its text)."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> Any:
        return eval(row, {"jnp": jnp, "lax": library.lax, "library": library}, dict(given))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain((library.jit(function) if jit else function)(arrays))
    except Exception as error:
        kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return "error", kind, f"{type(error).__name__}: {error}"


def together(library: Any, rows: list[str]) -> list[Any]:
    """What rows that raise nothing give when one program computes them all."""
    jnp = library.numpy
    arrays = {name: jnp.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> list[Any]:
        scope = {"jnp": jnp, "lax": library.lax, "library": library}
        return [eval(row, scope, dict(given)) for row in rows]

    return [_plain(value) for value in library.jit(function)(arrays)]


def every(library: Any) -> dict[str, Any]:
    """What all rows give, by themselves."""
    return {row: evaluate(library, row) for row in ROWS}
