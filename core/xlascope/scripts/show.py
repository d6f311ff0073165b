"""``python -m xlascope show run.json``: draw a file of records to another file, or print it."""

from __future__ import annotations

import argparse
import sys

from ..analysis.script_text import run_text
from ..inspect.drawing import drawing_of
from ..inspect.writing import check_suffix
from ..records.store import load, save, write_whole


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE.json", help="what `watch` wrote, or the save() of an inspection")
    parser.add_argument(
        "-o", "--output", metavar="PAGE", help="write it instead: .html, .svg, .png, .dot or .pdf, .txt or .json"
    )


def main(chosen: argparse.Namespace) -> int:
    """Draw the file, or print a summary of its run."""
    try:
        suffix = check_suffix(chosen.output) if chosen.output is not None else ""
        loaded = load(chosen.file)
        if suffix == "":
            print(run_text(loaded))
        elif suffix == ".txt":
            write_whole(f"{run_text(loaded)}\n".encode(), chosen.output)
        elif suffix == ".json":
            save(loaded, chosen.output)
        else:
            drawing_of(suffix[1:])(loaded, chosen.output)
    except (OSError, ValueError) as error:
        print(f"python -m xlascope show: {error}", file=sys.stderr)
        return 1
    return 0
