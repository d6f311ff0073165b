"""Guard of a cluster: a process that ends the cluster's processes when the one that started them has ended.

It is run as a script. Its standard input is a pipe that the kernel holds open, and which closes however the kernel
ends. The processes are found by a variable of their environment, so those that they started end as well.
"""

import contextlib
import os
import shutil
import sys

import psutil

#: The variable that marks processes of a cluster; its value is the cluster's own.
MARK_VARIABLE = "XLASCOPE_CLUSTER_MARK"
#: Processes have this long to end by SIGTERM; then they are killed.
MAX_ENDING_SECONDS = 3.0


def find_marked(mark: str) -> list[psutil.Process]:
    """Return the processes of this user that carry a mark, without this one."""
    marked = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK_VARIABLE) == mark:
                marked.append(process)
    return marked


def end_marked(mark: str) -> None:
    """End the processes that carry a mark, first by SIGTERM, and what they start meanwhile."""
    processes = find_marked(mark)
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    psutil.wait_procs(processes, MAX_ENDING_SECONDS)
    while processes := find_marked(mark):
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(processes, MAX_ENDING_SECONDS)


def main() -> None:
    """Wait until standard input is closed, end the marked processes, and remove their folder."""
    mark, folder = sys.argv[1:]
    sys.stdin.read()
    end_marked(mark)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
