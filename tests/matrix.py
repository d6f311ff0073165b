"""`make matrix`: the tests on each Python and jaxlib that we say we run on, and a record of what ran.

Each environment is made where there is its Python (on the path, or pyenv's), in build/matrix, and named by what it
holds. What ran is written to tests/data/ran_with.json, by environment and part of the tests; the README's line of
versions is made from it. `--parts` names parts instead of all of them; `--environments` chooses (3.13).

`--reports FILE.xml …` records runs that were made elsewhere, from what `pytest --junitxml` wrote of them, by part, for
the environment of `--interpreter`. A whole run may be in several files: of a test in two of them the later counts.

`--some SEED` is what CI adds to its own environment: one part on one of the others, both chosen by the seed, in
`--seconds` with all that has to be installed. It says in one line what ran, and fails only when a test fails: where the
Python or its packages cannot be had, or the time is up, it says that.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests import outcomes, rerun

from xlascope.runtime import supported_jaxlibs

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "data" / "ran_with.json"
README = ROOT / "README.md"


class Environment(NamedTuple):
    """A Python, and the jaxlib in it; jax, which tests ask, is the one that belongs to that."""

    python: str
    jaxlib: str

    @property
    def name(self) -> str:
        return f"Python {self.python}, jaxlib {self.jaxlib}"


ENVIRONMENTS = tuple(
    sorted(Environment(python, each.version) for each in supported_jaxlibs.TESTED for python in each.pythons)
)
#: What CI draws from: the parts nearest to jaxlib, of half a minute each and less, the first a minute and more.
SOME = ("tests/core/xla", "tests/core/readers", "tests/core/ir", "tests/core/records", "tests/core/analysis")
#: The packages, for the examples in their docstrings.
SOURCES = ("core", "kernel_ext", "widgets")
#: pytest's exit code where a part has no test.
_NO_TESTS = 5
_OUTCOMES = re.compile(r"(\d+) (passed|failed|skipped|xfailed|error)")


class UnavailableError(Exception):
    """An environment cannot be made here; the message says why."""


def parts() -> list[str]:
    """The tests in parts: folders, and what stands in them beside folders."""
    core = [*(ROOT / "tests/core").iterdir(), *(ROOT / "tests").iterdir()]
    folders = [each for each in core if each.is_dir() and any(each.rglob("test_*.py")) and each.name != "core"]
    return [*sorted(str(each.relative_to(ROOT)) for each in folders), "tests/*.py", "tests/core/test_*.py", *SOURCES]


def interpreter(python: str) -> Path | None:
    """A Python of that version on this machine; None where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    named = shutil.which(f"python{python}")
    for found in (*sorted(pyenv.glob(f"{python}.*/bin/python"), reverse=True), *([Path(named)] if named else [])):
        asked = [str(found), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)  # a shim may have none behind it
        if answer.stdout.strip() == python:
            return found
    return None


