"""A cluster of two processes in a notebook's kernel: cells, errors, interrupts, a death, a restart."""

import os
import re
import signal
import time

import pytest
from tests.kernel_ext.cluster.conftest import SETUP, ClusterKernel, text_of

PIDS = "[item.pid for item in xs.cluster.status().processes]"
LOOP = """%%px
while True:
    y = summed(x)
    calls += 1
    if calls == 20: print("twenty")
"""


def pids_of(kernel: ClusterKernel) -> list[int]:
    (result,) = kernel.ok(PIDS).of("execute_result")
    return list(map(int, re.findall(r"\d+", result["data"]["text/plain"])))


def test_a_cell_runs_in_all_processes_and_has_one_strip(kernel):
    output = kernel.ok("%%px\nfor _ in range(9): y = summed(x)\nprint(xs.process_index(), float(y))")
    shown = text_of(output)
    assert "0 0.55" in shown and "1 0.55" in shown
    (strip,) = [item for item in output.of("update_display_data") if "ran 9 times" in item["data"]["text/plain"]]
    assert "for 2 devices (cpu)" in strip["data"]["text/plain"]


def test_a_program_of_one_process_is_told_apart(kernel):
    shown = text_of(kernel.ok("%%px\nif xs.process_index() == 1: xs.jit(lambda x: x + 1)(2.0)"))
    assert "<lambda> (process 1)" in shown


def test_an_error_of_one_process_is_named(kernel):
    output = kernel.cell("%%px\nfloat(summed(x))\nif xs.process_index() == 1: raise ValueError('bad batch')")
    assert output.of("error")
    assert re.search(r"ValueError.* in run of In\[\d+\] in process 1", text_of(output), re.DOTALL)
    assert "xlascope_ipython" not in text_of(output)


def test_an_interrupt_stops_all_processes_at_one_call(kernel):
    interrupted = []

    def interrupt(seconds):
        if not interrupted and seconds > 0.5:
            interrupted.append(os.kill(kernel.manager.provisioner.process.pid, signal.SIGINT))

    assert kernel.cell(LOOP, during=interrupt).of("error")
    shown = text_of(kernel.ok("%%px\nfloat(summed(x))\nprint('calls', calls)"))
    counts = re.findall(r"calls (\d+)", shown)
    assert len(counts) == 2 and len({*counts}) == 1 and int(counts[0]) >= 20


def test_starting_again_returns_the_cluster_that_runs(kernel):
    pids = pids_of(kernel)
    assert "running already" in kernel.ok("again = xs.cluster.start(2)").text
    kernel.ok("assert again is cluster")
    assert kernel.error("xs.cluster.start(3)")[0] == "DistributedError"
    assert pids_of(kernel) == pids


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("0", "n is a number of processes, 1 or more, got 0"),
        ("2.0", "got 2.0"),
        ("True", "got True"),
        ("'2'", "got '2'"),
        ("2, devices=0", "devices is a number of devices of each CPU, 1 or more, got 0"),
        ("2, timeout=-1", "timeout is a number of seconds above 0, got -1"),
        ("2, devices=3", "a cluster of 2 processes, started without devices=, runs already"),
    ],
)
def test_what_cannot_be_started_is_refused_at_once(kernel, arguments: str, words: str):
    name, message = kernel.error(f"xs.cluster.start({arguments})")
    assert name == ("DistributedError" if "runs already" in words else "ValueError") and words in message


def test_a_process_that_dies_is_named_and_a_restart_repairs(kernel):
    began = time.monotonic()
    name, message = kernel.error(
        "%%px\nif xs.process_index() == 1: os.kill(os.getpid(), 9)\nwhile True: float(summed(x))"
    )
    assert time.monotonic() - began < 60
    assert name == "PeerLostError" and "process 1 of 2" in message and "has ended by SIGKILL" in message
    name, message = kernel.error("%px 1 + 1")
    assert name == "PeerLostError" and "process 1" in message and "xs.cluster.restart()" in message
    assert re.search(r"1 +1 .* ended", text_of_result(kernel.ok("xs.cluster.status()")))
    kernel.ok("xs.cluster.restart()")
    kernel.ok(SETUP)
    shown = text_of(kernel.ok("%%px\nprint(xs.process_index(), float(summed(x)))"))
    assert "0 0.55" in shown and "1 0.55" in shown


def text_of_result(output) -> str:
    (result,) = output.of("execute_result")
    return result["data"]["text/plain"]
