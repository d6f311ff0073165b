"""Operations that hold programs, and jit, which creates the first of them.

Each folder imports only those below it: debugging, checkpoint, rules, flow, jit, programs.
"""

from collections.abc import Sequence
from typing import Any

from ..ir.jaxpr import Jaxpr
from ..runtime import boot
from ..xla.system.hooks import HOOKS
from . import debugging


def _run_result_checks(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Check the results of a compiled call as the settings ``debug_key_reuse``, ``debug_nans`` and ``debug_infs`` ask.

    It is the engine's hook ``check_results``; ``jaxpr`` is the program that ran.
    """
    if boot.debug_key_reuse.value:
        debugging.reuse.check_keys(jaxpr, consts, operands, results)
    debugging.faults.check_results(jaxpr, consts, operands, results)


HOOKS.check_results = _run_result_checks  # the checks are loaded on first use
