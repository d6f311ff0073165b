"""`python -m docs.making`: the site, in build/docs/html."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from notebooks.making.address import ROOT
from sphinx.cmd.build import build_main

from . import layout, panels, reference

HERE = Path(__file__).parent
BUILD = ROOT / "build/docs"


def main() -> int:
    """Make the site where the command line says."""
    arguments = argparse.ArgumentParser(prog="python -m docs.making", description=__doc__)
    arguments.add_argument("--folder", type=Path, default=BUILD, help="where sources and pages go")
    folder = arguments.parse_args().folder
    status = make(folder)
    print(folder / "html/index.html" if not status else "some pages are wrong: see above")
    return status


def make(folder: Path) -> int:
    """Make the site in a folder; what a page gets wrong (a link that leads nowhere, above all) is an error."""
    source = folder / "source"
    shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    layout.lay_out(source)
    reference.write(source / "reference")
    for path in panels.make(source):
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
    shutil.copy(HERE / "site.css", source / "_static")
    options = ["-c", str(HERE), "-D", f"html_static_path={source / '_static'}"]
    options += ["-W", "--keep-going", "--jobs", "auto", "-q", "-d", str(folder / "doctrees")]
    return int(build_main([*options, str(source), str(folder / "html")]))


if __name__ == "__main__":
    sys.exit(main())
