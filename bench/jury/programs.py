"""The table of the jury's programs."""

from __future__ import annotations

from .cells_jax import JAX
from .cells_mixed import MIXED
from .cells_single import SINGLE
from .program import Program

PROGRAMS: dict[str, Program] = {program.name: program for program in (*SINGLE, *MIXED, *JAX)}