def made(environment: Environment, until: float) -> Path:
    """The environment's interpreter, installed where it is not; raises UnavailableError where it cannot be had."""
    folder = ROOT / "build" / "matrix" / f"{environment.python}-{environment.jaxlib}"
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = (ROOT / "pyproject.toml").read_bytes()
    if stamp.exists() and stamp.read_bytes() == wanted:
        return python
    found = interpreter(environment.python)
    if found is None:
        raise UnavailableError(f"there is no Python {environment.python} on this machine")
    packages = ["--editable", f"{ROOT}[test]", f"jaxlib=={environment.jaxlib}"]
    for command in (
        [str(found), "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *packages],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=max(until - time.time(), 1))
        except subprocess.CalledProcessError as error:
            raise UnavailableError(
                f"it cannot be installed: {(error.stderr.strip() or 'no reason given')[-300:]}"
            ) from None
        except subprocess.TimeoutExpired:
            raise UnavailableError("its packages took longer than there was time") from None
    stamp.write_bytes(wanted)
    return python


class Ran(NamedTuple):
    """How a part of the tests went: how many passed and so on, and whether all of them were reached."""

    counts: dict[str, int]
    whole: bool


def run(python: Path, part: str, until: float, marks: str = "not slow") -> Ran:
    """Run a part of the tests, for as long as there is time, and again what failed."""
    files = sorted(map(str, ROOT.glob(part))) if "*" in part else [part]
    report = ROOT / "build" / "matrix" / "outcomes.jsonl"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-q", "-m", marks, "-p", "no:cacheprovider", *outcomes.arguments(report)]
    around = {name: value for name, value in os.environ.items() if not name.startswith("XLASCOPE_REQUIRE_")}
    process = subprocess.Popen(
        [*command, *files],
        cwd=ROOT,
        env=around,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=_interruptible,
    )
    whole = True
    try:
        said, _ = process.communicate(timeout=max(until - time.time(), 1))
    except subprocess.TimeoutExpired:
        whole = False
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
    counts = counted(said)
    if failed(counts):
        print(said, flush=True)
        if whole and not rerun.run_again(outcomes.read_outcomes(report), str(python))[0]:
            again = counts.pop("failed", 0) + counts.pop("error", 0)
            counts["passed"] = counts.get("passed", 0) + again
    elif whole and process.returncode not in (0, _NO_TESTS):
        raise UnavailableError(f"pytest ended with {process.returncode}: {said[-300:]}")
    return Ran(counts, whole)


def _interruptible() -> None:
    """Let SIGINT reach a process although what started us ignores it, as shells do for what runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def counted(said: str) -> dict[str, int]:
    """What pytest says of a run in its last line.

    >>> counted("..F\\nFAILED a.py::b\\n1 failed, 2 passed, 3 deselected in 0.1s\\n")
    {'failed': 1, 'passed': 2}
    """
    summaries = [line for line in said.splitlines() if re.search(r" in \d[\d.]*s", line)]
    return {what: int(number) for number, what in _OUTCOMES.findall(summaries[-1])} if summaries else {}


def failed(counts: dict[str, int]) -> bool:
    """Whether a test failed, or could not be read."""
    return bool(counts.get("failed") or counts.get("error"))


def versions(python: Path) -> dict[str, str]:
    """What an environment holds, as it says itself."""
    program = (
        "import platform, json; from importlib.metadata import version as v; "
        "print(json.dumps({'python': platform.python_version(), **{p: v(p) for p in ('jaxlib', 'jax', 'numpy')}}))"
    )
    answer = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True)
    return dict(json.loads(answer.stdout))


# What ran ------------------------------------------------------------------------------------------------------------


def recorded() -> list[dict[str, Any]]:
    """What ran with which versions, as it was written down."""
    return list(json.loads(RECORD.read_text())) if RECORD.exists() else []


def record(held: dict[str, str], part: str, counts: dict[str, int]) -> None:
    """Write down how a part of the tests went, instead of what stood there of these versions of Python and jaxlib."""
    rows = recorded()
    found = next((row for row in rows if _same(row, held)), None)
    if found is None:
        rows.append(found := {"parts": {}})
    found.update({**held, "machine": f"{platform.system()} {platform.machine()}"})
    day = time.strftime("%Y-%m-%d")
    found["parts"] = dict(sorted({**found["parts"], part: {"day": day, **counts}}.items()))
    rows.sort(key=lambda row: (_numbers(row["python"]), _numbers(row["jaxlib"])))
    RECORD.write_text(json.dumps(rows, indent=1) + "\n")


def record_reports(held: dict[str, str], reports: Sequence[Path]) -> dict[str, dict[str, int]]:
    """Write down how tests went by files of `pytest --junitxml`; those of a later file count where a test is in two."""
    outcomes: dict[tuple[str, str], str] = {}
    for report in reports:
        outcomes.update(outcomes_of(report.read_text()))
    counts: dict[str, dict[str, int]] = {}
    for (place, _), outcome in outcomes.items():
        of_part = counts.setdefault(part_of(place), {})
        of_part[outcome] = of_part.get(outcome, 0) + 1
    for part, counted_ in counts.items():
        record(held, part, dict(sorted(counted_.items())))
    return counts


def outcomes_of(report: str) -> dict[tuple[str, str], str]:
    """By a test's module and name how it went.

    >>> outcomes_of('<testsuites><testcase classname="tests.a.test_b" name="c"/></testsuites>')
    {('tests.a.test_b', 'c'): 'passed'}
    """
    return {
        (case.get("classname", ""), case.get("name", "")): _outcome(case)
        for case in ElementTree.fromstring(report).iter("testcase")
    }


def _outcome(case: ElementTree.Element) -> str:
    for what, outcome in (("error", "error"), ("failure", "failed")):
        if case.find(what) is not None:
            return outcome
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"


def part_of(place: str) -> str:
    """The part in which a module's tests are.

    >>> part_of("tests.core.xla.test_explain"), part_of("tests.core.test_jit"), part_of("core.xlascope.tree")
    ('tests/core/xla', 'tests/core/test_*.py', 'core')
    """
    folders = place.split(".")
    if folders[0] != "tests":
        return folders[0]
    if folders[1] != "core":
        return "/".join(folders[:2]) if (ROOT / "tests" / folders[1]).is_dir() else "tests/*.py"
    return "/".join(folders[:3]) if (ROOT / "tests/core" / folders[2]).is_dir() else "tests/core/test_*.py"


def _same(row: dict[str, Any], held: dict[str, str]) -> bool:
    return _numbers(row["python"])[:2] == _numbers(held["python"])[:2] and row["jaxlib"] == held["jaxlib"]


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version)]


def versions_line(rows: Sequence[dict[str, Any]]) -> str:
    """What the README says of the versions that the tests were run with."""
    told = [f"Python {'.'.join(row['python'].split('.')[:2])} with jaxlib {row['jaxlib']}" for row in rows]
    listed = " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)
    return f"Tested with {listed}, NumPy {_range(rows)}: [what ran](tests/data/ran_with.json)."


def _range(rows: Sequence[dict[str, Any]]) -> str:
    found = sorted({row["numpy"] for row in rows}, key=_numbers)
    return " and ".join(dict.fromkeys((found[0], found[-1])))


_LINE = re.compile(r"(?<=<!-- versions: made by `make matrix` -->\n).*?(?=\n\n)", re.DOTALL)


def with_line(readme: str, line: str) -> str:
    """The README with that line in its place, broken as prose is."""
    words, lines = line.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) >= 120:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return _LINE.sub("\n".join(lines), readme, count=1)


# The two ways to run -------------------------------------------------------------------------------------------------


def everything(environments: Sequence[Environment], chosen: Sequence[str]) -> int:
    """Run the parts on each environment that can be had; 1 when a test failed."""
    worst = 0
    for environment in environments:
        try:
            python = made(environment, time.time() + 1800)
        except UnavailableError as error:
            print(f"{environment.name}: not run, {error}")
            continue
        held = versions(python)
        for part in chosen:
            ran = run(python, part, time.time() + 7200)
            record(held, part, ran.counts)
            print(f"{environment.name}: {part}: {told(ran)}", flush=True)
            worst |= failed(ran.counts)
    write_line()
    return worst


def write_line() -> None:
    """Let the README say what is recorded."""
    README.write_text(with_line(README.read_text(), versions_line(recorded())))


def total(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    """The sums over the parts.

    >>> total({"tests/docs": {"passed": 2}, "core": {"failed": 1, "passed": 3}})
    {'failed': 1, 'passed': 5}
    """
    names = sorted({name for each in counts.values() for name in each})
    return {name: sum(each.get(name, 0) for each in counts.values()) for name in names}


def some(seed: str, seconds: float) -> int:
    """Run one part on one environment that is not this one; 1 when a test failed."""
    until = time.time() + seconds
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    chance = random.Random(seed)
    environment = chance.choice([each for each in ENVIRONMENTS if each.python != here])
    part = chance.choice(SOME)
    try:
        ran = run(made(environment, until - 60), part, until, "not slow and not live")
    except (UnavailableError, OSError) as error:
        print(f"matrix: {environment.name}: not run, {error}")
        return 0
    print(f"matrix: {environment.name}: {part}: {told(ran)}")
    return int(ran.whole and failed(ran.counts))  # a test that was stopped may have failed over that


def told(ran: Ran) -> str:
    """``12 passed, 1 skipped``."""
    counts = ", ".join(f"{number} {what}" for what, number in ran.counts.items()) or "nothing ran"
    return counts if ran.whole else f"{counts} (stopped when its time was up)"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--environments", nargs="+", metavar="3.13", help="these Pythons instead of all")
    parser.add_argument("--parts", nargs="+", metavar="tests/core/xla", help="these parts instead of all")
    parser.add_argument("--reports", nargs="+", type=Path, metavar="FILE.xml", help="record these runs of pytest")
    parser.add_argument("--interpreter", type=Path, default=Path(sys.executable), help="what made the reports")
    parser.add_argument("--some", metavar="SEED", help="one part on one other environment")
    parser.add_argument("--seconds", type=float, default=420.0, help="the time that --some may take")
    chosen = parser.parse_args(arguments)
    if chosen.reports is not None:
        held = versions(chosen.interpreter)
        counts = record_reports(held, chosen.reports)
        write_line()
        print(f"{held['python']}, jaxlib {held['jaxlib']}: {told(Ran(total(counts), True))} in {len(counts)} parts")
        return int(any(map(failed, counts.values())))
    if chosen.some is not None:
        return some(chosen.some, chosen.seconds)
    wanted = [each for each in ENVIRONMENTS if chosen.environments is None or each.python in chosen.environments]
    return everything(wanted, chosen.parts or parts())


if __name__ == "__main__":
    sys.exit(main())
