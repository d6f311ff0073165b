"""``python -m tests.fuzz KIND``: run random programs, and print those that are wrong or end their process.

python -m tests.fuzz reductions --seed 7 --count 500    products, sums and maxima that XLA fuses, against NumPy
python -m tests.fuzz effects --seed 7 --count 500       callbacks and prints, and the passes that move equations
python -m tests.fuzz programs --seed 7 --count 500      loops, branches and custom rules under derivatives, against jax
python -m tests.fuzz reductions --seed 7 --only 31      program 31 of that run
"""

from __future__ import annotations

import argparse
import sys
import time

from .running import KINDS, draw, find


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", type=int, help="the number of one program, which is printed too")
    given = parser.parse_args()
    numbers = range(given.count) if given.only is None else [given.only]
    failed = False
    for kind in given.kinds:
        start, count, found = time.perf_counter(), 0, 0
        if given.only is not None:
            print(draw(kind, given.seed, given.only))
        for finding in find(kind, given.seed, numbers):
            count += 1
            if finding is not None:
                found += 1
                print(f"{kind} {finding.text()}", flush=True)
        print(f"{kind}: {found} of {count} programs are wrong, {time.perf_counter() - start:.0f} s", flush=True)
        failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
