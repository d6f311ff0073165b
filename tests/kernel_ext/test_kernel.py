"""In a real kernel: the strip appears while the cell runs, and what stays in the notebook is picture and text."""

import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

WIDGET = "application/vnd.jupyter.widget-view+json"
TRAIN = "for _ in range({}): w = update(w, x)\nw.block_until_ready();"
SLEEPY = "for _ in range(30):\n    w = update(w, x)\n    __import__('time').sleep(0.05)"


def test_the_strip_appears_while_the_cell_still_runs(kernel: Any) -> None:
    output = kernel.run(SLEEPY)
    kinds = [kind for _, kind, _ in output.messages]
    assert kinds.count("display_data") == kinds.count("update_display_data") == 1
    assert kinds.index("comm_open") < kinds.index("display_data") < kinds.index("comm_msg")
    appeared = next(seconds for seconds, kind, _ in output.messages if kind == "display_data")
    ended = output.messages[-1][0]
    assert appeared < 0.7 < 1.4 < ended
    assert WIDGET in output.displayed["data"] and output.displayed["transient"]["display_id"]


def test_its_numbers_move_while_the_cell_runs(kernel: Any) -> None:
    output = kernel.run(SLEEPY)
    calls = [
        program["executed"]["calls"]
        for live in output.live
        if not live["finished"]
        for program in live["programs"]
        if "executed" in program
    ]
    assert len(calls) >= 3 and calls == sorted(calls) and calls[0] < calls[-1] <= 30
    assert output.live[-1]["finished"] and output.live[-1]["programs"][0]["executed"]["calls"] == 30


