"""Each fault of a process is an error of its own in the others, within a stated time."""

import sys
import time
from pathlib import Path

import pytest
from tests.core.processes.conftest import free_address, run_job

PROGRAM = str(Path(__file__).with_name("fault_program.py"))
#: For each fault: how many processes, the error of the first that is well (or its status), and parts of its message.
FAULTS = {
    "the last never comes": (2, 0, "DistributedError", "process 1 did not come to 127.0.0.1"),
    "the first never comes": (2, 1, "DistributedError", "process 1 found no coordinator at 127.0.0.1"),
    "another count": (2, 0, "DistributedError", "was given num_processes=3, and process 0 num_processes=2"),
    "the number of another": (3, 0, "DistributedError", "two processes were given process_id=1"),
    "an array before": (2, 0, "DistributedError", "comes too late"),
    "another jaxlib": (2, 0, "DistributedError", "has jaxlib 0.9.9, and process 0"),
    "a taken port": (2, 0, "DistributedError", "is taken, by another job or another program"),
    "another program": (2, 0, "ProgramMismatchError", "stablehlo.cosine"),
    "elsewhere": (
        2,
        0,
        "PeerAbsentError",
        "has waited 3 s for process 1 to come to the program summed at ",
    ),
    "killed": (2, 0, "PeerLostError", "has ended without leaving the job"),
    "stopped": (2, 0, "process ends", "has given no sign of life for"),
    "the coordinator killed": (2, 1, "CoordinatorLostError", "in process 0, is gone"),
    "the coordinator stopped": (2, 1, "process ends", "in process 0, is gone"),
    "an error": (2, 0, "PeerLostError", "ended by an error: ValueError: bad data in batch 7"),
    "an end": (2, 0, "PeerLostError", "left the job while this process still computes with it"),
    "killed while the others sleep": (2, 0, "process ends", "The main thread cannot be reached"),
}
#: Settings of the job of a fault.
ENVIRONMENT = {"elsewhere": {"XLASCOPE_PROGRAM_WAIT_SECONDS": "3"}}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_error_of_the_others(fault, record_property):
    count, observer, error, message = FAULTS[fault]
    address = free_address()
    began = time.monotonic()
    commands = [[sys.executable, "-P", PROGRAM, fault, address, str(count), str(number)] for number in range(count)]
    ended = run_job(commands, ENVIRONMENT.get(fault, {}))[observer]
    working = [float(line.split()[1]) for line in ended.out.splitlines() if line.startswith("working")]
    since = began + ended.seconds - (working[0] if working else began)
    record_property("seconds", since)
    print(f"{fault}: {since:.1f} s")
    assert ended.status == (75 if error == "process ends" else 1), ended.error
    assert error in ended.error and message in ended.error, ended.error
