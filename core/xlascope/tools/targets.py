"""``python -m xlascope targets``: list the installed compilers for GPUs and TPUs; ``--install`` installs them."""

from __future__ import annotations

import argparse
import sys

from ..xla.system.own_files import ForeignFileError
from ..xla.targets.installing import HOW, PLATFORMS, InstallError, compiler_of, install


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--install",
        nargs="*",
        choices=PLATFORMS,
        metavar="gpu tpu",
        help="install the compilers of these platforms (default: both) into the user's cache folder, where jax does "
        "not find them",
    )


def main(chosen: argparse.Namespace) -> int:
    """Install or list compilers, and return the exit status."""
    if chosen.install is not None:
        for platform in chosen.install or PLATFORMS:
            try:
                install(platform)
            except InstallError as error:
                print(f"the compiler for {platform} cannot be installed: {error}", file=sys.stderr)
                return 1
    for platform in PLATFORMS:
        print(f"{platform}: {_told(platform)}")
    return 0


def _told(platform: str) -> str:
    try:
        compiler = compiler_of(platform)
    except ForeignFileError as error:
        return f"not used: {error}"
    return f"not here: {HOW}" if compiler is None else f"{compiler.distribution} {compiler.version}, {compiler.library}"
