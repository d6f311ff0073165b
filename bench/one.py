"""Measure one case on one side, in this process: ``python -m bench.one xlascope trace`` prints seconds
(and how many equations the program has, where the case is a model).
"""

from __future__ import annotations

import sys

from .cases import CASES
from .sides import side

if __name__ == "__main__":
    name, case = sys.argv[1:]
    found = CASES[case](side(name))
    print(*(found if isinstance(found, tuple) else (found,)))
