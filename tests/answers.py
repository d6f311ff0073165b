"""`make answers` and what CI asks about the answers of jax in the repository (`kept_answers.py`).

python -m tests.answers tidy     remove those that the last `make answers` did not ask for
python -m tests.answers compare  ask all of them again and say which are no longer what jax answers
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests import kept_answers, oracle
from tests.comparison import difference


def out_of_date() -> list[str]:
    """The kept answers that are no longer given, since a file that they were made from has changed."""
    return [file.name for file in _files() if not oracle.is_current(_said(file)["sources"])]


def tidy() -> str:
    """Remove the answers that no test of the last `make answers` asked for."""
    asked = set(oracle.ASKED.read_text(encoding="utf-8").split())
    gone = [file for file in _files() if file.name not in asked]
    for file in gone:
        file.unlink()
    size = sum(file.stat().st_size for file in _files())
    return f"{len(asked)} answers of jax are kept, {size / 1e6:.1f} MB; {len(gone)} were removed"


def compare(seed: str, seconds: float) -> tuple[int, list[str]]:
    """Ask jax kept questions again, in an order that rotates by seed, for some time; how many, and what has changed."""
    files, until = _files(), time.monotonic() + seconds
    random.Random(seed).shuffle(files)
    count, found = 0, []
    for file in files:
        said = _said(file)
        if (said["versions"], said["instructions"]) == (oracle.versions(), oracle.instructions()):
            anew, _ = oracle.asked(Path(said["path"]), said["function"], said["settings"], said["flags"])
            found += [f"{file.name}: {each}" for each in itertools.islice(differences(anew, said["answer"]), 5)]
            count += 1
        if time.monotonic() > until:
            break
    return count, found


def differences(anew: Any, kept: Any, place: str = "") -> Iterator[str]:
    """Where two answers are not the same."""
    if type(anew) is not type(kept):
        yield f"{place} is a {type(anew).__name__} and no longer a {type(kept).__name__}"
    elif isinstance(anew, np.ndarray | np.generic):
        if found := difference(np.asarray(anew), np.asarray(kept)):
            yield f"{place} {found}".replace("jax gives", "kept is")
    elif isinstance(anew, list | tuple) and len(anew) == len(kept):
        for number, both in enumerate(zip(anew, kept, strict=True)):
            yield from differences(*both, f"{place}[{number}]")
    elif isinstance(anew, dict) and anew.keys() == kept.keys():
        for key in anew:
            yield from differences(anew[key], kept[key], f"{place}[{key!r}]")
    elif isinstance(anew, float | complex):
        yield from differences(np.asarray(anew), np.asarray(kept), place)
    elif isinstance(anew, str) and sorted(anew) == sorted(kept):
        pass  # messages name the members of a set in any order
    elif anew != kept:
        yield f"{place} is {str(anew)[:200]} and no longer {str(kept)[:200]}"


def _said(file: Path) -> dict[str, Any]:
    said = kept_answers.read(file)
    assert said is not None
    return said


def _files() -> list[Path]:
    return sorted(kept_answers.FOLDER.glob("*.npz"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.answers", description=__doc__)
    parser.add_argument("command", choices=["tidy", "compare"])
    parser.add_argument("--seed", default="0", help="another order of the questions")
    parser.add_argument("--seconds", type=float, default=math.inf, help="ask no further question after so many")
    chosen = parser.parse_args(arguments)
    if chosen.command == "tidy":
        print(tidy())
        return 0
    count, found = compare(chosen.seed, chosen.seconds)
    print("\n".join(found))
    print(f"answers: {count} of {len(_files())} asked again, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
