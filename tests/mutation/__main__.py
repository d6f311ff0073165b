"""`make mutants`: how many changes of our functions the tests notice, the fast part of them and the whole suite.

python -m tests.mutation coverage       run all tests that are not slow with coverage: about half an hour
python -m tests.mutation fast-part      choose what `make test` runs always and after changes, by coverage and costs
python -m tests.mutation draw           draw mutants (--seed, --count)
python -m tests.mutation run            try those that have not been tried; interrupt it and go on as you like
python -m tests.mutation report         what was noticed, with 95 % intervals, and each mutant that nothing noticed
python -m tests.mutation keep           add what was noticed to tests/data/mutants.json and to CONTRIBUTING's table

Mutants are made in copies of the repository in build/mutation, as they are committed: nothing changes here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import WorkItem
from tests import durations
from tests.mutation import contexts, counts, fast_part, intervals, nearest, sampling
from tests.mutation.contexts import FOLDER, ROOT

#: Mutants that are tried at the same time, each in a copy of the repository.
COPIES = 2
MUTANTS, DRAWN = FOLDER / "mutants.jsonl", FOLDER / "drawn.json"
#: Seconds until cosmic-ray ends a command that has not ended itself.
MAX_MUTANT_SECONDS = 1800.0
_CONFIG = """[cosmic-ray]
module-path = []
timeout = {seconds}
excluded-modules = []
test-command = "{python} -m tests.mutation.check"
[cosmic-ray.distributor]
name = "local"
"""


def measure() -> int:
    """Run all tests that are not slow with coverage, and note what each of them costs."""
    os.environ["XLASCOPE_TESTS_COSTS"] = "1"
    durations.COSTS.unlink(missing_ok=True)
    contexts.DATA.unlink(missing_ok=True)
    sources = [ROOT / folder for folder in sampling.SOURCES]
    side_by_side = ["--numprocesses", "2", "--dist", "worksteal"]
    kinds = ("not slow and not live", "not slow and live")
    code = max(contexts.record(sources, [*side_by_side, "-m", kind]) for kind in kinds)  # a failure stops neither
    missing = sorted(set(durations.read_costs()) - contexts.Contexts().tests())
    print(f"{len(missing)} tests that ran have no coverage: a test before them took the place of coverage's tracer")
    return code


def draw(seed: str, count: int) -> None:
    """Draw mutants and put them into sessions of cosmic-ray, one for each copy."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    MUTANTS.unlink(missing_ok=True)
    command = ["git", "rev-parse", "--short", "HEAD"]
    revision = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    DRAWN.write_text(json.dumps({"revision": revision, "seed": seed}), encoding="utf-8")
    mutants = sampling.draw(seed, count)
    for copy in range(COPIES):
        session = FOLDER / f"session-{copy}.sqlite"
        session.unlink(missing_ok=True)
        with use_db(session, WorkDB.Mode.create) as database:
            chosen = [item for item in enumerate(mutants) if item[0] % COPIES == copy]
            database.add_work_items(WorkItem.single(f"{number:04}", mutant) for number, mutant in chosen)
    print(f"{len(mutants)} mutants of {len({mutant.module_path for mutant in mutants})} files are drawn")


def try_mutants() -> None:
    """Let cosmic-ray try the mutants that have no result yet, some at a time."""
    processes = [_start(copy) for copy in range(COPIES)]
    try:
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.terminate()


def _start(copy: int) -> subprocess.Popen[bytes]:
    tree, config = FOLDER / f"copy-{copy}", FOLDER / f"copy-{copy}.toml"
    _make_copy(tree)
    config.write_text(_CONFIG.format(seconds=MAX_MUTANT_SECONDS, python=sys.executable), encoding="utf-8")
    roots = os.pathsep.join(str(tree / root) for root in ("core", "kernel_ext", "widgets"))
    variables = {
        "PYTHONPATH": roots,
        "XLASCOPE_TESTS_MUTANTS": str(MUTANTS),
        "XLASCOPE_TESTS_COVERAGE": str(contexts.DATA),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [Path(sys.executable).with_name("cosmic-ray"), "exec", config, FOLDER / f"session-{copy}.sqlite"]
    return subprocess.Popen(command, cwd=tree, env={**os.environ, **variables})


def _make_copy(tree: Path) -> None:
    """Make a copy of what is committed, with what tests have compiled and asked before."""
    if tree.exists():
        subprocess.run(["git", "checkout", "--quiet", "--force", "HEAD"], cwd=tree, check=True)
        return
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], check=True)
    for kept in ("compiled", "oracle"):
        if (ROOT / "build" / kept).exists():
            shutil.copytree(ROOT / "build" / kept, tree / "build" / kept)


def _read_tried() -> list[dict[str, Any]]:
    """Return what became of each mutant that was tried."""
    return [json.loads(line) for line in MUTANTS.read_text(encoding="utf-8").splitlines()]


def report() -> None:
    """Print what was noticed, and the mutants that nothing noticed."""
    tried = _read_tried()
    counting = [mutant for mutant in tried if mutant["outcome"] in ("noticed", "survived")]
    print(f"{len(tried)} tried: {dict(Counter(mutant['outcome'] for mutant in tried))}; {len(counting)} count")
    print(intervals.describe(counting))
    for mutant in counting:
        if not mutant["fast"]:
            print(f"\n{mutant['outcome']}, by {mutant['noticed_by']}; {mutant['tests']} tests, {mutant['seconds']} s")
            print(mutant["diff"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["coverage", "fast-part", "draw", "run", "report", "keep"])
    parser.add_argument("--seed", default="0", help="draw other mutants")
    parser.add_argument("--count", type=int, default=260, help="so many: of 260, about 200 pass the smoke test")
    parser.add_argument("--seconds", type=float, default=200.0, help="processor seconds of the fast part's other tests")
    parser.add_argument("--live-seconds", type=float, default=110.0, help="the same of its live tests")
    chosen = parser.parse_args(arguments)
    if chosen.command == "coverage":
        return measure()
    if chosen.command == "fast-part":
        print(fast_part.write(chosen.seconds, chosen.live_seconds))
        print(nearest.write(sampling.SOURCES))
    elif chosen.command == "draw":
        draw(chosen.seed, chosen.count)
    elif chosen.command == "run":
        try_mutants()
    elif chosen.command == "keep":
        counts.keep(counts.Count.of(_read_tried(), **json.loads(DRAWN.read_text(encoding="utf-8"))))
    else:
        report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
