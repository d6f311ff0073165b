"""Operations that hold programs, and jit, which creates the first of them.

Each folder imports only those below it: debugging, checkpoint, rules, flow, jit, programs.
"""

from collections.abc import Sequence
from typing import Any

from ..ir.jaxpr import Jaxpr
from ..runtime import boot
from ..xla.system.hooks import HOOKS
from . import debugging


def _check_results(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    if boot.debug_key_reuse.value:
        debugging.reuse.check_keys(jaxpr, consts, operands, results)
    debugging.faults.check_results(jaxpr, consts, operands, results)


HOOKS.check_results = _check_results  # the checks are loaded on first use
