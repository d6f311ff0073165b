"""The special cases of the standard that come out otherwise, and why: here as in jax, whose operations they are.

The test fails where one is missing, and where one holds by now.
"""

from __future__ import annotations

# fmt: off
#: For each function why, and the cases, as ``special.py`` names them.
REAL: dict[str, tuple[str, str]] = {
    "floor_divide": (
        "goes with the remainder as Python's // does, which the standard allows; a quotient of zero has the sign "
        "of the sum that gave it",
        """
        -0 >0: -0 | -0 <0: +0 | neg -inf: +0 | neg neg: sign+ | +inf pos: +inf | +inf neg: -inf | -inf pos: -inf |
        -inf neg: +inf | pos -inf: -0 | neg +inf: -0
        """,
    ),
    "remainder": (
        "a remainder of zero has the sign of the dividend",
        """
        0 >0: +0 | 0 <0: -0
        """,
    ),
}
COMPLEX: dict[str, tuple[str, str]] = {
    "acos": (
        "the sign of a zero imaginary part is lost, and NaN beside a zero makes both parts NaN",
        """
        0 +0: pi/2 -0 (conj) | 0 nan: pi/2 nan | 0 nan: pi/2 nan (conj)
        """,
    ),
    "acosh": (
        "the same",
        """
        0 +0: +0 pi/2 (conj) | +0 nan: nan ~1.5707963267948966 | +0 nan: nan ~1.5707963267948966 (conj)
        """,
    ),
    "asinh": (
        "the sign of a zero real part is lost, and NaN beside a zero makes both parts NaN",
        """
        +0 +0: +0 +0 (odd) | nan +0: nan +0 | nan +0: nan +0 (conj) | nan +0: nan +0 (odd)
        """,
    ),
    "atanh": (
        "an angle of infinity or NaN is told by its sign alone, which NaN has too",
        """
        +0 +0: +0 +0 (odd) | +0 nan: +0 nan | +0 nan: +0 nan (conj) | +0 nan: +0 nan (odd) | nonzero nan: nan nan |
        nonzero nan: nan nan (conj) | nonzero nan: nan nan (odd) | +inf nan: +0 nan | +inf nan: +0 nan (conj) | +inf
        nan: +0 nan (odd) | nan finite: nan nan | nan finite: nan nan (conj) | nan finite: nan nan (odd) | nan nan:
        nan nan | nan nan: nan nan (conj) | nan nan: nan nan (odd)
        """,
    ),
    "cosh": (
        "e^z and e^-z are added, and the parts of each are products: an infinity times NaN, or zero times "
        "infinity, is NaN",
        """
        +0 +0: 1 +0 (conj) | +0 +0: 1 +0 (even) | +0 +inf: nan ~0 | +0 +inf: nan ~0 (conj) | +0 +inf: nan ~0 (even) |
        +0 nan: nan ~0 | +0 nan: nan ~0 (conj) | +0 nan: nan ~0 (even) | +inf +0: +inf +0 (conj) | +inf +0: +inf +0
        (even) | +inf +inf: ~inf nan | +inf +inf: ~inf nan (conj) | +inf +inf: ~inf nan (even) | +inf nan: +inf nan |
        +inf nan: +inf nan (conj) | +inf nan: +inf nan (even)
        """,
    ),
    "exp": (
        "the parts are products with cos b and sin b: an infinity or zero times NaN is NaN",
        """
        0 +0: 1 +0 (conj) | +inf +0: +inf +0 (conj) | -inf finite: 0*cis | -inf finite: 0*cis (conj) | -inf +inf: ~0
        ~0 | -inf +inf: ~0 ~0 (conj) | +inf +inf: ~inf nan | +inf +inf: ~inf nan (conj) | -inf nan: ~0 ~0 | -inf nan:
        ~0 ~0 (conj) | +inf nan: ~inf nan | +inf nan: ~inf nan (conj) | nan +0: nan +0 (conj)
        """,
    ),
    "expm1": (
        "the same",
        """
        0 +0: ~0 +0 (conj) | +inf +0: +inf +0 (conj) | -inf finite: 0*cis-1 (conj) | -inf finite: 0*cis-1 | -inf +inf:
        -1 ~0 | -inf +inf: -1 ~0 (conj) | +inf +inf: ~inf nan | +inf +inf: ~inf nan (conj) | -inf nan: -1 ~0 | -inf
        nan: -1 ~0 (conj) | +inf nan: ~inf nan | +inf nan: ~inf nan (conj) | nan +0: nan +0 (conj)
        """,
    ),
    "log": (
        "the modulus of a number with an infinite and a NaN part is NaN",
        """
        inf nan: +inf nan | inf nan: +inf nan (conj) | nan +inf: +inf nan | nan +inf: +inf nan (conj)
        """,
    ),
    "log1p": (
        "the same",
        """
        inf nan: +inf nan | inf nan: +inf nan (conj) | nan +inf: +inf nan | nan +inf: +inf nan (conj)
        """,
    ),
    "sinh": (
        "the same",
        """
        +0 +0: +0 +0 (conj) | +0 +0: +0 +0 (odd) | +0 +inf: ~0 nan | +0 +inf: ~0 nan (conj) | +0 +inf: ~0 nan (odd) |
        +0 nan: ~0 nan | +0 nan: ~0 nan (conj) | +0 nan: ~0 nan (odd) | +inf +0: +inf +0 (conj) | +inf +0: +inf +0
        (odd) | +inf +inf: ~inf nan | +inf +inf: ~inf nan (conj) | +inf +inf: ~inf nan (odd) | +inf nan: ~inf nan |
        +inf nan: ~inf nan (conj) | +inf nan: ~inf nan (odd) | nan +0: nan +0 (conj) | nan +0: nan +0 (odd)
        """,
    ),
    "sqrt": (
        "the standard contradicts C99 where the real part is infinite, and is not followed; NaN beside an infinity "
        "makes both parts NaN",
        """
        0 +0: +0 +0 (conj) | any +inf: +inf +inf | any +inf: +inf +inf (conj) | -inf pos: nan nan | -inf pos: nan nan
        (conj) | +inf pos: +0 +inf | +inf pos: +0 +inf (conj) | -inf nan: nan ~inf | -inf nan: nan ~inf (conj) | +inf
        nan: +inf nan | +inf nan: +inf nan (conj)
        """,
    ),
    "tanh": (
        "the sign of a zero is lost, and NaN beside a zero makes both parts NaN",
        """
        +0 +0: +0 +0 (conj) | +0 +0: +0 +0 (odd) | +0 +inf: +0 nan | +0 +inf: +0 nan (conj) | +0 +inf: +0 nan (odd) |
        +0 nan: +0 nan | +0 nan: +0 nan (conj) | +0 nan: +0 nan (odd) | nan +0: nan +0 (conj) | nan +0: nan +0 (odd)
        """,
    ),
    "abs": (
        "the same",
        """
        inf any: +inf | any inf: +inf
        """,
    ),
    "asin": (
        "it is asinh, turned",
        """
        jz = +0 +0: +0 +0 | jz = +0 +0: +0 +0 (conj) | jz = nan +0: nan +0 | jz = nan +0: nan +0 (conj) | jz = nan +0:
        nan +0 (odd)
        """,
    ),
    "atan": (
        "it is atanh, turned",
        """
        jz = +0 +0: +0 +0 (odd) | jz = +0 nan: +0 nan | jz = +0 nan: +0 nan (conj) | jz = +0 nan: +0 nan (odd) | jz =
        nonzero nan: nan nan | jz = nonzero nan: nan nan (conj) | jz = nonzero nan: nan nan (odd) | jz = +inf nan: +0
        nan | jz = +inf nan: +0 nan (conj) | jz = +inf nan: +0 nan (odd) | jz = nan finite: nan nan | jz = nan finite:
        nan nan (conj) | jz = nan finite: nan nan (odd) | jz = nan nan: nan nan | jz = nan nan: nan nan (conj) | jz =
        nan nan: nan nan (odd)
        """,
    ),
    "sin": (
        "an infinite angle and NaN make both parts NaN",
        """
        jz = +0 +inf: ~0 nan | jz = +0 +inf: ~0 nan (conj) | jz = +0 +inf: ~0 nan (odd) | jz = +0 nan: ~0 nan | jz =
        +0 nan: ~0 nan (conj) | jz = +0 nan: ~0 nan (odd) | jz = +inf +inf: ~inf nan | jz = +inf +inf: ~inf nan (conj)
        | jz = +inf +inf: ~inf nan (odd) | jz = +inf nan: ~inf nan | jz = +inf nan: ~inf nan (conj) | jz = +inf nan:
        ~inf nan (odd)
        """,
    ),
    "tan": (
        "it is tanh, turned",
        """
        jz = +0 +0: +0 +0 (conj) | jz = +0 +0: +0 +0 (odd) | jz = +0 +inf: +0 nan | jz = +0 +inf: +0 nan (conj) | jz =
        +0 +inf: +0 nan (odd) | jz = +0 nan: +0 nan | jz = +0 nan: +0 nan (conj) | jz = +0 nan: +0 nan (odd) | jz =
        nan +0: nan +0 (conj) | jz = nan +0: nan +0 (odd)
        """,
    ),
    "cos": (
        "a zero imaginary part is +0, and an infinite angle or NaN makes both parts NaN",
        """
        jz = +0 +0: 1 +0 (conj) | jz = +0 +0: 1 +0 (even) | jz = +0 +inf: nan ~0 | jz = +0 +inf: nan ~0 (conj) | jz =
        +0 +inf: nan ~0 (even) | jz = +0 nan: nan ~0 | jz = +0 nan: nan ~0 (conj) | jz = +0 nan: nan ~0 (even) | jz =
        +inf +0: +inf +0 (conj) | jz = +inf +0: +inf +0 (even) | jz = +inf +inf: ~inf nan | jz = +inf +inf: ~inf nan
        (conj) | jz = +inf +inf: ~inf nan (even) | jz = +inf nan: +inf nan | jz = +inf nan: +inf nan (conj) | jz =
        +inf nan: +inf nan (even)
        """,
    ),
    "log2": (
        "the same",
        """
        inf nan: +inf nan | inf nan: +inf nan (conj) | nan +inf: +inf nan | nan +inf: +inf nan (conj)
        """,
    ),
    "log10": (
        "the same",
        """
        inf nan: +inf nan | inf nan: +inf nan (conj) | nan +inf: +inf nan | nan +inf: +inf nan (conj)
        """,
    ),
}
# fmt: on
