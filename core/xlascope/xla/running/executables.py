"""Compiled programs, ready to run: here at a cache miss, and again and again in jaxlib's C++."""

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
    """What jaxlib needs to run a call again without Python; the order of the fields is its contract."""

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
    """A compiled program ready to run: on operands (:meth:`__call__`), or through jaxlib's fast path
    (:meth:`fastpath`).
    """

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
        #: Where the operands are wanted, constants first: the device, or how each lies on several.
        self.places = _places_of(compilation, len(program.consts), len(program.in_avals))
        #: The constants as users see them, and as they are held.
        self.seen = [
            put(c, HOOKS.operand_aval(c), place) for c, place in zip(program.consts, self.places, strict=False)
        ]
        self.consts = [held(c) for c in self.seen]
        self.donated = donated
        self.jaxpr = program.jaxpr  # for errors; the program itself holds us
        partition = compilation.partition
        where = [compilation.device] * len(out_avals) if partition is None else partition.results
        self.out_avals = list(map(typed, out_avals, where))
        self.in_shardings = list(map(_held_where, self.places, in_avals))
        self.out_shardings = list(map(_held_where, where, out_avals))
        self.handlers = [
            result_handler(in_words(aval), sharding, committed=committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]
        whole = compilation.device if partition is None else partition.whole
        self.token_handler = (
            result_handler(TOKEN, _held_where(whole, TOKEN), committed=True) if compilation.calls_python else None
        )
        self.gives_keys = any(is_key(aval.dtype) for aval in out_avals)

    @property
    def operand_shardings(self) -> Sequence[Any]:
        """What its operands hold as their shardings, the constants left out."""
        return self.in_shardings[len(self.consts) :]

    def __call__(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run on flat operands of those types; waits for the results of a program that calls Python, and no other.

        Raises DeletedArrayError for an operand that is gone, OutOfMemoryError when there is no room.
        """
        if checked_calls.value:
            return self._checked(operands, avals)
        return self._guarded(operands, avals)

    def _checked(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run as the debugging settings ask for."""
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
        kept = self.compilation.kept
        arguments = [c for c, keep in zip(self.consts, kept, strict=False) if keep]
        arguments += [
            held(put(x, aval, place))
            for x, aval, place, keep in zip(operands, avals, self.places[count:], kept[count:], strict=True)
            if keep
        ]
        if self.compilation.calls_python:
            executable, failure = self.compilation.executable, self.compilation.failure
            results = run_and_wait(executable, arguments, self.handlers, self.token_handler, failure)
        else:
            found = self.compilation.executable.execute_sharded(arguments)
            results = list(found.consume_with_handlers(self.handlers))
        return results_of(results, self.out_avals) if self.gives_keys else results

    @property
    def awaits_better(self) -> bool:
        """Whether it was compiled quickly, and an optimized version is on its way."""
        better = self.compilation.better
        return better is not None and better.awaited

    def fastpath(self, out_tree: Any, operands: Sequence[Any]) -> FastpathData | None:
        """The data with which jaxlib repeats the call on its own, for operands of the same kinds.

        None for a program that calls Python, while a better version is awaited, where somebody looks at the results,
        and for operands that jaxlib would convert as jax says.
        """
        if self.compilation.calls_python or self.awaits_better or not _taken_by_jaxlib(operands):
            return None
        if checked_calls.value and calls_are_checked():
            return None
        kept = self.compilation.kept
        layouts = [NUMPY if isinstance(x, np.ndarray) else None for x in (*self.consts, *operands)]
        layouts = [layout for layout, keep in zip(layouts, kept, strict=True) if keep]
        outputs = len(self.out_avals)
        in_shardings = [each for each, keep in zip(self.in_shardings, kept, strict=True) if keep]
        return FastpathData(
            self.compilation.executable,
            call_structure(out_tree, self.out_avals) if self.gives_keys else out_tree,
            in_shardings,
            self.out_shardings,
            list(map(in_words, self.out_avals)),
            [self.committed] * outputs,
            list(kept),
            layouts,
            self.consts,
        )


def _places_of(compilation: Compilation, consts: int, operands: int) -> Sequence[Any]:
    """Where a program's operands are wanted, its constants first."""
    partition = compilation.partition
    if partition is None:
        return [compilation.device] * (consts + operands)
    return [*[partition.whole] * consts, *partition.operands]


def _held_where(place: Any, aval: ShapedArray) -> Any:
    """The sharding that an array of that type holds there."""
    return held_sharding(place, len(in_words(aval).shape)) if isinstance(place, OnSeveral) else sharding_of(place)


def _taken_by_jaxlib(operands: Sequence[Any]) -> bool:
    """Whether jaxlib's C++ makes of operands what we do: it converts numbers by jax's settings where jax is, and does
    not know the way from one client's devices to another's.
    """
    if not beside.here():
        return True
    same = same_width()
    return all(not is_foreign(x) if isinstance(x, (ArrayImpl, KeyArray)) else same for x in operands)


def executable_of(request: CompileRequest, place: Place) -> Executable:
    """The executable of a program at a place, compiled at the first call and kept with the program.

    One that is tiered is a version that was compiled quickly, until the optimized one is there. Raises what compiling
    raises.
    """
    program = request.program
    place = with_meshes(program, place)
    request = request._replace(options=request.options.with_settings(), partition=place.partition)
    if checked_calls.value and calls_are_checked():
        request = request._replace(donated=())  # who looks for the cause of a NaN runs the program again
    key = ("executable", place, request.key)
    found = program.derived.get(key)
    if found is not None and found.compilation.better is not None:
        better = found.compilation.better.compilation()
        if better is not None:
            found = program.derived[key] = Executable(better, program, place.committed, request.donated)
    if found is None:
        other = program.derived.get(("executable", place._replace(committed=not place.committed), request.key))
        compilation = _compiled(request, place.device) if other is None else other.compilation
        found = program.derived[key] = Executable(compilation, program, place.committed, request.donated)
    return found


def _compiled(request: CompileRequest, device: Any) -> Compilation:
    return (compile_in_tiers if request.options.tiered else compile_program)(request, device)
