"""A notebook run from top to bottom in a fresh kernel of this Python, as nobody's in particular."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient

SECONDS_PER_CELL = 600
#: What the metadata of a strip's output say after a run.
STRIP = "xlascope-strip"
#: Settings of whoever runs this, which readers do not have.
_OURS = ("XLASCOPE_", "XLA_", "JAX_", "MPL")


class ThisPython(KernelSpecManager):
    """One kernel: this interpreter, whatever kernels the machine has."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The only one."""
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


def run(notebook: Any, folder: Path) -> None:
    """Run every cell; raises nbclient's CellExecutionError for one that fails and is not tagged `raises-exception`."""
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        own = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
        environment |= {name: str(Path(home) / name.lower()) for name in own}
        manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython())
        resources = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, km=manager, timeout=SECONDS_PER_CELL, resources=resources)
        client.execute(env=environment)
    _mark_strips(client)


def _mark_strips(client: NotebookClient) -> None:
    """Say of outputs that they are strips, which nobody asked for: those that the extension has published."""
    for display_id, cells in client._display_id_map.items():
        for cell, outputs in cells.items() if display_id.startswith("xlascope-") else ():
            for output in outputs:
                client.nb.cells[cell].outputs[output].metadata[STRIP] = True
