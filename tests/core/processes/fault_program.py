"""A process of a job in which one process has a fault: ``fault_program.py FAULT ADDRESS COUNT NUMBER``."""

import os
import signal
import socket
import sys
import time

import numpy as np

import xlascope as xs
from xlascope.xla.processes import membership

sockets = []
TIMEOUTS = {"heartbeat_timeout_seconds": 6, "initialization_timeout": 6}


def end(*, how: int) -> None:
    os.kill(os.getpid(), how)
    time.sleep(60)


def main(fault: str, address: str, count: int, number: int) -> None:
    is_faulty = number == count - 1
    if fault == "the last never comes" and is_faulty:
        sys.exit(0)
    if fault == "the first never comes" and number == 0:
        sys.exit(0)
    if fault == "another count" and is_faulty:
        count += 1
    if fault == "the number of another" and is_faulty:
        number = 1
    if fault == "an array before":
        xs.numpy.ones(3)
    if fault == "another jaxlib" and is_faulty:
        facts = membership.collect_facts
        membership.collect_facts = lambda count: facts(count)._replace(jaxlib="0.9.9")
    if fault == "a taken port" and number == 0:
        sockets.append(socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))))

    xs.distributed.initialize(address, count, number, **TIMEOUTS)
    mesh = xs.make_mesh((xs.device_count(),), ("x",))
    x = xs.device_put(np.arange(8.0, dtype=np.float32), xs.NamedSharding(mesh, xs.P("x")))

    @xs.jit
    def summed(x):
        y = xs.numpy.sin(x)
        if fault == "another program" and is_faulty:
            y = xs.numpy.cos(y)
        return y.sum()

    if fault == "elsewhere" and is_faulty:
        time.sleep(200)
    for _ in range(3):
        float(summed(x))
    print("working", time.monotonic(), flush=True)
    if fault == "killed" and is_faulty:
        end(how=signal.SIGKILL)
    if fault == "stopped" and is_faulty:
        end(how=signal.SIGSTOP)
    if fault == "the coordinator killed" and number == 0:
        end(how=signal.SIGKILL)
    if fault == "the coordinator stopped" and number == 0:
        end(how=signal.SIGSTOP)
    if fault == "an error" and is_faulty:
        raise ValueError("bad data in batch 7")
    if fault == "an end" and is_faulty:
        sys.exit(0)
    if fault == "killed while the others sleep":
        if is_faulty:
            end(how=signal.SIGKILL)
        time.sleep(200)
    while True:  # the same call again, which jaxlib repeats without Python
        float(summed(x))
        if fault == "an end":
            float((x + 1).sum())  # and another one, which the other does not make


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
