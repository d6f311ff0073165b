"""Compiled programs ready to run: from Python at a cache miss, and repeatedly in jaxlib's C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, in_words
from ...ir.jaxpr import ClosedJaxpr
from ...key_types import is_key
from ...runtime import beside, blocks
from ...runtime.boot import calls_are_checked, checked_calls, no_execution, same_width
from ...runtime.differences import result_handler
from ...runtime.errors import JaxRuntimeError
from ..arrays.failures import is_out_of_memory, memory_error, note_donations, release_donated, require_live
from ..arrays.key_array import KeyArray, call_structure, held, results_of
from ..arrays.transfers import NUMPY, put
from ..compilation.compile import Compilation, compile_program
from ..compilation.compile_request import CompileRequest
from ..compilation.tiers import compile_in_tiers
from ..devices.backend import ArrayImpl
from ..devices.faces import is_foreign
from ..lowering.callbacks import run_and_wait
from ..mlir.builder import TOKEN
from ..sharding.named_shardings import OnSeveral, held_sharding, typed
from ..sharding.shardings import sharding_of
from ..system.hooks import HOOKS
from .places import Place, with_meshes


class FastpathData(NamedTuple):
    """Data that jaxlib needs to run a call again without Python; the order of the fields is jaxlib's contract."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[Any]


