"""`.ci/run` beside programs that only pretend to be make and Python: which steps run, and what it says at the end."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.rerun import ROOT

MAKE = """#!/bin/sh
case "$1" in
  guard | .venv/.installed-targets) exit 2 ;;
  test-all) echo "=== 5 passed in 3s ===" ;;
  patrol) echo "$*"; echo "unsteady: a.py::b (run of 1, 1 of 3)"; echo "== 2 passed in 3s ==" ;;
esac
[ "$1" != "$FAILS" ]
"""
PROGRAMS = {"bin/make": MAKE, ".venv/bin/python": '#!/bin/sh\necho "matrix: $*"\n'}
PROGRAMS |= dict.fromkeys(("bin/chromium", "bin/npx"), "#!/bin/sh\n")
BEFORE = {"packages": "0", "install": "0", "targets": "2", "front-types": "0", "test-all": "0"}
AFTER = {"guard": "2", "answers": "0", "jax-programs": "0", "libraries": "0", "patrol": "0", "matrix": "0"}


def run(folder: Path, fails: str) -> tuple[int, str, dict[str, str]]:
    """Run it where one step fails; return its exit code, its output, and the exit code of each step."""
    for name, text in {**PROGRAMS, ".ci/run": ROOT.joinpath(".ci/run").read_text(encoding="utf-8")}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    around = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "FAILS": fails, "XLASCOPE_TESTS_ORDER": "2026-11-26"}
    done = subprocess.run([folder / ".ci/run"], env=os.environ | around, capture_output=True, text=True, check=False)
    steps = re.findall(r"^ *\d+ s  (\S+) +exit code (\d)$", done.stdout, re.MULTILINE)
    return done.returncode, done.stdout, dict(steps)


def test_every_step_runs_and_the_end_has_all_results(tmp_path: Path) -> None:
    code, said, steps = run(tmp_path, "nothing")
    assert code == 0 and steps == BEFORE | AFTER
    assert "patrol DAY=2026-11-26 STOP_AFTER=1200" in said
    end = said.partition("screenshots: ")[2]
    assert all(line in end for line in ("=== 5 passed in 3s ===", "unsteady: a.py::b", "== 2 passed in 3s =="))
    assert end.endswith(" s  of 3000 s, exit code 0\n")


@pytest.mark.parametrize(
    ("fails", "steps"), [("patrol", BEFORE | AFTER | {"patrol": "1"}), ("test-all", BEFORE | {"test-all": "1"})]
)
def test_a_failure_is_said_at_the_end(fails: str, steps: dict[str, str], tmp_path: Path) -> None:
    code, said, ran = run(tmp_path, fails)
    assert code == 1 and ran == steps
    assert said.endswith(" s  of 3000 s, exit code 1\n")
