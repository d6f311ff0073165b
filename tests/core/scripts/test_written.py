"""What a watched script leaves, however it ends."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.core.scripts.running import PROGRAM, Place, ended, share_of_step, when_it_says

from xlascope.records import Compiled, Executed, Failure, TimeAccount, Traced, ValueHistory, ValueReport

pytestmark = pytest.mark.live

WAIT = PROGRAM + "\nimport time\nprint('ready', flush=True)\ntime.sleep(60)\n"
#: The main thread waits in XLA, and answers no signal.
BUSY = (
    PROGRAM
    + """
print('ready', flush=True)
xs.jit(lambda x: xs.lax.while_loop(lambda c: c[0] < 2_000_000_000, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x)))(
    jnp.ones(64))[1].block_until_ready()
"""
)


@pytest.mark.parametrize(
    ("script", "number", "how"),
    [
        (WAIT, signal.SIGINT, "KeyboardInterrupt"),
        (WAIT, signal.SIGTERM, "SIGTERM"),
        (WAIT, signal.SIGHUP, "SIGHUP"),
        (BUSY, signal.SIGTERM, "SIGTERM"),
    ],
)
def test_a_signal(place: Place, script: str, number: signal.Signals, how: str) -> None:
    process = place.start(["-m", "xlascope", "watch", place.write(script)])
    when_it_says(process, "ready")
    time.sleep(0.5)
    process.send_signal(number)
    found = ended(process)
    assert found.status == -number
    run = place.script()
    assert run.ended == how and share_of_step(run).calls == 200
    assert (place.folder / "train.xlascope.html").exists() and "train.xlascope.html" in found.said
    failures = [each for each in place.records() if isinstance(each, Failure)]
    assert [each.error for each in failures] == ["KeyboardInterrupt"] * (number == signal.SIGINT)


def test_while_it_runs_and_when_nobody_can_tell_of_its_end(place: Place) -> None:
    text = PROGRAM + "\nimport os, time\nfor i in range(8):\n    x = step(x); time.sleep(0.5)\nos._exit(5)\n"
    process = place.start(["-m", "xlascope", "watch", "--every", "1s", place.write(text)])
    when_it_says(process, "result")
    json, html = (place.folder / f"train.xlascope.{suffix}" for suffix in ("json", "html"))
    while not json.exists():
        time.sleep(0.05)
    first = place.script()
    assert first.ended == "" and first.seconds >= 1
    found = ended(process)
    assert found.status == 5 and found.said == ""
    last = place.script()
    assert last.ended == "" and last.seconds > first.seconds and share_of_step(last).calls > 200
    assert html.exists() and not list(place.folder.glob(".*"))


def test_the_records_are_whole(place: Place) -> None:
    place.watch("-o", "here.html", place.write(PROGRAM + "step(x[:8, :8])\n"))
    found = place.records("here.json")
    (traced, again) = (each for each in found if isinstance(each, Traced) and each.function == "step")
    assert [each.operation for each in traced.jaxpr.equations][:2] == ["dot_general", "tanh"]
    assert traced.sources[0].text == (place.folder / "train.py").read_text()
    assert "f32[8,8]" in again.reason and again.fix
    compiled = next(each for each in found if isinstance(each, Compiled) and each.program == traced.program)
    assert compiled.kernels and "HloModule" in compiled.hlo
    run = next(each for each in found if isinstance(each, Executed) and each.program == traced.program)
    assert run.calls == 200
    script = place.script("here.json")
    assert any(each.startswith("xlascope ") for each in script.versions) and script.devices == ("cpu:0",)
    shown = place.run("-m", "xlascope", "show", "here.json")
    assert "step" in shown.output and "step: traced again 1 time" in shown.output and not shown.errors
    drawn = place.run("-m", "xlascope", "show", "here.json", "-o", "again.html")
    assert drawn.status == 0
    pages = [(place.folder / name).read_text() for name in ("here.html", "again.html")]
    assert re.sub(r'"now": [\d.]+', "", pages[0]) == re.sub(r'"now": [\d.]+', "", pages[1])


def test_the_account_of_the_main_threads_time(place: Place) -> None:
    outcome = place.watch(place.write(PROGRAM + "for _ in range(30): y = x * 1.5\n"))
    assert outcome.status == 0
    (account,) = (record for record in place.records() if isinstance(record, TimeAccount))
    parts = {(part.activity, part.function): part for part in account.parts}
    assert parts["dispatch", "step"].count == 200 and parts["eager", ""].count >= 30
    assert account.function == "train.py" and account.seconds >= place.script().seconds / 2
    shown = place.run("-m", "xlascope", "show", "train.xlascope.json").output
    assert "train.py took" in shown and "dispatching step, 200 calls" in shown and "unaccounted" in shown


def test_show_writes_the_file_that_it_is_asked_for(place: Place) -> None:
    place.watch("-o", "run", place.write(PROGRAM + "step(x[:8, :8])\n"))
    printed = place.run("-m", "xlascope", "show", "run.json")
    for suffix in ("txt", "json"):
        written = place.run("-m", "xlascope", "show", "run.json", "-o", f"again.{suffix}")
        assert written[:3] == (0, "", "")
    assert (place.folder / "again.txt").read_text() == printed.output
    assert place.records("again.json") == place.records("run.json")


def test_its_last_words_name_what_was_traced_again(place: Place) -> None:
    found = place.watch(place.write(PROGRAM + "step(x[:8, :8])\n"))
    again = next(line for line in found.said.splitlines() if "traced again" in line)
    assert again.startswith("xlascope: step: traced again 1 time, ") and "f32[40,40] (weak) → f32[8,8] (weak)" in again


#: What is sent to forked children is not sent to their parent; at the end a pool ends its children by SIGTERM.
FORKS = """
import multiprocessing, os, signal, time
import xlascope as xs, xlascope.numpy as jnp
xs.jit(jnp.tanh)(jnp.ones(3))
def wait(number):
    return number
