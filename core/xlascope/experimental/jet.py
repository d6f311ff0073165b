"""Taylor-mode differentiation: derivatives of high order along a curve, at a cost that does not double with each order.

>>> from xlascope.experimental.jet import jet
>>> import xlascope.numpy as jnp
>>> value, (first, second) = jet(jnp.sin, (0.0,), ([1.0, 0.0],))
>>> print(value, first, second)
0.0 1.0 0.0
"""

from ..api.taylor import ZeroSeries, ZeroTerm, jet, zero_series, zero_term
from ..names import explain_missing as _explain_missing

__all__ = ["ZeroSeries", "ZeroTerm", "jet", "zero_series", "zero_term"]

_explain_missing(__name__)
