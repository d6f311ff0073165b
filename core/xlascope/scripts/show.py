"""``python -m xlascope show run.json``: a file of records, drawn as another file or printed."""

from __future__ import annotations

import argparse
import sys

from ..analysis.script_text import run_text
from ..inspect.drawing import drawing_of
from ..inspect.writing import check_suffix
from ..records.store import load


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the question."""
    parser.add_argument("file", metavar="FILE.json", help="what `watch` wrote, or the save() of an inspection")
    parser.add_argument("-o", "--output", metavar="PAGE", help="draw it: .html, .svg, .png, .dot or .pdf")


def main(chosen: argparse.Namespace) -> int:
    """Draw the file, or print what its run took."""
    try:
        suffix = check_suffix(chosen.output) if chosen.output is not None else ""
        found = load(chosen.file)
        if suffix in ("", ".txt", ".json"):
            print(run_text(found))
        else:
            drawing_of(suffix[1:])(found, chosen.output)
    except (OSError, ValueError) as error:
        print(f"python -m xlascope show: {error}", file=sys.stderr)
        return 1
    return 0