def test_device_times_stream_while_the_cell_runs(kernel: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def leave_the_loop(output: Any) -> None:
        programs = [live["programs"][0] for live in output.live if not live["finished"]]
        if any(program.get("executed", {}).get("observed", 0) > 0 for program in programs):
            seen.touch()

    kernel.run("y = update(w, x)")
    kernel.run(f"import os, time\nseen, until = {str(seen)!r}, time.time() + 30")
    loop = "while time.time() < until and not os.path.exists(seen):\n    w = update(w, x)"
    kernel.run(loop, watch=leave_the_loop)
    assert seen.exists()


def test_few_messages_however_many_calls(kernel: Any) -> None:
    output = kernel.run(TRAIN.format(20_000))
    assert len(output.messages) < 20 + 20 * output.messages[-1][0]


def test_what_stays_shows_picture_and_text_without_any_widget(kernel: Any) -> None:
    output = kernel.run(TRAIN.format(2000))
    final = output.final
    assert final["transient"] == output.displayed["transient"]
    data = final["data"]
    assert data[WIDGET] == output.displayed["data"][WIDGET]
    assert "update" in data["text/plain"] and "2,000" in data["text/plain"]
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', data["text/html"])
    assert base64.b64decode(picture).startswith(b"<svg")
    assert "<script" not in data["text/html"] and "<style" not in data["text/html"]


def test_a_short_cell_that_runs_again_shows_the_kernels_of_its_last_profile(kernel: Any) -> None:
    kernel.run("import time\nuntil = time.time() + 1.5\nwhile time.time() < until: w = update(w, x)")
    executed = kernel.run("y = update(w, x)").live[-1]["programs"][0]["executed"]
    assert executed["calls"] == 1 and executed["observed"] > 0
    assert any("an earlier run" in note for note in executed["notes"])


def test_a_profile_is_sent_once_and_not_with_a_cell_that_runs_again(kernel: Any) -> None:
    cell = "import time\nuntil = time.time() + {}\nwhile time.time() < until: w = update(w, x)"
    sent: list[Any] = []
    for seconds in (2.5, 0.3):
        output = kernel.run(cell.format(seconds), metadata={"cellId": "profiled"})
        states = [content["data"].get("state", {}) for content in output.of("comm_msg", "comm_open")]
        sent.append([state["profiles"] for state in states if state.get("profiles")])
        (light,) = output.live[-1]["programs"]
        assert light["executed"]["profile"] == sent[0][-1][str(light["number"])]["id"]
        assert all(len(json.dumps(live)) < 4_000 for live in output.live)
    kernel.run("%scope off")  # draws the pictures that wait, which the next test would take for its own
    assert sent[0] and not sent[1]


def next_update(kernel: Any) -> str:
    """What the next update of a display shows, of whichever cell."""
    while (message := kernel.client.get_iopub_msg(timeout=30))["msg_type"] != "update_display_data":
        pass
    return str(message["content"]["data"]["text/html"])


def is_examined(kernel: Any) -> bool:
    """Whether the doctor has examined the programs of the last cell; asking is no cell."""
    scope = "__import__('xlascope_ipython').find_scope(get_ipython())"
    code = {"examined": f"{scope}._recent[0]._panel.is_examined"}
    number = kernel.client.execute("", silent=True, user_expressions=code)
    while (reply := kernel.client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != number:
        pass
    return bool(reply["content"]["user_expressions"]["examined"]["data"]["text/plain"] == "True")


def test_the_picture_of_a_short_cell_that_runs_again_is_drawn_when_the_kernel_is_idle(kernel: Any) -> None:
    kernel.run("y = update(w, x)")
    run_again = [kernel.run("y = update(w, x)").final["data"]["text/html"] for _ in range(2)]
    assert not any("<img" in html for html in run_again) and "ran 1 time" in run_again[1]
    assert not is_examined(kernel)
    assert "<img" in next_update(kernel)
    assert is_examined(kernel)
    built = "@xs.jit\ndef other(x): return x + 1\ny = other(x)"
    assert "<img" in kernel.run(built).final["data"]["text/html"]


def test_pictures_that_wait_are_drawn_when_watching_ends(kernel: Any) -> None:
    kernel.run("y = update(w, x)")
    assert "<img" not in kernel.run("y = update(w, x)").final["data"]["text/html"]
    kernel.client.execute("%scope off")
    assert "<img" in next_update(kernel)
    kernel.run("%scope on")


def test_a_cell_that_does_nothing_shows_nothing(kernel: Any) -> None:
    assert not kernel.run("1 + 1").of("display_data", "comm_open")


def test_a_cell_that_only_calls_shows_the_program_it_calls(kernel: Any) -> None:
    kernel.run("y = update(w, x)")
    output = kernel.run("y = update(w, x)")
    assert "traced update" in output.final["data"]["text/plain"]
    assert output.live[-1]["programs"][0]["executed"]["calls"] == 1


def test_a_thread_of_the_user_shows_in_its_cell(kernel: Any) -> None:
    code = "import threading\nt = threading.Thread(target=lambda: update(w, x)); t.start(); t.join()"
    assert "traced update" in kernel.run(code).final["data"]["text/plain"]


def test_a_raising_cell_shows_its_error_and_what_was_recorded(kernel: Any) -> None:
    output = kernel.run("y = update(w, x)\nraise ValueError('on purpose')")
    (error,) = output.of("error")
    assert (error["ename"], error["evalue"]) == ("ValueError", "on purpose")
    text = output.final["data"]["text/plain"]
    assert "traced update" in text and "ValueError" in text


def test_an_interrupted_cell_leaves_everything_in_order(kernel: Any) -> None:
    interrupted: list[float] = []

    def interrupt(seconds: float) -> None:
        if seconds > 1.0 and not interrupted:
            interrupted.append(seconds)
            kernel.manager.interrupt_kernel()

    output = kernel.run("while True: w = update(w, x)", interrupt, timeout=30)
    assert [each["ename"] for each in output.of("error")] == ["KeyboardInterrupt"]
    assert output.messages[-1][0] < interrupted[0] + 3
    assert output.live[-1]["finished"] and "KeyboardInterrupt" in output.final["data"]["text/plain"]
    after = kernel.run("y = update(w, x)\nimport threading\n[t.name for t in threading.enumerate()]")
    assert "ran 1 time" in after.final["data"]["text/plain"]
    left = kernel.run("import threading\nprint([t.name for t in threading.enumerate()])").text
    assert "xlascope" not in left


def test_single_operations_are_gathered(kernel: Any) -> None:
    output = kernel.run("for n in range(2, 62): jnp.ones(n) + 1.0")
    assert len(output.of("comm_msg")) < 10 + 15 * output.messages[-1][0]
    assert len(output.live[-1]["programs"]) <= 40 and output.live[-1]["more"] >= 20


def test_questions_are_answered_by_a_panel_and_show_no_strip(kernel: Any) -> None:
    output = kernel.run("%timings update(w, x)")
    assert not output.of("display_data", "update_display_data")
    (result,) = output.of("execute_result")
    assert WIDGET in result["data"] and "<img" in result["data"]["text/html"]
    assert " per call, 10th to 90th percentile " in result["data"]["text/plain"]
    assert len(output.of("comm_open")) == 2  # the widget and its layout


def test_a_jaxpr_is_text(kernel: Any) -> None:
    (result,) = kernel.run("%jaxpr update(w, x)").of("execute_result")
    assert set(result["data"]) == {"text/plain"}


def test_text_and_json_are_printed(kernel: Any) -> None:
    output = kernel.run("%fusions --json update(w, x)")
    assert not output.of("execute_result", "display_data", "comm_open")
    assert json.loads(output.text)["xlascope_records"] == 1


def test_a_saved_answer_opens_in_a_panel(kernel: Any, tmp_path: Path) -> None:
    kernel.run(f"%fusions --save {tmp_path / 'step.json'} update(w, x)")
    output = kernel.run(f"%scope open {tmp_path / 'step.json'}")
    assert WIDGET in output.displayed["data"]


def opened(output: Any) -> bool:
    (state,) = (content["data"]["state"] for content in output.of("comm_open") if "opened" in content["data"]["state"])
    return bool(state["opened"])


def test_the_panel_opens_when_it_is_asked_to(kernel: Any) -> None:
    assert not opened(kernel.run("y = update(w, x)"))
    assert opened(kernel.run("%%scope\ny = update(w, x)"))
    assert not opened(kernel.run("y = update(w, x)"))
    kernel.run("%scope open")
    assert opened(kernel.run("y = update(w, x)"))
    kernel.run("%scope on")
    assert not opened(kernel.run("y = update(w, x)"))


def test_off_is_off(kernel: Any) -> None:
    kernel.run("%scope off")
    output = kernel.run("y = update(w, x)\nfrom xlascope.runtime.boot import post_hook\nprint(post_hook.value)")
    assert output.text == "None\n" and not output.of("display_data", "comm_open")


def test_sources_are_called_by_their_cells(kernel: Any) -> None:
    output = kernel.run("y = update(w, x)")
    states = [content["data"].get("state", {}) for content in output.of("comm_msg")]
    programs = [program for state in states for program in state.get("programs", {}).values()]
    titles = {source["title"] for program in programs for source in program.get("sources", [])}
    assert titles and all(re.fullmatch(r"In\[\d+\]", title) for title in titles)


@pytest.mark.parametrize("line", ["%unload_ext xlascope"])
def test_unloading_in_a_kernel(kernel: Any, line: str) -> None:
    kernel.run(line)
    try:
        output = kernel.run("y = update(w, x)\nimport threading\nprint([t.name for t in threading.enumerate()])")
        assert not output.of("display_data", "comm_open") and "xlascope" not in output.text
    finally:
        kernel.run("%load_ext xlascope")
    time.sleep(0.1)
    assert kernel.run("y = update(w, x)").final


def test_the_cell_that_loads_the_extension_has_a_strip(new_kernel: Any, setup: str) -> None:
    output = new_kernel.run("%load_ext xlascope\n" + setup + "\nfor _ in range(3): w = update(w, x)")
    kinds = [kind for _, kind, _ in output.messages]
    assert kinds.count("display_data") == kinds.count("update_display_data") == 1
    assert "ran 3 times" in output.final["data"]["text/plain"] and output.live[-1]["finished"]
    assert not new_kernel.run("1 + 1").of("display_data", "comm_open")


def panels_of(output: Any) -> list[dict[str, Any]]:
    """The final numbers of the panels of a cell."""
    return [live for live in output.live if live["finished"]]


def test_a_program_that_ran_is_explored_with_what_is_known_of_it(kernel: Any) -> None:
    assert "kernels" not in panels_of(kernel.run("%explore update(w, x)"))[0]["programs"][0]
    kernel.run("for _ in range(100): y = update(w, x)")
    (state,) = panels_of(kernel.run("%explore update(w, x)"))
    (program,) = state["programs"]
    assert program["kernels"] > 0 and program["executed"]["calls"] == 100


@pytest.mark.parametrize(
    ("line", "tab"),
    [
        ("%explore", ""),
        ("%fusions", "kernels"),
        ("%fusions --why", "replay"),
        ("%memory", "memory"),
        ("%timings", "hottest"),
        ("%target cpu", "kernels"),
    ],
)
def test_each_magic_opens_on_its_answer_and_evaluates_arguments_without_a_strip(
    kernel: Any, line: str, tab: str
) -> None:
    output = kernel.run(f"{line} update(w * 1.5, jnp.ones((16, 8)))")
    (state,) = panels_of(output)
    assert not output.of("display_data") and len(output.of("execute_result")) == 1
    assert state.get("tab", "") == tab