for _ in range(5):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(wait, range(4)) == [0, 1, 2, 3]
    child = os.fork()
    if not child:
        time.sleep(60)
    os.kill(child, signal.SIGTERM)
    assert os.waitpid(child, 0)[1] == signal.SIGTERM
time.sleep(1.5)  # longer than the two looks in which a signal would be found
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
print("survived")
"""


def test_a_signal_to_a_forked_child_does_not_end_its_parent(place: Place) -> None:
    found = place.watch(place.write(FORKS))
    assert found[:2] == (0, "survived\n") and place.script().ended == "ended"


@pytest.mark.parametrize("words", [["none.json"], ["train.py"], ["here.json", "-o", "here.gif"]])
def test_what_cannot_be_shown(place: Place, words: list[str]) -> None:
    place.write(PROGRAM)
    place.write('{"xlascope_records": 1, "records": []}', "here.json")
    found = place.run("-m", "xlascope", "show", *words)
    assert found.status == 1 and len(found.errors.splitlines()) == 1 and found.errors.startswith("python -m xlascope")


def test_a_place_that_cannot_be_written_is_said_before_it_runs(place: Place) -> None:
    found = place.watch("-o", "nowhere/run", place.write(PROGRAM))
    assert found.status == 2 and not found.output and "there is no folder" in found.errors
    found = place.watch("--every", "soon", place.write(PROGRAM))
    assert found.status == 2 and not found.output and "examples: 60s, 5min, 1h" in found.errors


def test_a_job_of_several_processes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "8")
    place.watch("-o", "run", "-c", "pass")
    assert place.script("run.3.json").process == "3 of 8"


def test_with_nothing_but_an_interpreter(place: Place) -> None:
    """No display, no home, no path, nobody who reads what is said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "xlascope", "watch", place.write(PROGRAM)],
        cwd=place.folder,
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: [os.close(number) for number in (0, 2)],
    )
    assert process.wait(timeout=60) == 0
    assert place.script().ended == "ended" and (place.folder / "train.xlascope.html").exists()


