"""Measure one case on one side, in this process: ``python -m bench.one xlascope trace`` prints seconds."""

from __future__ import annotations

import sys

from .cases import CASES
from .sides import side

if __name__ == "__main__":
    name, case = sys.argv[1:]
    print(CASES[case](side(name)))
