"""The special cases of the standard's elementwise functions for real numbers (array API 2024.12), function by function.

What the words mean says ``language.py``.
"""

from __future__ import annotations

_WHOLE = "integer: x1; inf: x1; +0: +0; -0: -0; nan: nan; "
_THROUGH_ZERO = "nan: nan; +0: +0; -0: -0; "
_LOG = "nan: nan; <0: nan; 0: -inf; 1: +0; +inf: +inf"
_EITHER_NAN = "nan any: nan; any nan: nan; "
_QUOTIENT = (
    _EITHER_NAN
    + """inf inf: nan; 0 0: nan; +0 >0: +0; -0 >0: -0; +0 <0: -0; -0 <0: +0;
    >0 +0: +inf; >0 -0: -inf; <0 +0: -inf; <0 -0: +inf; pos +inf: +0; neg -inf: +0;
    pos pos: sign+; neg neg: sign+; """
)

UNARY = {
    "abs": "nan: nan; -0: +0; -inf: +inf",
    "acos": "nan: nan; >1: nan; <-1: nan; 1: +0",
    "acosh": "nan: nan; <1: nan; 1: +0; +inf: +inf",
    "asin": _THROUGH_ZERO + ">1: nan; <-1: nan",
    "asinh": _THROUGH_ZERO + "+inf: +inf; -inf: -inf",
    "atan": _THROUGH_ZERO + "+inf: pi/2; -inf: -pi/2",
    "atanh": _THROUGH_ZERO + "<-1: nan; >1: nan; -1: -inf; 1: +inf",
    "ceil": _WHOLE,
    "cos": "nan: nan; 0: 1; inf: nan",
    "cosh": "nan: nan; 0: 1; inf: +inf",
    "exp": "nan: nan; 0: 1; +inf: +inf; -inf: +0",
    "expm1": _THROUGH_ZERO + "+inf: +inf; -inf: -1",
    "floor": _WHOLE,
    "isfinite": "inf: false; nan: false; finite: true",
    "isinf": "inf: true; nan: false; finite: false",
    "isnan": "nan: true; number: false",
    "log": _LOG,
    "log1p": _THROUGH_ZERO + "<-1: nan; -1: -inf; +inf: +inf",
    "log2": _LOG,
    "log10": _LOG,
    "negative": "number: -x1; nan: nan",
    "positive": "number: x1; nan: nan",
    "reciprocal": "nan: nan; +inf: +0; -inf: -0; +0: +inf; -0: -inf; pos: sign+; neg: sign-",
    "round": _WHOLE + "0.5: +0; 1.5: 2; 2.5: 2; -0.5: -0; -1.5: -2",
    "sign": "<0: -1; 0: ~0; >0: 1; nan: nan",
    "signbit": "+0: false; -0: true; +inf: false; -inf: true; pos: false; neg: true; nan: false; -nan: true",
    "sin": _THROUGH_ZERO + "inf: nan",
    "sinh": _THROUGH_ZERO + "+inf: +inf; -inf: -inf",
    "sqrt": _THROUGH_ZERO + "<0: nan; +inf: +inf",
    "square": "nan: nan; inf: +inf; 0: +0; nonzero: sign+",
    "tan": _THROUGH_ZERO + "inf: nan",
    "tanh": _THROUGH_ZERO + "+inf: 1; -inf: -1",
    "trunc": _WHOLE,
}

