"""A program of the jury: a notebook cell with a clock of its own."""

from __future__ import annotations

from typing import Literal, NamedTuple

Engine = Literal["xlascope", "jax"]

_IMPORTS = """
import threading, time
from time import perf_counter as now
import numpy as np
from bench.jury.clock import Free, tell, tell_alone, tell_beside, tell_beside_work, tell_inside
"""
_ENGINES = {
    "xlascope": "import xlascope as jax, xlascope.numpy as jnp\n",
    "jax": "import jax, jax.numpy as jnp\n",
}


class Program(NamedTuple):
    """A notebook cell that calls jitted functions and prints what its own clock says of them.

    ``setup`` is the cell before it, which is not judged. With ``again`` the same cell runs twice and its second run is
    judged. ``after`` runs unwatched, once the cell has ended: it measures what a loop cannot know of its calls.
    ``raises`` names the exception that ends the cell, and ``needs`` the packages beside the engine.
    """

    name: str
    setup: str
    cell: str
    after: str = ""
    engine: Engine = "xlascope"
    devices: int = 1
    needs: tuple[str, ...] = ()
    again: bool = False
    raises: str = ""

    @property
    def imports(self) -> str:
        """Return the source of the notebook's first cell."""
        return _IMPORTS + _ENGINES[self.engine]

    @property
    def script(self) -> str:
        """Return the source of the script that does the same; ``after`` runs at exit, when watching has ended."""
        after = "".join(f"    {line}\n" for line in self.after.strip().splitlines()) or "    pass\n"
        register = f"import atexit\n@atexit.register\ndef _after():\n{after}"
        return "\n".join([self.imports, register, self.setup, *[self.cell] * (2 if self.again else 1)])

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables that the program needs."""
        flags = f"--xla_force_host_platform_device_count={self.devices}"
        return {"JAX_PLATFORMS": "cpu"} | ({"XLA_FLAGS": flags} if self.devices > 1 else {})
