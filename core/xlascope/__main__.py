"""Command line of ``python -m xlascope``."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

#: The subcommands: a module for each, with `arguments(parser)` and `main(options)`, loaded on use.
_COMMANDS = {
    "doctor": ("xlascope.tools.device.cli", "what works on this machine's device: --device"),
    "port": ("xlascope.tools.porting.cli", "change imports of jax in programs and notebooks to xlascope, and back"),
    "show": ("xlascope.scripts.show", "draw or print a file of records: that of a watched run, or of an inspection"),
    "targets": ("xlascope.tools.targets", "which compilers of GPUs and TPUs are here; --install brings them"),
    "watch": ("xlascope.scripts.command", "run a script as it is, and write what became of its programs"),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the subcommand of a command line and return the exit status.

    ``words`` are the arguments, by default those of the process.
    """
    words = list(sys.argv[1:] if words is None else words)
    parser = argparse.ArgumentParser(prog="python -m xlascope", description="A JAX you can see through.")
    parser.add_argument(
        "--version", action="version", version=f"xlascope {importlib.import_module('xlascope').__version__}"
    )
    questions = parser.add_subparsers(dest="question", metavar="COMMAND")
    command = next((word for word in words if word in _COMMANDS), None)
    for name, (module, help_text) in _COMMANDS.items():
        question = questions.add_parser(name, help=help_text, description=help_text)
        if name == command:
            importlib.import_module(module).arguments(question)
    options, unknown = parser.parse_known_args(words)
    if options.question is None and not unknown:
        parser.print_help(sys.stderr)
        return 2
    if unknown or options.question is None:  # argparse would print the usage of all commands
        (questions.choices.get(options.question) or parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    return int(importlib.import_module(_COMMANDS[options.question][0]).main(options))


if __name__ == "__main__":
    sys.exit(main())