BINARY = {
    "add": _EITHER_NAN
    + """+inf -inf: nan; -inf +inf: nan; +inf +inf: +inf; -inf -inf: -inf; +inf finite: +inf; -inf finite: -inf;
    finite +inf: +inf; finite -inf: -inf; -0 -0: -0; -0 +0: +0; +0 -0: +0; +0 +0: +0; 0 nonzero: x2; nonzero 0: x1;
    0.5 -0.5: +0; -2.5 2.5: +0; 3e4 -3e4: +0""",
    "atan2": _EITHER_NAN
    + """>0 0: pi/2; +0 >0: +0; +0 +0: +0; +0 -0: pi; +0 <0: pi; -0 >0: -0; -0 +0: -0; -0 -0: -pi; -0 <0: -pi;
    <0 0: -pi/2; pos +inf: +0; pos -inf: pi; neg +inf: -0; neg -inf: -pi; +inf finite: pi/2; -inf finite: -pi/2;
    +inf +inf: pi/4; +inf -inf: 3pi/4; -inf +inf: -pi/4; -inf -inf: -3pi/4""",
    "clip, min": "nan number: nan; number nan: nan",
    "clip, max": "nan number: nan; number nan: nan",
    "copysign": """number <0: -|x1|; number -0: -|x1|; number +0: |x1|; number >0: |x1|; number -nan: -|x1|;
    number nan: |x1|; nan <0: -nan; nan -0: -nan; nan +0: +nan; nan >0: +nan; nan -nan: -nan; nan nan: +nan""",
    "divide": _QUOTIENT
    + """+inf pos: +inf; +inf neg: -inf; -inf pos: -inf; -inf neg: +inf; pos -inf: -0; neg +inf: -0;
    pos neg: sign-; neg pos: sign-""",
    "equal": """nan any: false; any nan: false; +inf +inf: true; -inf -inf: true; 0 0: true; 2.5 2.5: true;
    2.5 0.5: false; inf finite: false; +inf -inf: false""",
    "floor_divide": _QUOTIENT
    + """+inf pos: +inf; +inf neg: -inf; -inf pos: -inf; -inf neg: +inf; pos -inf: -0; neg +inf: -0;
    pos neg: sign-; neg pos: sign-; 2.5 1: 2; -2.5 1: -3""",
    "greater": "nan any: false; any nan: false; +inf finite: true; finite +inf: false; 0 0: false",
    "greater_equal": "nan any: false; any nan: false; +inf finite: true; finite +inf: false; 0 0: true",
    "hypot": """inf any: +inf; any inf: +inf; 0 number: |x2|; number 0: |x1|; finite nan: nan; nan nan: nan;
    nan finite: nan""",
    "less": "nan any: false; any nan: false; -inf finite: true; finite -inf: false; 0 0: false",
    "less_equal": "nan any: false; any nan: false; -inf finite: true; finite -inf: false; 0 0: true",
    "logaddexp": _EITHER_NAN + "+inf number: +inf; number +inf: +inf",
    "maximum": _EITHER_NAN + "+inf finite: +inf; -inf finite: x2; 0 pos: x2",
    "minimum": _EITHER_NAN + "-inf finite: -inf; +inf finite: x2; 0 neg: x2",
    "multiply": _EITHER_NAN
    + """inf 0: nan; 0 inf: nan; >0 >0: sign+; <0 <0: sign+; >0 <0: sign-; <0 >0: sign-; +inf >0: +inf; -inf >0: -inf;
    +inf <0: -inf; -inf <0: +inf; >0 +inf: +inf; <0 -inf: +inf; +0 pos: +0; -0 pos: -0; +0 neg: -0; -0 neg: +0""",
    "nextafter": _EITHER_NAN + "-0 +0: +0; +0 -0: -0",
    "not_equal": """nan any: true; any nan: true; +inf -inf: true; -inf +inf: true; 2.5 0.5: true; 2.5 2.5: false;
    0 0: false; +inf +inf: false""",
    "pow": """not1 nan: nan; any 0: 1; nan other: nan; |>1| +inf: +inf; |>1| -inf: +0; |1| inf: 1; 1 number: 1;
    |<1| +inf: +0; |<1| -inf: +inf; +inf >0: +inf; +inf <0: +0; -inf odd>0: -inf; -inf notodd>0: +inf;
    -inf odd<0: -0; -inf notodd<0: +0; +0 >0: +0; +0 <0: +inf; -0 odd>0: -0; -0 notodd>0: +0; -0 odd<0: -inf;
    -0 notodd<0: +inf; neg fraction: nan""",
    "remainder": _EITHER_NAN
    + """inf inf: nan; 0 0: nan; 0 >0: +0; 0 <0: -0; other 0: nan; inf nonzero: nan; pos +inf: x1; pos -inf: x2;
    neg +inf: x2; neg -inf: x1; 2.5 1: 0.5; -2.5 1: 0.5; 2.5 -1: -0.5""",
}

#: The operators that the standard lets give what a function gives.
OPERATORS = {
    "add": "+",
    "divide": "/",
    "equal": "==",
    "floor_divide": "//",
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "multiply": "*",
    "not_equal": "!=",
    "pow": "**",
    "remainder": "%",
}
