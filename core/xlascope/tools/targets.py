"""``python -m xlascope targets``: list the installed compilers for GPUs and TPUs; ``--install`` installs them."""

from __future__ import annotations

import argparse
import sys

from ..xla.system.private_files import ForeignFileError
from ..xla.targets.compiler_install import INSTALL_COMMAND, PLATFORMS, InstallError, find_compiler, install_compiler


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


def main(options: argparse.Namespace) -> int:
    """Install or list compilers, and return the exit status."""
    if options.install is not None:
        for platform in options.install or PLATFORMS:
            try:
                install_compiler(platform)
            except InstallError as error:
                print(f"the compiler for {platform} cannot be installed: {error}", file=sys.stderr)
                return 1
    for platform in PLATFORMS:
        print(f"{platform}: {_describe_compiler(platform)}")
    return 0


def _describe_compiler(platform: str) -> str:
    try:
        compiler = find_compiler(platform)
    except ForeignFileError as error:
        return f"not used: {error}"
    return (
        f"not here: {INSTALL_COMMAND}"
        if compiler is None
        else f"{compiler.distribution} {compiler.version}, {compiler.library}"
    )
