"""Derivatives of linear algebra where matrices are degenerate; run with xlascope and with jax.

Equal eigenvalues have no derivatives of their vectors, singular matrices no inverse: JAX's derivatives are infinite or
NaN there, those of what is well determined (eigenvalues, singular values) are finite.
"""

import warnings

import numpy as np


def matrices():
    """Name to a matrix: of equal values, of no full rank, near that, without elements, with NaN."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return {
        "ones on the diagonal": np.eye(3),
        "nothing": np.zeros((3, 3)),
        "two equal": np.diag([2.0, 2.0, 1.0]),
        "opposite": np.diag([1.0, -1.0, 0.5]),
        "rank two": turn @ np.diag([2.0, 1.0, 0.0]) @ turn.T,
        "rank one": np.ones((3, 3)),
        "of one": np.full((1, 1), 4.0),
        "no elements": np.zeros((0, 0)),
        "NaN": np.array([[1.0, np.nan], [np.nan, 2.0]]),
        "infinite": np.array([[np.inf, 0.0], [0.0, 1.0]]),
        "triangular with a block": np.array([[1.0, 1.0], [0.0, 1.0]]),
    }


def functions(lib):
    """Name to a function whose derivatives are asked for."""
    of, jnp = lib.numpy.linalg, lib.numpy
    weights = np.arange(9.0, dtype="float32").reshape(3, 3)

    def weighted(x):
        return (x * weights[: x.shape[0], : x.shape[1]]).sum()

    return {
        "cholesky": lambda a: weighted(of.cholesky(a)),
        "eigenvalues": lambda a: (of.eigvalsh(a) ** 2).sum(),
        "least eigenvalue": lambda a: of.eigvalsh(a)[:1].sum(),
        "eigenvectors": lambda a: weighted(of.eigh(a)[1]),
        "singular values": lambda a: of.svd(a, compute_uv=False).sum(),
        "singular vectors": lambda a: weighted(of.svd(a)[0]),
        "q": lambda a: weighted(of.qr(a)[0]),
        "r": lambda a: weighted(of.qr(a)[1]),
        "lu": lambda a: weighted(lib.lax.linalg.lu(a)[0]),
        "det": of.det,
        "slogdet": lambda a: of.slogdet(a)[1],
        "inv": lambda a: weighted(of.inv(a)),
        "solve": lambda a: of.solve(a, jnp.ones(a.shape[0])).sum(),
        "pinv": lambda a: weighted(of.pinv(a)),
        "lstsq": lambda a: of.lstsq(a, jnp.ones(a.shape[0]))[0].sum(),
        "nuclear norm": lambda a: of.norm(a, "nuc"),
        "spectral norm": lambda a: of.norm(a, 2),
        "frobenius norm": of.norm,
        "cond": of.cond,
        "matrix_power": lambda a: weighted(of.matrix_power(a, 3)),
        "eigenvalues of any": lambda a: jnp.abs(of.eigvals(a)).sum(),
    }


def gradients(lib):
    """What is asked to its gradient, or the builtin class of the error."""
    found = {}
    for what, function in functions(lib).items():
        gradient = lib.grad(function)
        for name, matrix in matrices().items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[f"{what}: {name}"] = np.asarray(gradient(lib.numpy.asarray(matrix, "float32")))
            except Exception as error:
                kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
                found[f"{what}: {name}"] = kind
    return found


def together(lib):
    """The same for matrices of three rows, by one program."""
    known = functions(lib)
    every = lib.jit(lambda a: {what: lib.grad(function)(a) for what, function in known.items()})
    return {
        f"{what}: {name}": np.asarray(value)
        for name, matrix in matrices().items()
        if matrix.shape == (3, 3)
        for what, value in every(matrix.astype("float32")).items()
    }
