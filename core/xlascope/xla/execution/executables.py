"""Compiled programs ready to run: from Python at a cache miss, and repeatedly in jaxlib's C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, physical_aval
from ...ir.jaxpr import ClosedJaxpr
from ...key_types import is_key
from ...runtime import jax_coexistence, setting_blocks
from ...runtime.boot import calls_are_checked, checked_calls, no_execution, same_width
from ...runtime.errors import JaxRuntimeError
from ...runtime.jaxlib_differences import result_handler
from ..arrays.host_operands import HostOperand
from ..arrays.key_array import KeyArray, physical_structure, to_physical, wrap_key_results
from ..arrays.runtime_errors import (
    is_out_of_memory,
    memory_error,
    record_donations,
    release_donated_operands,
    require_live,
)
from ..arrays.transfers import put_on_device
from ..compilation.compile_program import Compilation, compile_program
from ..compilation.compile_request import CompileRequest
from ..compilation.tiered_compilation import compile_in_tiers
from ..devices.array_patching import is_jax_array
from ..devices.backend import ArrayImpl
from ..lowering.callbacks import run_and_wait
from ..mlir.builder import TOKEN
from ..processes.coordinated_interrupt import begin_shared_call
from ..processes.job import raise_if_lost
from ..sharding.named_shardings import MultiDeviceSharding, aval_with_sharding, ranked_sharding
from ..sharding.single_device import single_device_sharding
from ..system.hooks import HOOKS
from .placement import Placement, resolve_placement


class FastpathData(NamedTuple):
    """Data that jaxlib needs to run a call again without Python; jaxlib prescribes the order of the fields."""

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
    """Compiled program ready to run on operands (:meth:`__call__`), or through jaxlib's fast path.

    ``committed`` says whether its results are committed to their devices, ``donated`` for each operand whether its
    memory is given to results. The constants of ``program`` are moved to their devices once, here.
    """

    __slots__ = (
        *(
            "committed",
            "compilation",
            "consts",
            "donated_operands",
            "returns_keys",
            "handlers",
            "in_shardings",
            "is_shared_on_cpu",
            "jaxpr",
        ),
        *("out_avals", "out_shardings", "operand_targets", "user_consts", "token_handler"),
    )

    def __init__(
        self, compilation: Compilation, program: ClosedJaxpr, committed: bool, donated: tuple[bool, ...] = ()
    ) -> None:
        out_avals = program.out_avals
        self.committed = committed
        self.compilation = compilation
        in_avals = [*map(HOOKS.operand_aval, program.consts), *program.in_avals]
        #: For each operand, constants first, the device or the sharding over several devices that it is moved to.
        self.operand_targets = _operand_targets(compilation, len(program.consts), len(program.in_avals))
        #: The constants as users see them, and as they are passed to the executable.
        self.user_consts = [
            put_on_device(c, HOOKS.operand_aval(c), target)
            for c, target in zip(program.consts, self.operand_targets, strict=False)
        ]
        self.consts = [to_physical(c) for c in self.user_consts]
        #: Whether processes run it together on CPUs: collectives run within the call, which fails when one is gone.
        self.is_shared_on_cpu = _is_shared_on_cpu(compilation)
        self.donated_operands = donated
        self.jaxpr = program.jaxpr  # for errors; the program itself refers to this executable
        partition = compilation.partition
        result_targets = [compilation.device] * len(out_avals) if partition is None else partition.results
        self.out_avals = list(map(aval_with_sharding, out_avals, result_targets))
        self.in_shardings = list(map(_sharding_at, self.operand_targets, in_avals))
        self.out_shardings = list(map(_sharding_at, result_targets, out_avals))
        self.handlers = [
            result_handler(physical_aval(aval), sharding, committed=committed)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]
        main_target = compilation.device if partition is None else partition.replicated_sharding
        self.token_handler = (
            result_handler(TOKEN, _sharding_at(main_target, TOKEN), committed=True)
            if compilation.calls_python
            else None
        )
        self.returns_keys = any(is_key(aval.dtype) for aval in out_avals)

    @property
    def operand_shardings(self) -> Sequence[Any]:
        """Return the shardings of the program's operands, without the constants."""
        return self.in_shardings[len(self.consts) :]

    def __call__(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run on flat operands, without constants, and return the list of results.

        ``avals`` are the types of the operands. Only a program that calls Python blocks until its results are ready.
        Raises DeletedArrayError for a deleted operand, and OutOfMemoryError when there is not enough memory.
        """
        if checked_calls.value:
            return self._run_checked(operands, avals)
        return self._run_guarded(operands, avals)

    def _run_checked(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Run like :meth:`_run_guarded`, with the checks that the debugging settings ask for.

        Raises RuntimeError where ``no_execution`` is set.
        """
        setting_blocks.check()
        if no_execution.value:
            raise RuntimeError(f"{self.jaxpr.name} would have to run, and no_execution is set")
        results = self._run_guarded(operands, avals)
        HOOKS.check_results(self.jaxpr, self.user_consts, operands, results)
        return results

    def _run_guarded(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Return the results of a run; report deleted operands and lack of memory in the user's terms.

        ``avals`` are the types of the ``operands``. Donated operands are remembered for later errors, and deleted after
        the run.
        """
        if self.is_shared_on_cpu:
            begin_shared_call()
        require_live(self.jaxpr, (*self.consts, *operands), self.compilation.kept_operands)
        if self.donated_operands:
            record_donations(self.jaxpr, self.donated_operands)
        try:
            results = self._execute(operands, avals)
        except (JaxRuntimeError, ValueError) as error:
            if not is_out_of_memory(error):
                raise_if_lost(error)
                raise
            device = self.compilation.device
            raise memory_error(error, self.jaxpr, self.compilation.executable, device) from None
        if self.donated_operands:
            release_donated_operands(operands, self.donated_operands)
        return results

    def _execute(self, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Move the operands to their devices, run the executable on those that it takes, and return the results."""
        count = len(self.consts)
        is_used = self.compilation.kept_operands
        arguments = [c for c, keep in zip(self.consts, is_used, strict=False) if keep]
        arguments += [
            to_physical(put_on_device(x, aval, target))
            for x, aval, target, keep in zip(
                operands, avals, self.operand_targets[count:], is_used[count:], strict=True
            )
            if keep
        ]
        if self.compilation.calls_python:
            executable, failure = self.compilation.executable, self.compilation.failure
            results = run_and_wait(executable, arguments, self.handlers, self.token_handler, failure)
        else:
            execution = self.compilation.executable.execute_sharded(arguments)
            results = list(execution.consume_with_handlers(self.handlers))
        return wrap_key_results(results, self.out_avals) if self.returns_keys else results

    @property
    def is_optimization_pending(self) -> bool:
        """Return whether this version was compiled quickly and an optimized one is being compiled."""
        better = self.compilation.replacement
        return better is not None and better.is_pending

    def fastpath_data(self, out_tree: Any, operands: Sequence[Any]) -> FastpathData | None:
        """Return the data with which jaxlib repeats a call in C++ for operands of the same kinds; None if it must not.

        ``out_tree`` is the treedef of the results, ``operands`` are those of the call, flat and without constants.
        None is returned for a program that calls Python, while an optimized version is pending, where the results are
        checked, for operands that jaxlib would convert by jax's settings, and for a program of several processes whose
        call fails when one of them is gone.
        """
        if self.compilation.calls_python or self.is_optimization_pending or not _can_use_fastpath(operands):
            return None
        if self.is_shared_on_cpu:
            return None
        if checked_calls.value and calls_are_checked():
            return None
        is_used = self.compilation.kept_operands
        donated = self.donated_operands or (False,) * len(operands)
        layouts: list[HostOperand | None] = [None] * len(self.consts)
        layouts += map(_layout_of, operands, self.operand_shardings, donated)
        layouts = [layout for layout, keep in zip(layouts, is_used, strict=True) if keep]
        result_count = len(self.out_avals)
        in_shardings = [sharding for sharding, keep in zip(self.in_shardings, is_used, strict=True) if keep]
        return FastpathData(
            self.compilation.executable,
            physical_structure(out_tree, self.out_avals) if self.returns_keys else out_tree,
            in_shardings,
            self.out_shardings,
            list(map(physical_aval, self.out_avals)),
            [self.committed] * result_count,
            list(is_used),
            layouts,
            self.consts,
        )


def _layout_of(operand: Any, sharding: Any, is_donated: bool) -> HostOperand | None:
    """Return what jaxlib takes for the layout of an operand: None for the default one.

    ``sharding`` is jaxlib's sharding of the operand; ``is_donated`` says that the program may overwrite it.
    """
    if not isinstance(operand, np.ndarray):
        return None
    return HostOperand(HOOKS.operand_aval(operand), sharding, can_cache=not is_donated)


def _is_shared_on_cpu(compilation: Compilation) -> bool:
    """Return whether a program runs on CPUs of several processes."""
    partition = compilation.partition
    is_on_cpu = compilation.device.platform == "cpu"
    return partition is not None and is_on_cpu and not partition.replicated_sharding.is_fully_addressable


def _operand_targets(compilation: Compilation, consts: int, operands: int) -> Sequence[Any]:
    """Return the device or sharding that each of a program's operands is moved to, its constants first.

    ``consts`` and ``operands`` are the numbers of constants and of other operands.
    """
    partition = compilation.partition
    if partition is None:
        return [compilation.device] * (consts + operands)
    return [*[partition.replicated_sharding] * consts, *partition.operands]


def _sharding_at(target: Any, aval: ShapedArray) -> Any:
    """Return jaxlib's sharding of an array of that type on ``target``, a device or a sharding over several devices."""
    return (
        ranked_sharding(target, len(physical_aval(aval).shape))
        if isinstance(target, MultiDeviceSharding)
        else single_device_sharding(target)
    )


def _can_use_fastpath(operands: Sequence[Any]) -> bool:
    """Return whether jaxlib's C++ treats the operands of a call as our Python code does.

    It converts numbers by jax's settings where jax is present, and cannot transfer from one client's devices to
    another's.
    """
    if not jax_coexistence.is_present():
        return True
    has_same_width = same_width()
    return all(not is_jax_array(x) if isinstance(x, (ArrayImpl, KeyArray)) else has_same_width for x in operands)


def find_or_compile(request: CompileRequest, placement: Placement) -> Executable:
    """Return the executable of a program at a placement, compiled at the first call and cached with the program.

    With tiered compilation it is a quickly compiled version until the optimized one is ready. Raises what compiling
    raises.
    """
    program = request.program
    placement = resolve_placement(program, placement)
    request = request._replace(options=request.options.with_settings(), partition=placement.partition)
    if checked_calls.value and calls_are_checked():
        request = request._replace(donated=())  # the search for the cause of a NaN runs the program again
    key = ("executable", placement, request.key)
    executable = program.derived.get(key)
    if executable is not None and executable.compilation.replacement is not None:
        optimized = executable.compilation.replacement.compilation()
        if optimized is not None:
            executable = program.derived[key] = Executable(optimized, program, placement.committed, request.donated)
    if executable is None:
        twin = program.derived.get(("executable", placement._replace(committed=not placement.committed), request.key))
        compilation = _compile(request, placement.device) if twin is None else twin.compilation
        executable = program.derived[key] = Executable(compilation, program, placement.committed, request.donated)
    return executable


def _compile(request: CompileRequest, device: Any) -> Compilation:
    return (compile_in_tiers if request.options.tiered else compile_program)(request, device)
