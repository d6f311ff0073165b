"""``python -m xlascope show run.json``: draw a file of records to another file, or print it."""

from __future__ import annotations

import argparse
import sys

from ..analysis.script_text import run_text
from ..inspect.files import check_suffix
from ..inspect.renderers import find_renderer
from ..records.store import load, save, write_whole


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE.json", help="what `watch` wrote, or the save() of an inspection")
    parser.add_argument(
        "-o", "--output", metavar="PAGE", help="write it instead: .html, .svg, .png, .dot or .pdf, .txt or .json"
    )


def main(options: argparse.Namespace) -> int:
    """Draw the file, or print a summary of its run."""
    try:
        suffix = check_suffix(options.output) if options.output is not None else ""
        loaded = load(options.file)
        if suffix == "":
            print(run_text(loaded))
        elif suffix == ".txt":
            write_whole(f"{run_text(loaded)}\n".encode(), options.output)
        elif suffix == ".json":
            save(loaded, options.output)
        else:
            find_renderer(suffix[1:])(loaded, options.output)
    except (OSError, ValueError) as error:
        print(f"python -m xlascope show: {error}", file=sys.stderr)
        return 1
    return 0
