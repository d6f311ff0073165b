"""``python -m xlascope show run.json``: draw a file of records to another file, or print it; join those of a job."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..analysis.job.job_text import job_text
from ..analysis.script_text import run_text
from ..inspect.files import check_suffix
from ..inspect.renderers import find_renderer
from ..records.events import Record
from ..records.job import JobReport
from ..records.store import load, save, write_whole
from .job_files import load_job


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "files",
        metavar="FILE.json",
        nargs="+",
        help="what `watch` wrote, or the save() of an inspection; the files of a job's processes, or their folder",
    )
    parser.add_argument(
        "-o", "--output", metavar="PAGE", help="write it instead: .html, .svg, .png, .dot or .pdf, .txt or .json"
    )


def main(options: argparse.Namespace) -> int:
    """Draw the files, or print a summary of their run."""
    try:
        suffix = check_suffix(options.output) if options.output is not None else ""
        loaded = _load(options.files)
        if suffix == "":
            print(_to_text(loaded))
        elif suffix == ".txt":
            write_whole(f"{_to_text(loaded)}\n".encode(), options.output)
        elif suffix == ".json":
            save(loaded, options.output)
        else:
            find_renderer(suffix[1:])(loaded, options.output)
    except (OSError, ValueError) as error:
        print(f"python -m xlascope show: {error}", file=sys.stderr)
        return 1
    return 0


def _load(files: Sequence[str]) -> Sequence[Record]:
    """Return the records of one file, or the report of a job from several files or a folder."""
    if len(files) > 1 or os.path.isdir(files[0]):
        return (load_job(files),)
    return load(files[0])


def _to_text(loaded: Sequence[Record]) -> str:
    report = next((record for record in loaded if isinstance(record, JobReport)), None)
    return run_text(loaded) if report is None else job_text(report)
