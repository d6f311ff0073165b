"""Random numbers from explicit keys: the same key always gives the same numbers, the ones JAX gives.

>>> import xlascope as xs
>>> key, data_key = xs.random.split(xs.random.PRNGKey(0))
>>> x = xs.random.normal(data_key, (3,))
"""

from ..numpy import methods  # noqa: F401  (gives arrays their operators)
from .continuous import exponential, gumbel, laplace, normal, truncated_normal, uniform
from .discrete import bernoulli, bits, categorical, randint
from .keys import PRNGKey, fold_in, key, key_data, split, wrap_key_data
from .shuffles import choice, permutation

__all__ = [
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "choice",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "normal",
    "permutation",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
    "wrap_key_data",
]
