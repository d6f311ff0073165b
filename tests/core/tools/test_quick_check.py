"""`python -m xlascope doctor --device`: what works is said, and what crashes, hangs or is wrong costs one line."""

import json
import subprocess
import sys

import pytest

import xlascope as xs
from xlascope.tools.device import checks
from xlascope.tools.device.quick_check import check_names, run_process


def report(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "xlascope", "doctor", "--device", *words], capture_output=True, text=True, timeout=500
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("check", [name for name in check_names() if name not in ("several devices", "profile")])
def test_every_check_holds_here(check: str) -> None:
    checks.CHECKS[check](xs.devices("cpu")[0])


@pytest.mark.live
def test_the_profile_holds_here() -> None:
    assert "has an equation" in checks.check_profile(xs.devices("cpu")[0])


def test_the_report_says_what_works() -> None:
    status, said = report("--only", "arithmetic", "several devices")
    assert status == 0 and "versions   xlascope" in said and "device     cpu: cpu" in said
    assert "works   arithmetic" in said and "-       several devices" in said and said.endswith("1 of 1 work\n")


def test_the_report_as_json_and_a_check_that_takes_too_long() -> None:
    status, said = report("--only", "training", "--json", "--limit", "60")
    found = json.loads(said)
    assert status == 0 and found["checks"][0]["result"] == "works" and found["versions"].startswith("xlascope")
    status, said = report("--only", "training", "--json", "--limit", "0.05")
    assert status == 1 and "did not end within 0.05 s" in json.loads(said)["device"]


def test_a_platform_that_is_not_here_is_said() -> None:
    status, said = report("--platform", "abacus")
    assert status == 1 and "no backend named 'abacus'" in said


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.abort()", "its process ended with signal 6"),
        ("import time; time.sleep(60)", "it did not end within 1 s"),
        (
            "import sys; print('gone wrong', file=sys.stderr); sys.exit(3)",
            "its process ended with exit status 3: gone wrong",
        ),
        ('print(\'["fails", "off by 3"]\')', "off by 3"),
    ],
)
def test_what_goes_wrong_in_a_check_is_one_line(program: str, words: str) -> None:
    found = run_process("loops", [sys.executable, "-c", program], 1.0 if "sleep" in program else 60.0)
    assert (found.result, found.words) == ("fails", words)


def test_a_wrong_number_fails() -> None:
    with pytest.raises(AssertionError, match=r"off by 1, of numbers up to 3"):
        checks._assert_close([1.0, 2.0], [1.0, 3.0], 0.1)