class Executable:
    """Compiled program ready to run on operands (:meth:`__call__`), or through jaxlib's fast path."""

    __slots__ = (
        *("committed", "compilation", "consts", "donated", "gives_keys", "handlers", "in_shardings", "jaxpr"),
        *("out_avals", "out_shardings", "places", "seen", "token_handler"),
    )

    def __init__(
        self, compilation: Compilation, program: ClosedJaxpr, committed: bool, donated: tuple[bool, ...] = ()
    ) -> None:
        out_avals = program.out_avals
        self.committed = committed
        self.compilation = compilation
        in_avals = [*map(HOOKS.operand_aval, program.consts), *program.in_avals]
        #: For each operand, constants first, the device or the sharding over several devices that it is moved to.
        self.places = _places_of(compilation, len(program.consts), len(program.in_avals))
        #: The constants as users see them, and as they are passed to the executable.
        self.seen = [
            put(c, HOOKS.operand_aval(c), target) for c, target in zip(program.consts, self.places, strict=False)
        ]
        self.consts = [held(c) for c in self.seen]
        self.donated = donated
        self.jaxpr = program.jaxpr  # for errors; the program itself refers to this executable
        partition = compilation.partition
        result_targets = [compilation.device] * len(out_avals) if partition is None else partition.results
        self.out_avals = list(map(typed, out_avals, result_targets))
        self.in_shardings = list(map(_held_where, self.places, in_avals))
        self.out_shardings = list(map(_held_where, result_targets, out_avals))
        self.handlers = [
            result_handler(in_words(aval), sharding, committed=committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]
        main_target = compilation.device if partition is None else partition.whole
        self.token_handler = (
            result_handler(TOKEN, _held_where(main_target, TOKEN), committed=True) if compilation.calls_python else None
        )
        self.gives_keys = any(is_key(aval.dtype) for aval in out_avals)

    @property
    def operand_shardings(self) -> Sequence[Any]:
        """Return the shardings of its operands, without the constants."""
        return self.in_shardings[len(self.consts) :]

    def __call__(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run on flat operands of those types; only a program that calls Python blocks until its results are ready.

        Raises DeletedArrayError for a deleted operand, and OutOfMemoryError when there is not enough memory.
        """
        if checked_calls.value:
            return self._checked(operands, avals)
        return self._guarded(operands, avals)

    def _checked(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run with the checks of the debugging settings."""
        blocks.check()
        if no_execution.value:
            raise RuntimeError(f"{self.jaxpr.name} would have to run, and no_execution is set")
        results = self._guarded(operands, avals)
        HOOKS.check_results(self.jaxpr, self.seen, operands, results)
        return results

    def _guarded(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        require_live(self.jaxpr, (*self.consts, *operands), self.compilation.kept)
        if self.donated:
            note_donations(self.jaxpr, self.donated)
        try:
            results = self._run(operands, avals)
        except JaxRuntimeError as error:
            if not is_out_of_memory(error):
                raise
            device = self.compilation.device
            raise memory_error(error, self.jaxpr, self.compilation.executable, device) from None
        if self.donated:
            release_donated(operands, self.donated)
        return results

    def _run(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        count = len(self.consts)
        is_used = self.compilation.kept
        arguments = [c for c, keep in zip(self.consts, is_used, strict=False) if keep]
        arguments += [
            held(put(x, aval, target))
            for x, aval, target, keep in zip(operands, avals, self.places[count:], is_used[count:], strict=True)
            if keep
        ]
        if self.compilation.calls_python:
            executable, failure = self.compilation.executable, self.compilation.failure
            results = run_and_wait(executable, arguments, self.handlers, self.token_handler, failure)
        else:
            execution = self.compilation.executable.execute_sharded(arguments)
            results = list(execution.consume_with_handlers(self.handlers))
        return results_of(results, self.out_avals) if self.gives_keys else results

    @property
    def awaits_better(self) -> bool:
        """Return whether this was compiled quickly and an optimized version is being compiled."""
        better = self.compilation.better
        return better is not None and better.awaited

    def fastpath(self, out_tree: Any, operands: Sequence[Any]) -> FastpathData | None:
        """Return the data with which jaxlib repeats the call in C++, for operands of the same kinds.

        None for a program that calls Python, while an optimized version is pending, where the results are checked,
        and for operands that jaxlib would convert by jax's settings.
        """
        if self.compilation.calls_python or self.awaits_better or not _taken_by_jaxlib(operands):
            return None
        if checked_calls.value and calls_are_checked():
            return None
        is_used = self.compilation.kept
        layouts = [NUMPY if isinstance(x, np.ndarray) else None for x in (*self.consts, *operands)]
        layouts = [layout for layout, keep in zip(layouts, is_used, strict=True) if keep]
        result_count = len(self.out_avals)
        in_shardings = [sharding for sharding, keep in zip(self.in_shardings, is_used, strict=True) if keep]
        return FastpathData(
            self.compilation.executable,
            call_structure(out_tree, self.out_avals) if self.gives_keys else out_tree,
            in_shardings,
            self.out_shardings,
            list(map(in_words, self.out_avals)),
            [self.committed] * result_count,
            list(is_used),
            layouts,
            self.consts,
        )


def _places_of(compilation: Compilation, consts: int, operands: int) -> Sequence[Any]:
    """Return the device or sharding for each of a program's operands, its constants first."""
    partition = compilation.partition
    if partition is None:
        return [compilation.device] * (consts + operands)
    return [*[partition.whole] * consts, *partition.operands]


def _held_where(target: Any, aval: ShapedArray) -> Any:
    """Return the sharding of an array of that type on a target: a device, or a sharding over several."""
    return held_sharding(target, len(in_words(aval).shape)) if isinstance(target, OnSeveral) else sharding_of(target)


def _taken_by_jaxlib(operands: Sequence[Any]) -> bool:
    """Return whether jaxlib's C++ handles the operands as we do.

    It converts numbers by jax's settings where jax is present, and cannot transfer from one client's devices to
    another's.
    """
    if not beside.here():
        return True
    has_same_width = same_width()
    return all(not is_foreign(x) if isinstance(x, (ArrayImpl, KeyArray)) else has_same_width for x in operands)


def executable_of(request: CompileRequest, placement: Place) -> Executable:
    """Return the executable of a program at a placement, compiled at the first call and cached with the program.

    With tiered compilation it is a quickly compiled version until the optimized one is ready. Raises what compiling
    raises.
    """
    program = request.program
    placement = with_meshes(program, placement)
    request = request._replace(options=request.options.with_settings(), partition=placement.partition)
    if checked_calls.value and calls_are_checked():
        request = request._replace(donated=())  # the search for the cause of a NaN runs the program again
    key = ("executable", placement, request.key)
    executable = program.derived.get(key)
    if executable is not None and executable.compilation.better is not None:
        optimized = executable.compilation.better.compilation()
        if optimized is not None:
            executable = program.derived[key] = Executable(optimized, program, placement.committed, request.donated)
    if executable is None:
        twin = program.derived.get(("executable", placement._replace(committed=not placement.committed), request.key))
        compilation = _compiled(request, placement.device) if twin is None else twin.compilation
        executable = program.derived[key] = Executable(compilation, program, placement.committed, request.donated)
    return executable


def _compiled(request: CompileRequest, device: Any) -> Compilation:
    return (compile_in_tiers if request.options.tiered else compile_program)(request, device)
