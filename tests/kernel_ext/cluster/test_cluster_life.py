"""The life of a cluster: how it starts again, what frees processes that wait, whose engines it takes, what is left."""

import importlib.util
import re
import time
from pathlib import Path

import numpy as np
import pytest
from tests.kernel_ext.cluster.conftest import SETUP, ClusterKernel, text_of, wait_until_gone

import xlascope as xs

DIGITS = Path(__file__).parents[2] / "core/processes/digit_programs.py"
#: A cell whose process 1 raises while process 0 waits for it in a collective.
ONE_RAISES = "%%px\nif xs.process_index() == 1: raise ValueError('bad batch')\nfloat(summed(x))"
WHO = "%%px\nimport xlascope as xs\nprint(xs.process_index(), 'of', xs.process_count())"


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A kernel of its own without a cluster; nothing of it may be left."""
    kernel = ClusterKernel(tmp_path, monkeypatch)
    yield kernel
    processes = kernel.processes() if kernel.manager.is_alive() else []
    kernel.stop()
    assert not wait_until_gone(processes)


@pytest.mark.slow
def test_nothing_is_left_when_the_kernel_is_killed(fresh):
    fresh.start()
    processes = fresh.processes()
    words = [word for process in processes for word in process.cmdline() if "xlascope-cluster-" in word]
    folders = {Path(word) for word in words if Path(word).is_dir()}
    assert len(processes) > 4 and folders
    fresh.kill()
    assert not wait_until_gone(processes)
    deadline = time.monotonic() + 10
    while any(path.exists() for path in folders) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(path.exists() for path in folders)


@pytest.mark.slow
def test_it_starts_again_four_times_and_ends(fresh):
    fresh.start(devices=2)
    for _ in range(4):
        fresh.ok("xs.cluster.restart()")
        shown = text_of(fresh.ok(WHO.replace("process_count", "device_count")))
        assert "0 of 4" in shown and "1 of 4" in shown
    processes = [process for process in fresh.processes() if "ipyparallel" in " ".join(process.cmdline())]
    fresh.ok("xs.cluster.stop()")
    assert not wait_until_gone(processes)
    name, message = fresh.error("%px 1")
    assert name == "DistributedError" and "xs.cluster.start(4)" in message
    fresh.start()


@pytest.mark.slow
def test_processes_that_wait_for_one_that_raised_are_named_and_freed(fresh):
    fresh.start()
    fresh.ok("%px float(summed(x))")
    interrupted = []

    def interrupt(output):
        """Interrupt when it is said that processes wait."""
        if not interrupted and "still runs it" in output.text:
            interrupted.append(fresh.manager.interrupt_kernel())

    output = fresh.cell(ONE_RAISES, watch=interrupt)
    shown = text_of(output)
    assert "process 1 ended this cell by ValueError; process 0 still runs it" in shown
    assert output.of("error")[-1]["ename"] == "PeerLostError"
    name, message = fresh.error("%px 1")
    assert name == "PeerLostError" and "process 0 has not ended the cell" in message
    fresh.ok("xs.cluster.restart()")
    fresh.ok(SETUP)
    assert "0.55" in text_of(fresh.ok("%%px\nprint(float(summed(x)))"))


@pytest.mark.slow
def test_a_process_that_hangs_is_an_error_within_a_minute(fresh):
    fresh.start()
    began = time.monotonic()
    stop = "%%px\nimport signal\nif xs.process_index() == 1: os.kill(os.getpid(), signal.SIGSTOP)\n"
    name, message = fresh.error(f"{stop}while True: float(summed(x))")
    assert time.monotonic() - began < 60
    assert name == "PeerLostError" and "process 1" in message and "xs.cluster.restart()" in message
    assert fresh.error("%px 1")[0] == "PeerLostError"
    fresh.ok("xs.cluster.restart()")
    assert "1 of 2" in text_of(fresh.ok(WHO))


@pytest.mark.slow
def test_digits_are_those_of_one_process(fresh):
    pytest.importorskip("sklearn")
    specification = importlib.util.spec_from_file_location("digit_programs", DIGITS)
    digits = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(digits)
    expected = digits.on_one(xs)
    fresh.start()
    load = (
        f"%%px\nimport importlib.util\nspec = importlib.util.spec_from_file_location('digits', {str(DIGITS)!r})\n"
        "digits = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(digits)\n"
    )
    fresh.ok(load)
    shown = text_of(fresh.ok("%%px\nby_data, by_tensors = digits.in_parallel(xs)\nprint(by_data)\nprint(by_tensors)"))
    lists = [
        [float(text) for text in found.split(",")] for found in re.findall(r"\[(\d[\d., e-]+)\]$", shown, re.MULTILINE)
    ]
    assert len(lists) == 4
    for losses in lists:
        np.testing.assert_allclose(losses, expected, rtol=2e-5)


@pytest.mark.slow
def test_engines_of_a_profile_become_processes_and_are_found_again(fresh):
    fresh.ok("import ipyparallel, logging\nother = ipyparallel.Cluster(n=2, log_level=logging.ERROR, delay=0)")
    fresh.ok("client = other.start_and_connect_sync()")
    fresh.ok("a = xs.cluster.start(connect=client)")
    assert "0 of 2" in text_of(
        fresh.ok("%%px\nimport xlascope as xs\nprint(xs.process_index(), 'of', xs.process_count())")
    )
    fresh.ok(
        "import xlascope_ipython.cluster.current as current\ncurrent._cluster = None"
    )  # as in a kernel that began anew
    fresh.ok("b = xs.cluster.start(connect=client)")
    assert "1 of 2" in text_of(fresh.ok(WHO))
    fresh.ok("xs.cluster.restart()")
    assert "1 of 2" in text_of(
        fresh.ok("%%px\nimport xlascope as xs\nprint(xs.process_index(), 'of', xs.process_count())")
    )
    fresh.ok("xs.cluster.stop()")
    name, message = fresh.error("xs.cluster.start(connect=ipyparallel.Client(cluster_id=other.cluster_id))")
    assert name == "DistributedError" and "it has made arrays" in message
    fresh.ok("other.stop_cluster_sync()")


@pytest.mark.slow
def test_a_process_in_an_endless_call_of_python_is_interrupted(fresh):
    fresh.start()
    interrupted = []

    def interrupt(seconds):
        if not interrupted and seconds > 0.5:
            interrupted.append(fresh.manager.interrupt_kernel())

    loop = "%%px\nfor i in range(10_000):\n    time.sleep(0.01)\n    if i % 20 == 0: print(i)"
    assert fresh.cell(loop, during=interrupt).of("error")
    assert "2" in text_of(fresh.ok("%%px\nprint(1 + 1)"))


@pytest.mark.slow
def test_a_terminal_gets_one_line_for_all_processes(terminal):
    try:
        assert "2 processes on 1 machine" in terminal.run("cluster = xs.cluster.start(2)")
        terminal.run(SETUP)
        shown = terminal.run("%%px\nfor _ in range(20): y = summed(x)\nprint(float(y))")
        assert shown.count("0.55") == 2
        (line,) = [line for line in shown.splitlines() if line.startswith("xlascope: ")]
        assert "ran 20 times" in line and "2 processes" in line
    finally:
        terminal.run("xs.cluster.stop()")