def on_a_terminal(place: Place, *words: str) -> str:
    main, other = pty.openpty()
    process = place.start(["-m", "xlascope", "watch", *words], stderr=other, stdout=subprocess.DEVNULL)
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # nobody writes any more
            break
        if not part:
            break
        said += part
    os.close(main)
    assert process.wait() == 0
    return said.decode()


def test_a_line_on_a_terminal_is_written_over(place: Place) -> None:
    said = on_a_terminal(place, place.write(PROGRAM + "import time\ntime.sleep(2.5)\n"))
    lines = re.findall(r"\r\x1b\[K(xlascope 0:0\d: [^\r\n]+)\r", said)
    assert len(lines) >= 2 and any("step ran" in line for line in lines)
    shown = re.sub(r"\r\x1b\[K[^\r\n]*\r(?=\r)", "", said)  # what is there in the end
    assert shown.count("\n") == 1 and re.search(r"\r\x1b\[Kxlascope: \d+ programs? in", shown)


def test_a_block_of_a_script(place: Place) -> None:
    text = PROGRAM + (
        "import os\n"
        "with xs.watch('part.html') as run:\n"
        "    for _ in range(500):\n        x = step(x)\n"
        "print(run.json == os.path.abspath('part.json'), run.html.name)\n"
        "try:\n"
        "    with xs.watch('failed'):\n        xs.jit(lambda x: x + jnp.ones(3))(jnp.ones(2))\n"
        "except TypeError:\n    print('went on')\n"
    )
    found = place.run(place.write(text))
    assert found.status == 0 and found.errors == found.said == ""
    part = place.script("part.json")
    assert part.ended == "ended" and [(each.function, each.calls) for each in part.shares] == [("step", 500)]
    assert any(isinstance(each, Traced) for each in place.records("part.json"))  # it was traced before the block
    assert place.script("failed.json").ended == "TypeError"
    assert {path.name for path in Path(place.folder).iterdir()} >= {"part.html", "failed.html"}
    within = place.watch("-o", "whole", "train.py")
    assert within[:3] == found[:3] and place.script("whole.json").ended == "ended"


def test_a_script_of_jax(place: Place) -> None:
    text = PROGRAM.replace("import xlascope as xs, xlascope.numpy as jnp", "import jax as xs, jax.numpy as jnp")
    script = place.write(text + "print(sorted(name for name in sys.modules if name.startswith('xlascope.lax')))\n")
    alone, watched = place.run(script), place.watch(script)
    assert watched[:3] == alone[:3] and alone.output.endswith("[]\n")
    run = place.script()
    step = next(each for each in run.shares if each.function == "step")
    assert step.calls == 200 and step.kept and any(each.startswith("jax ") for each in run.versions)
    traced = next(each for each in place.records() if isinstance(each, Traced) and each.function == "step")
    assert "tanh" in {each.operation for each in traced.jaxpr.walk()}


TRAINING = """
import xlascope as xs, xlascope.numpy as jnp
@xs.jit
def update(w, x):
    loss, gradient = xs.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    return w - 0.01 * gradient, loss
w = jnp.eye(8)
for number in range(40):
    w, loss = update(w, jnp.ones((4, 8)) * (1e30 if number >= 30 else 1.0))
"""


def test_values_of_a_training_step(place: Place) -> None:
    outcome = place.watch("--values", place.write(TRAINING))
    assert outcome.status == 0
    assert "xlascope: update: 40 calls" in outcome.said and "wrong from step 30 on" in outcome.said
    history = next(record for record in place.records() if isinstance(record, ValueHistory))
    assert (history.calls, history.bad_step) == (40, 30)
    assert any(isinstance(record, ValueReport) for record in place.records())
    shown = place.run("-m", "xlascope", "show", "train.xlascope.json").output
    assert "update: 40 calls" in shown and "exceeds the largest float32" in shown


def test_values_without_a_training_step(place: Place) -> None:
    assert place.watch("--values", place.write(PROGRAM)).status == 0
