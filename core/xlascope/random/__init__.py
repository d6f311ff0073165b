"""Random numbers from explicit keys: the same key always gives the same numbers, the ones JAX gives.

>>> import xlascope as xs
>>> key, data_key = xs.random.split(xs.random.PRNGKey(0))
>>> x = xs.random.normal(data_key, (3,))
"""

from ..names import explain_missing as _explain_missing
from .continuous import exponential as exponential
from .continuous import gumbel as gumbel
from .continuous import laplace as laplace
from .continuous import normal as normal
from .continuous import truncated_normal as truncated_normal
from .continuous import uniform as uniform
from .discrete import bernoulli as bernoulli
from .discrete import bits as bits
from .discrete import categorical as categorical
from .discrete import randint as randint
from .keys import PRNGKey as PRNGKey
from .keys import clone as clone
from .keys import fold_in as fold_in
from .keys import key as key
from .keys import key_data as key_data
from .keys import key_impl as key_impl
from .keys import split as split
from .keys import wrap_key_data as wrap_key_data
from .shuffles import choice as choice
from .shuffles import permutation as permutation

_explain_missing(__name__)
