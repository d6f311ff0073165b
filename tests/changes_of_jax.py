"""What jax itself changed between 0.10.2 and 0.11.2, by name: tests ask the jax of their own environment.

A test that depends on one of these says which, so that what differs for any other reason still fails.
"""

from __future__ import annotations

import importlib.metadata

#: Name -> what the newer jax does.
CHANGES = {
    "cholesky's cotangent": "it lies in the triangle that is read, and is not spread over both",
    "derivative of acosh": "it has the right sign where the real part is negative",
    "derivative of tanh": "it keeps one residual less (15 numbers a network of tests), and takes two equations less",
    "dtypes of factorizations": "narrow floats are a TypeError instead of a NotImplementedError",
    "floats of six bits": "arrays may have them",
    "foreign types": "what is no type of jax's fails an assertion, before it is asked anything that could say more",
    "pairs of scan": "a body of scan may no longer give a named tuple of two for a pair",
    "parameters of functions": "some are new, or have other names and defaults: tests/core/test_signatures.py has them",
    "parameters of jaxprs": "scan and while say ft_in and ft_out, reduce_max and reduce_min out_sharding",
    "residuals of batched products": "a checkpoint that saves everything hands one residual less to two products",
    "sinc at infinity": "it is zero, where NumPy has NaN; near zero it is a polynomial, with finite derivatives",
    "weak type of log2": "the logarithm of a Python number is weak, as those of other bases are not",
}

#: Whether the jax here has them.
MADE = tuple(map(int, importlib.metadata.version("jax").split(".")[:2])) >= (0, 11)


def made(change: str) -> bool:
    """Whether the jax here has changed that."""
    assert change in CHANGES, change
    return MADE
