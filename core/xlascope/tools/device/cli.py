"""``python -m xlascope doctor``: ``--device`` checks a device, ``--out`` writes a report, ``--read`` shows one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import full_report, quick_check, report_reader
from .parts import DEFAULT_SECONDS, NAMES


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--device", action="store_true", help="check the device that programs run on")
    mode.add_argument(
        "--read", nargs="+", metavar="FILE", type=Path, help="show what --out wrote; of two files what has changed, too"
    )
    parser.add_argument("--platform", help="check the first device of this platform instead (cpu, gpu, tpu)")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help=f"these checks alone; with --out these parts: {', '.join(NAMES)}"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--limit",
        type=float,
        default=quick_check.DEFAULT_LIMIT_SECONDS,
        help=f"seconds for each check (default {quick_check.DEFAULT_LIMIT_SECONDS:g})",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="examine everything, and write one archive (.zip)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        help=f"with --out: how long all parts may take (default {DEFAULT_SECONDS:g})",
    )
    parser.add_argument(
        "--size", choices=("small", "large"), help="with --out: of programs (default: as the device is)"
    )
    parser.add_argument("--pages", metavar="FOLDER", type=Path, help="with --read: where its pages are written")
    parser.add_argument("--check", help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    """Run the requested command, and return the exit status."""
    if options.read is not None:
        return report_reader.main(options.read, options.pages)
    if options.out is None:
        return quick_check.main(options)
    unknown = [name for name in options.only or () if name not in NAMES]
    if unknown:
        print(f"there is no part {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    return full_report.report(options.out, options.seconds, options.platform, options.only or (), options.size)
