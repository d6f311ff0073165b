"""Numeric constants, and the classes of NumPy's dtype hierarchy."""

from __future__ import annotations

import math

import numpy as np

from .scalar_types import bool_

pi = math.pi
e = math.e
euler_gamma = 0.57721566490153286060651209008240243
inf = math.inf
nan = math.nan
newaxis = None

generic, number, inexact, integer = np.generic, np.number, np.inexact, np.integer
signedinteger, unsignedinteger, floating, complexfloating = (
    np.signedinteger, np.unsignedinteger, np.floating, np.complexfloating,
)  # fmt: skip
character, flexible, object_ = np.character, np.flexible, np.object_
dtype = np.dtype
#: NumPy's warning for a discarded imaginary part.
ComplexWarning = np.exceptions.ComplexWarning
bool = bool_
