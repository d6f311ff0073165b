"""``python -m tests.differential``: compare calls with jax's, and look closer at what a run found.

python -m tests.differential run --calls 2000 --seed 7    judge calls; the report goes to build/judge/,
                                                          and the parameters that functions lack
python -m tests.differential shrink 12 40 --seed 7        those differences of that run in their smallest form
python -m tests.differential shrink --seed 7              one of each group of differences
python -m tests.differential report --seed 7              the report once more, by the rules as they are now
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tests import compiling

from . import generating, judging, shrinking, source, summary
from .comparing import Difference
from .judging import Verdict
from .remembering import FOLDER, pair


def verdicts_file(seed: int) -> Path:
    return FOLDER / f"verdicts-{seed}.jsonl"


def run(given: Any) -> None:
    """Judge calls; the verdicts go to a file as they come."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    flags = compiling.xla_flags() if given.quickly else ""
    with pair(xla_flags=flags) as both, verdicts_file(given.seed).open("w") as file:
        listed = both.listed()
        (FOLDER / "signatures.txt").write_text(summary.signatures(listed))
        functions = [each for each in generating.judged(*listed) if re.search(given.only, each.name)]
        start = time.perf_counter()
        count = sum(
            1 for _ in _written(judging.judge(both, generating.calls(functions, given.seed, given.calls)), file)
        )
        seconds = time.perf_counter() - start
    print(f"{count} calls of {len(functions)} functions in {seconds:.0f} s, {count / seconds:.1f} a second")
    report(given)


def _written(verdicts: Iterable[Verdict], file: TextIO) -> Iterator[Verdict]:
    for verdict in verdicts:
        file.write(json.dumps(verdict) + "\n")
        file.flush()
        yield verdict


def _read(seed: int) -> list[Verdict]:
    rows = [json.loads(line) for line in verdicts_file(seed).read_text().splitlines()]
    return [
        Verdict(call, ours, theirs, Difference(*difference) if difference else None, witness)
        for call, ours, theirs, difference, witness in rows
    ]


def report(given: Any) -> None:
    """Write the report of a run and print its numbers."""
    found = summary.found(_read(given.seed))
    path = FOLDER / f"differences-{given.seed}.txt"
    path.write_text(summary.report(found, f"seed {given.seed}"))
    print(f"{summary.numbers(found)}\n{path}")


def shrink(given: Any) -> None:
    """Print differences in their smallest form, each as a program for both sides."""
    verdicts = _read(given.seed)
    unexplained = summary.found(verdicts).unexplained
    groups = summary.groups(unexplained)
    asked = [key for key in groups if given.kind in ("", key[0]) and re.search(given.only, key[1])]
    chosen = given.numbers or [groups[key][0] for key in asked]
    with pair() as both:
        for number in chosen:
            smallest = shrinking.shrunk(both, verdicts[number])
            print("\n".join(summary.in_short(number, smallest)), flush=True)
            if given.numbers:
                print(source.program(smallest.call))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for command in (run, report, shrink):
        one = commands.add_parser(command.__name__, help=command.__doc__)
        one.set_defaults(command=command)
        one.add_argument("--seed", type=int, default=0)
        one.add_argument("--only", default="", help="functions in whose names this regular expression is found")
        if command is run:
            one.add_argument("--calls", type=int, default=20_000)
            one.add_argument("--quickly", action="store_true", help="let XLA optimize nothing, as most tests do")
        if command is shrink:
            one.add_argument("--kind", default="", help="differences of this kind")
            one.add_argument("numbers", type=int, nargs="*")
    given = parser.parse_args()
    given.command(given)


if __name__ == "__main__":
    main()
