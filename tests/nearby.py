"""`make check` and `make test`: the tests that what has changed can reach, nearest first, for a minute.

Nearness is recorded for most source files: the tests that cover most of its lines for their time (`tests/nearest.py`).
For a file that the record does not have, it is counted in imports (`tests/reach.py`). When the time is up it says how
many tests have run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests import nearest, passed, rerun
from tests.reach import has_examples, is_test, reached
from tests.selection import name_of

ROOT = Path(__file__).resolve().parents[1]
#: Seconds that the tests may take.
TIME = 40
#: Most files of tests that a file reaches by imports alone.
MAX_REACHED = 12
#: pytest's exit code.
_NOTHING_COLLECTED = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests that files reach, the nearest first; return 0 where none failed in the time that there was."""
    parser = argparse.ArgumentParser(prog="python -m tests.nearby", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="instead of those that changed since `make test` passed")
    parser.add_argument("--seconds", type=float, default=TIME, help="how long the tests may take")
    parser.add_argument("--live", action="store_true", help="also tests that drive browsers, kernels and profilers")
    chosen = parser.parse_args(arguments)
    changed = [path.resolve() for path in chosen.files] or passed.changed_files()
    names = nearest_tests(changed)
    if not names:
        print("no test reaches what has changed")
        return 0
    print(f"{len(changed)} files have changed: {len(names)} groups of tests are near, for {chosen.seconds:g} s")
    return _run(names, chosen.seconds, live=chosen.live)


def _run(names: Sequence[str], seconds: float, *, live: bool) -> int:
    """Run the tests that are named until the time is up, and return the exit code of what ran."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chosen.json")
        path.write_text(json.dumps(names), encoding="utf-8")
        files = dict.fromkeys(name.partition("::")[0] for name in names)
        command = ["-q", "-n", "3" if live else "auto", "--maxprocesses", "4", "--dist", "load", "--maxschedchunk", "2"]
        command += ["-m", "not slow" if live else "not slow and not live"]
        command += ["-p", "tests.selection", "--select-from", str(path), *files]
        code, ran = rerun.run(command, time.monotonic() + seconds)
    print(f"{len(ran)} of the nearest tests ran; `make test-all` runs all tests")
    return 0 if code == _NOTHING_COLLECTED else code


def nearest_tests(changed: Sequence[Path]) -> list[str]:
    """Return names of tests (see `tests/selection.py`), the nearest first: in turn those of each file that changed.

    A file of tests that changed comes first and whole.
    """
    record = nearest.read_record()
    own = [_name(path) for path in changed if is_test(path)]
    lists: list[list[str]] = []
    for path in changed:
        units = record.get(_name(path))
        if units is not None:
            lists.append([*([_name(path)] if has_examples(path) else []), *map(name_of, units)])
    unknown = [path for path in changed if _name(path) not in record and not is_test(path)]
    lists += [[_name(path) for path in reached([path])[:MAX_REACHED]] for path in unknown]
    in_turn = (name for names in itertools.zip_longest(*lists) for name in names if name is not None)
    return list(dict.fromkeys([*own, *in_turn]))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main())
