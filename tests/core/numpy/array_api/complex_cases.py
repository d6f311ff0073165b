"""The special cases of the standard's elementwise functions for complex numbers (array API 2024.12).

An operand is its real and its imaginary part, and so is a result. The standard says ``f(conj(z)) = conj(f(z))`` for all
of them, and of some that they are odd or even, or what another one is turned by a right angle: those cases follow.
"""

from __future__ import annotations

TABLES = {
    "acos": """0 +0: pi/2 -0; 0 nan: pi/2 nan; finite +inf: pi/2 -inf; nonzero nan: nan nan; -inf pos: pi -inf;
    +inf pos: +0 -inf; -inf +inf: 3pi/4 -inf; +inf +inf: pi/4 -inf; inf nan: nan ~inf; nan finite: nan nan;
    nan +inf: nan -inf; nan nan: nan nan""",
    "acosh": """0 +0: +0 pi/2; finite +inf: +inf pi/2; nonzero nan: nan nan; +0 nan: nan ~PI/2; -inf pos: +inf pi;
    +inf pos: +inf +0; -inf +inf: +inf 3pi/4; +inf +inf: +inf pi/4; inf nan: +inf nan; nan finite: nan nan;
    nan +inf: +inf nan; nan nan: nan nan""".replace("~PI/2", "~1.5707963267948966"),
    "asinh": """+0 +0: +0 +0; pos +inf: +inf pi/2; finite nan: nan nan; +inf pos: +inf +0; +inf +inf: +inf pi/4;
    nan +0: nan +0; nan nonzero: nan nan; nan +inf: ~inf nan; nan nan: nan nan""",
    "atanh": """+0 +0: +0 +0; +0 nan: +0 nan; 1 +0: +inf +0; pos +inf: +0 pi/2; nonzero nan: nan nan; +inf pos: +0 pi/2;
    +inf +inf: +0 pi/2; +inf nan: +0 nan; nan finite: nan nan; nan +inf: ~0 pi/2; nan nan: nan nan""",
    "cosh": """+0 +0: 1 +0; +0 +inf: nan ~0; +0 nan: nan ~0; nonzero +inf: nan nan; nonzero nan: nan nan;
    +inf +0: +inf +0; +inf nonzero: inf*cis; +inf +inf: ~inf nan; +inf nan: +inf nan; nan 0: nan ~0;
    nan nonzero: nan nan; nan nan: nan nan""",
    "exp": """0 +0: 1 +0; finite +inf: nan nan; finite nan: nan nan; +inf +0: +inf +0; -inf finite: 0*cis;
    +inf nonzero: inf*cis; -inf +inf: ~0 ~0; +inf +inf: ~inf nan; -inf nan: ~0 ~0; +inf nan: ~inf nan;
    nan +0: nan +0; nan other: nan nan; nan nan: nan nan""",
    "expm1": """0 +0: ~0 +0; finite +inf: nan nan; finite nan: nan nan; +inf +0: +inf +0; -inf finite: 0*cis-1;
    +inf nonzero: inf*cis-1; -inf +inf: -1 ~0; +inf +inf: ~inf nan; -inf nan: -1 ~0; +inf nan: ~inf nan;
    nan +0: nan +0; nan other: nan nan; nan nan: nan nan""",
    "log": """-0 +0: -inf pi; +0 +0: -inf +0; finite +inf: +inf pi/2; finite nan: nan nan; -inf pos: +inf pi;
    +inf pos: +inf +0; -inf +inf: +inf 3pi/4; +inf +inf: +inf pi/4; inf nan: +inf nan; nan finite: nan nan;
    nan +inf: +inf nan; nan nan: nan nan""",
    "log1p": """-1 +0: -inf +0; finite +inf: +inf pi/2; finite nan: nan nan; -inf pos: +inf pi; +inf pos: +inf +0;
    -inf +inf: +inf 3pi/4; +inf +inf: +inf pi/4; inf nan: +inf nan; nan finite: nan nan; nan +inf: +inf nan;
    nan nan: nan nan""",
    "sinh": """+0 +0: +0 +0; +0 +inf: ~0 nan; +0 nan: ~0 nan; pos +inf: nan nan; pos nan: nan nan; +inf +0: +inf +0;
    +inf pos: inf*cis; +inf +inf: ~inf nan; +inf nan: ~inf nan; nan +0: nan +0; nan nonzero: nan nan;
    nan nan: nan nan""",
    "sqrt": """0 +0: +0 +0; any +inf: +inf +inf; finite nan: nan nan; -inf pos: nan nan; +inf pos: +0 +inf;
    -inf nan: nan ~inf; +inf nan: +inf nan; nan finite: nan nan; nan nan: nan nan""",
    "tanh": """+0 +0: +0 +0; nonzero +inf: nan nan; +0 +inf: +0 nan; nonzero nan: nan nan; +0 nan: +0 nan;
    +inf pos: 1 ~0; +inf +inf: 1 ~0; +inf nan: 1 ~0; nan +0: nan +0; nan nonzero: nan nan; nan nan: nan nan""",
    "sign": "0 0: ~0 ~0; nan any: nan nan; any nan: nan nan",
    "abs": """inf any: +inf; any inf: +inf; 0 number: |x2|; number 0: |x1|; nan finite: nan; finite nan: nan;
    nan nan: nan""",
    "isfinite": "nan any: false; any nan: false; inf any: false; any inf: false; finite finite: true",
    "isinf": "inf any: true; any inf: true; finite finite: false; nan nan: false",
    "isnan": "nan any: true; any nan: true; number number: false",
    "round": "inf 0.5: x1 +0; 1.5 inf: 2 x2; nan 2.5: nan 2; -0 -0.5: -0 -0",
}
#: What f(-z) is: -f(z), or f(z).
ODD = ("asinh", "atanh", "sinh", "tanh")
EVEN = ("cosh",)
#: Those that say nothing of a result with two parts that were conjugated.
WITHOUT_CONJUGATE = ("sign", "abs", "isfinite", "isinf", "isnan", "round")
#: Functions that are -j g(jz).
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh"}
