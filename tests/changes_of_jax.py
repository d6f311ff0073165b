"""What jax itself changed between 0.10.2 and 0.11.2, by name: tests ask the jax of their own environment.

A test that depends on one of these says which, so that what differs for any other reason still fails.
"""

from __future__ import annotations

import importlib.metadata

#: Name -> what the newer jax does.
CHANGES = {
    "derivative of acosh": "it has the right sign where the real part is negative",
    "derivative of tanh": "it keeps one residual less (15 numbers a network of tests), and takes two equations less",
    "foreign types": "what is no type of jax's fails an assertion, before it is asked anything that could say more",
    "pairs of scan": "a body of scan may no longer give a named tuple of two for a pair",
    "parameters of jaxprs": "scan and while say ft_in and ft_out, reduce_max and reduce_min out_sharding",
    "residuals of batched products": "a checkpoint that saves everything hands one residual less to two products",
}

#: Whether the jax here has them.
MADE = tuple(map(int, importlib.metadata.version("jax").split(".")[:2])) >= (0, 11)


def made(change: str) -> bool:
    """Whether the jax here has changed that."""
    assert change in CHANGES, change
    return MADE
