"""What jax, or XLA in jaxlib, changed itself since the oldest that the tests run with: by name, and since when.

Tests ask the jax of their own environment. One that depends on a change says which, so that what differs for any other
reason still fails.
"""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

from xlascope.runtime.supported_jaxlibs import parse_version


class Change(NamedTuple):
    """The first version that has it (of those that ran), what is so since then, and the package whose version it is."""

    since: str
    what: str
    package: str = "jax"


CHANGES = {
    "cholesky's cotangent": Change("0.11.0", "it lies in the triangle that is read, and is not spread over both"),
    "derivative of acosh": Change("0.11.0", "it has the right sign where the real part is negative"),
    "derivative of tanh": Change(
        "0.11.0", "one_minus_square is one equation, and it keeps one residual less (15 numbers a network of tests)"
    ),
    "dtypes of factorizations": Change("0.11.0", "narrow floats are a TypeError instead of a NotImplementedError"),
    "floats of six bits": Change("0.11.0", "arrays may have them"),
    "foreign types": Change(
        "0.11.0", "what is no type of jax's fails an assertion, before it is asked anything that could say more"
    ),
    "pairs of scan": Change("0.11.0", "a body of scan may no longer give a named tuple of two for a pair"),
    "parameters of functions": Change(
        "0.11.0", "some are new, or have other names and defaults: tests/core/test_signatures.py has them"
    ),
    "parameters of jaxprs": Change(
        "0.11.0", "scan and while say ft_in and ft_out, reduce_max and reduce_min out_sharding"
    ),
    "residuals of batched products": Change(
        "0.11.0", "a checkpoint that saves everything hands one residual less to two products"
    ),
    "sinc at infinity": Change(
        "0.11.0", "it is zero, where NumPy has NaN; near zero it is a polynomial, with finite derivatives"
    ),
    "weak type of log2": Change("0.11.0", "the logarithm of a Python number is weak, as those of other bases are not"),
    "derivative of the complex sign": Change("0.11.0", "it is that of z / |z|, where it was zero; ours is in all"),
    "initializers of narrow floats": Change("0.11.0", "the scale is multiplied before it is rounded, not after"),
    "digits of the gamma function": Change(
        "0.12.0", "its logarithm, and what is made of it, is nearer by some last places"
    ),
    "distributions of scipy": Change(
        "0.11.0",
        "outcomes of multinomial lie along the last axis, vonmises is uniform for kappa 0; ours are in all",
    ),
    "eigh of two matrices": Change("0.11.0", "it solves the generalized problem, as ours with any"),
    "LU of a stack": Change("0.11.0", "scipy.linalg.lu takes stacks of matrices, as ours with any"),
    "edges of numpy": Change("0.12.0", "ten expressions: tests/core/numpy/test_expressions.py has them"),
    "order of cotangents": Change("0.12.0", "of two that are added the later one is the first operand"),
    "parameters of functions, again": Change(
        "0.12.0", "some are new, or by name alone: tests/core/test_signatures.py has them"
    ),
    "kernels of targets": Change("0.12.0", "tests/docs/test_targets_page.py has what differs", "jaxlib"),
    "barriers separate kernels": Change(
        "0.11.0", "XLA takes them out after it has fused on a CPU, and no longer before", "jaxlib"
    ),
}


def made(change: str) -> bool:
    """Whether the jax here, or its jaxlib, has changed that."""
    found = CHANGES[change]
    return parse_version(importlib.metadata.version(found.package)) >= parse_version(found.since)
