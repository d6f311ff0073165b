"""``python -m xlascope port FILE|NOTEBOOK|FOLDER …``: its options; the implementation is imported when it runs."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

NAME = "python -m xlascope port"
_EPILOG = (
    "Exit status: 0 if nothing is left to do, 1 if a name is missing, a file stays with jax or cannot be parsed "
    "(with --check also if a file would change), 2 if a file cannot be read or written."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = _EPILOG
    parser.add_argument("paths", nargs="+", metavar="PATH", type=Path, help="a Python file, a notebook or a folder")
    parser.add_argument("--to", choices=("xlascope", "jax"), default="xlascope", help="the package to import instead")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    parser.add_argument(
        "--anyway", action="store_true", help="also change files that import a library of jax (flax, optax, …)"
    )


def main(options: argparse.Namespace) -> int:
    """Change the files, and print what was done and what remains to be done."""
    if importlib.util.find_spec("libcst") is None:
        print(f'{NAME}: this needs libcst, which is not installed: pip install "xlascope[port]"', file=sys.stderr)
        return 2
    return int(importlib.import_module("xlascope.tools.porting.command").port(options))
