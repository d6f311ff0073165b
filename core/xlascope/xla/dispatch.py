"""Running: arrays onto devices, compiled programs on arrays, and single operations without a program around them.

Calls that repeat stay in jaxlib's C++: what is written here is what happens at a cache miss.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxlib import _jax, xla_client

from ..ir.avals import ShapedArray, in_words, laid
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ..ir.operation import Operation
from ..ir.sources import user_line, where_text
from ..key_types import is_key
from ..recent import Recent, RecentlyUsed
from ..runtime import beside, blocks
from ..runtime.boot import (
    call_registry,
    calls_are_checked,
    checked_calls,
    default_registry,
    disable_jit,
    enable_x64,
    no_execution,
    same_width,
)
from ..runtime.differences import result_handler
from ..runtime.errors import JaxRuntimeError
from .backend import ArrayImpl, default_device
from .builder import TOKEN
from .callbacks import run_and_wait
from .compile import Compilation, compile_program
from .compiling import forget_left
from .faces import is_foreign, is_ours
from .failures import deleted_error, is_out_of_memory, memory_error, note_donations, release_donated, require_live
from .keeping.policy import Keep, asked_for
from .key_array import KeyArray, call_structure, held, results_of
from .meshes import Mesh, PartitionSpec
from .named_shardings import NamedSharding, OnSeveral, Tiles, held_sharding, typed
from .partitions import Partition
from .reroll import Reroll, asked_to_reroll
from .shardings import device_meant, sharding_of
from .spread import is_spread, lies, spread
from .tiers import compile_in_tiers

_COPY = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


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


def put(x: Any, aval: ShapedArray, device: Any = None) -> Any:
    """An array of type ``aval`` with the value that ``x`` has now: NumPy's memory is copied. An array of jax lives on
    the devices of another client, and comes by way of the host.

    Raises OverflowError for a Python integer that is too wide for the type.
    """
    if x.__class__ is KeyArray:
        return x.with_words(put(x.words, in_words(aval), device))
    if isinstance(device, OnSeveral):
        return _put_on_several(x, aval, device)
    aval = laid(aval, None)
    target = default_device() if device is None else device_meant(device)
    if is_ours(x):
        if x._sharding == sharding_of(target):
            return x
        if x.dtype == aval.dtype and not is_spread(x) and x.device.client is target.client:
            # from device to device, and guarded as that; to another platform's the way is by the host
            return _jax.batched_device_put(aval, sharding_of(target), [x], [target], committed=device is not None)
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    if value.dtype != aval.dtype:
        value = value.astype(aval.dtype)
    return _jax.batched_device_put(
        aval,
        sharding_of(target),
        [value],
        [target],
        committed=device is not None,
        host_buffer_semantics=_COPY,
        enable_x64=True,  # the value has its dtype already; left to itself jaxlib may narrow it
    )


def _put_on_several(x: Any, aval: ShapedArray, sharding: OnSeveral) -> Any:
    """An array of type ``aval`` that lies so; one that does so already is given back."""
    rank = len(aval.shape)
    if is_ours(x) and is_spread(x) and x.dtype == aval.dtype:
        if x._sharding is held_sharding(sharding, rank):
            return x
        if lies(x).is_equivalent_to(sharding, rank):
            return x._rewrap_with_aval_and_sharding(typed(aval, sharding), held_sharding(sharding, rank))
    value = integer_array(x, aval.dtype) if isinstance(x, int) else np.asarray(x)
    return spread(value.astype(aval.dtype, copy=False), aval, sharding)


def integer_array(x: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A Python integer as an array without axes; raises OverflowError for one that is too wide for the dtype."""
    try:
        return np.array(x, dtype)
    except OverflowError:
        raise OverflowError(
            f"the integer {x} does not fit {dtype.name}{where_text(user_line())}: write it as a float, or set "
            "enable_x64 for 64-bit types"
        ) from None


def commit(x: Any, device: Any) -> Any:
    """The array on its device, to stay there: what is computed with it is computed there. Shares its memory."""
    if x._committed:
        return x
    if x.__class__ is KeyArray:
        return x.with_words(commit(x.words, device))
    if isinstance(device, OnSeveral):
        return put(x, x.aval, device)
    device = device_meant(device)
    return _jax.batched_device_put(x.aval, sharding_of(device), [x], [device], committed=True)


def shard_arg_fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """What jaxlib calls for an argument that is not where the program wants it, and for every NumPy array: in a call
    that it repeats it would share the array's memory, whatever is written there while the program runs, and see neither
    byte order nor mask.
    """
    if layout is not _NUMPY:
        # A Python number has no type of its own: a buffer wider than the program's operand would end the process.
        return put(x, getattr(x, "aval", None) or _operand_aval(x), _meant(sharding))
    aval = _operand_aval(x)
    if isinstance(sharding, Tiles):
        return put(x, aval, _meant(sharding))
    value = x if x.dtype == aval.dtype else x.astype(aval.dtype)
    return _jax.batched_device_put(aval, sharding, [value], [sharding._device], False, False, _COPY, True)


def _meant(sharding: Any) -> Any:
    """What an array's sharding is to us: a device, or how it lies on several."""
    return sharding.named if isinstance(sharding, Tiles) else sharding._device


#: Stands where a layout is asked for: jaxlib hands such operands to :func:`shard_arg_fallback`. An entry of its cache
#: is for arrays or for what is none, so no array of ours comes that way.
_NUMPY = "a NumPy array"


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
        in_avals = [*map(_operand_aval, program.consts), *program.in_avals]
        #: Where the operands are wanted, constants first: the device, or how each lies on several.
        self.places = _places_of(compilation, len(program.consts), len(program.in_avals))
        #: The constants as users see them, and as they are held.
        self.seen = [put(c, _operand_aval(c), place) for c, place in zip(program.consts, self.places, strict=False)]
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
        _check_results(self.jaxpr, self.seen, operands, results)
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
        layouts = [_NUMPY if isinstance(x, np.ndarray) else None for x in (*self.consts, *operands)]
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


class Place(NamedTuple):
    """A device, and whether a user chose it (results then stay there) or it is just the default one; for a program
    that several devices share the first of them, and how.
    """

    device: Any
    committed: bool
    partition: Partition | None = None


def executable_of(
    program: ClosedJaxpr,
    place: Place,
    *,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    number: int | None = None,
    overrides: tuple[tuple[str, str], ...] = (),
    keep: Keep | None = None,
    reroll: Reroll | None = None,
    tiered: bool = False,
) -> Executable:
    """The executable of a program for a device, compiled at the first call and kept with the program.

    One that is ``tiered`` is a version that was compiled quickly, until the optimized one is there.
    """
    keep, reroll = asked_for(keep), asked_to_reroll(reroll)
    if checked_calls.value and calls_are_checked():
        donated = ()  # who looks for the cause of a NaN runs the program again
    kept_for = (donated, keep_unused, overrides, keep, reroll)
    place = with_meshes(program, place)
    key = ("executable", place, kept_for)
    found = program.derived.get(key)
    if found is not None and found.compilation.better is not None:
        better = found.compilation.better.compilation()
        if better is not None:
            found = program.derived[key] = Executable(better, program, place.committed, donated)
    if found is None:
        other = program.derived.get(("executable", place._replace(committed=not place.committed), kept_for))
        compilation = (
            other.compilation
            if other is not None
            else (compile_in_tiers if tiered else compile_program)(
                program,
                place.device,
                donated=donated,
                keep_unused=keep_unused,
                number=number,
                overrides=overrides,
                partition=place.partition,
                keep=keep,
                reroll=reroll,
            )
        )
        found = Executable(compilation, program, place.committed, donated)
        program.derived[key] = found
    return found


def place_of(operands: Sequence[Any]) -> Place:
    """Where operands are committed to, or the default device; raises ValueError when they disagree."""
    found = None
    for x in operands:
        x = held(x)
        if isinstance(x, ArrayImpl) and x._committed and is_ours(x):
            if is_spread(x):
                return _place_on_several(operands)
            device = x._sharding._device
            if found is not None and device != found:
                raise ValueError(
                    f"operands live on different devices, {found} and {device}; move them together with device_put"
                )
            found = device
    return Place(default_device(), False) if found is None else Place(found, True)


def _place_on_several(operands: Sequence[Any]) -> Place:
    """Where operands are of which some lie on several devices; raises ValueError when they are not the same ones."""
    shardings = [_lying(held(x)) for x in operands]
    mesh = next((each.mesh for each in shardings if isinstance(each, NamedSharding)), None)
    known = [each for each in shardings if each is not None]
    if mesh is None:  # XLA's own ways to cut only
        mesh = Mesh(np.array(known[0].devices), ("devices",))
    return Place(mesh.flat[0], True, partition_over(mesh, shardings))


def _lying(x: Any) -> Any:
    """How an operand lies that is committed; None for others."""
    if not (isinstance(x, ArrayImpl) and x._committed and is_ours(x)):
        return None
    return lies(x) if is_spread(x) else x._sharding


def partition_over(mesh: Mesh, shardings: Sequence[Any], results: Sequence[Any] = ()) -> Partition:
    """Operands that lie so (None: anywhere, they come to be whole everywhere) on the devices of a mesh.

    Raises ValueError for one that is on other devices.
    """
    whole = NamedSharding(mesh, PartitionSpec())
    for each in shardings:
        if each is not None and set(each.device_set) != set(mesh.flat):
            raise ValueError(
                f"operands live on different devices, {_devices_text(mesh.flat)} and "
                f"{_devices_text(each.device_set)}{where_text(user_line())}; move them together with device_put"
            )
    lying = tuple(each if isinstance(each, OnSeveral) else whole for each in shardings)
    return Partition(mesh, lying, tuple(results))


def _devices_text(devices: Any) -> str:
    listed = sorted(f"{each.platform}:{each.id}" for each in devices)
    return ", ".join(listed) if len(listed) <= 4 else f"{listed[0]}, …, {listed[-1]} ({len(listed)} devices)"


def with_meshes(program: ClosedJaxpr, place: Place) -> Place:
    """Where a program runs of which equations name a mesh: on its devices, whatever the operands say."""
    mesh = mesh_of(program)
    if mesh is None:
        return _with_types(program, place)
    if place.partition is None:
        if place.committed and place.device not in mesh.flat:
            raise ValueError(
                f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are committed to "
                f"{_devices_text([place.device])}{where_text(user_line())}; move them with device_put"
            )
        return _with_types(program, Place(mesh.flat[0], True, partition_over(mesh, wishes_of(program))))
    if set(place.partition.devices) != set(mesh.flat):
        raise ValueError(
            f"{program.name} runs on {_devices_text(mesh.flat)}, and its operands are on "
            f"{_devices_text(place.partition.devices)}{where_text(user_line())}; move them with device_put"
        )
    return _with_types(program, place)


def _with_types(program: ClosedJaxpr, place: Place) -> Place:
    """The place with results that lie as their types say; a type that says nothing of explicit axes says "whole"."""
    partition = place.partition
    if partition is None or partition.results or not partition.mesh.has_explicit:
        return place
    other = partition.whole if partition.mesh.all_explicit else None
    results = tuple(aval.explicit or other for aval in program.out_avals)
    return place._replace(partition=partition._replace(results=results)) if any(results) else place


def wishes_of(program: ClosedJaxpr) -> list[NamedSharding | None]:
    """For each operand how the first equation that says so wants it to lie, also in calls; None where none does."""
    found = program.derived.get("wishes")
    if found is None:
        known = {id(v): v.aval.explicit for v in program.jaxpr.invars if v.aval.explicit is not None}
        for operation, inputs, *_ in program.jaxpr.raw:
            whole = operation.whole()
            told = operation.wishes() if whole is None else wishes_of(whole)
            for x, wish in zip(inputs, told, strict=False):
                if wish is not None:
                    known.setdefault(id(x), wish)
        found = program.derived["wishes"] = [known.get(id(v)) for v in program.jaxpr.invars]
    return found


def mesh_of(program: ClosedJaxpr) -> Mesh | None:
    """The mesh that equations of a program name, those of the programs that it holds as well; None for no mesh."""
    found = program.derived.get("mesh", False)
    if found is False:
        found = next((aval.explicit.mesh for aval in program.in_avals if aval.explicit is not None), None)
        for raw in program.jaxpr.raw if found is None else ():
            operation = raw[0]
            found = operation.mesh or next(filter(None, map(mesh_of, operation.bodies())), None)
            if found is not None:
                break
        program.derived["mesh"] = found
    return found


# Single operations --------------------------------------------------------------------------------------------------

#: An operation with other parameters is another one: a loop over slices makes many.
_eager: Recent[Operation, Any] = Recent(1024)
_MOST_RETURNING = 64
#: Compiled programs of all operations that run at once, the last ones used: of a small one jaxlib holds about 0.2 MB.
_MOST_EAGER_PROGRAMS = 2048
_eager_programs = _jax.PjitFunctionCache(_MOST_EAGER_PROGRAMS)
_keys = itertools.count()
_operand_aval: Callable[[Any], ShapedArray]
_opened: Callable[[Any], Any]
_check_results: Callable[[Jaxpr, Sequence[Any], Sequence[Any], Sequence[Any]], None]
_leaf = default_registry.flatten(0)[1]


def use_gate(aval_of: Callable[[Any], ShapedArray], opened: Callable[[Any], Any]) -> None:
    """Tell dispatch how the layer above types an operand (and refuses what is none), and what operands stand for."""
    global _operand_aval, _opened
    _operand_aval, _opened = aval_of, opened


def use_check(check: Callable[[Jaxpr, Sequence[Any], Sequence[Any], Sequence[Any]], None]) -> None:
    """Tell dispatch who looks at results when settings ask for it: ``check(jaxpr, consts, operands, results)``."""
    global _check_results
    _check_results = check


def run(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """Run one operation on arrays now; returns its results."""
    found = run1(operation, operands)
    return found if isinstance(found, list) else [found]


def run1(operation: Operation, operands: Sequence[Any]) -> Any:
    """Like :func:`run`, giving the result itself when there is just one."""
    function = _eager.get(operation)
    if function is None:
        function = _function_of(operation)
    try:
        return function(*operands)
    except ValueError as error:  # also from a call that jaxlib repeats on its own, of an operand that is gone
        if error.__class__ is ValueError:
            _require_live_operands(operation, operands)
        raise


def _require_live_operands(operation: Operation, operands: Sequence[Any]) -> None:
    for index, x in enumerate(operands):
        if isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            raise deleted_error(x, f"operand {index} of {operation.name}") from None


def _function_of(operation: Operation) -> Any:
    """The compiled form of an operation; one that holds a program keeps it with the program, and lives as long.

    One that holds a Python function runs it.
    """
    if operation.stage_rule is not None:
        return operation.expand
    if operation.host_rule is not None:
        return operation.host_rule
    if operation.made is not None and operation.memo is None:  # a parameter is a float by mistake
        return _compile_on_demand(operation)
    cache: Recent[Any, Any] = _eager if operation.holder is None else operation.holder.derived
    # of an operation that is nothing but a program, the program is compiled: its rules may be made anew at each call
    key = operation if operation.whole() is None else "alone"
    found = cache.get(key) or cache.again(key)
    return cache.keep(key, _compile_on_demand(operation)) if found is None else found


def _compile_on_demand(operation: Operation) -> Any:
    #: Of the calls that have to come back.
    programs: RecentlyUsed[tuple[ShapedArray, ...], ClosedJaxpr] = RecentlyUsed(_MOST_RETURNING // 2)
    whole = operation.whole()
    make_program = functools.partial(_program_of, operation) if whole is None else lambda avals: whole

    def cache_miss(*operands: Any) -> tuple[Any, FastpathData | None, bool]:
        arguments = [_opened(x) for x in operands]
        avals = tuple([_operand_aval(x) for x in arguments])
        program = programs.get(avals) or make_program(avals)
        executable = executable_of(program, place_of(arguments))
        results = executable(arguments, avals)
        tree = _leaf if len(results) == 1 else default_registry.flatten(results)[1]
        fast = executable.fastpath(tree, arguments)
        if fast is None or disable_jit.value or any(x is not y for x, y in zip(arguments, operands, strict=True)):
            programs[avals] = program  # jaxlib does not know the kinds of objects that stand for arrays
        return (results[0] if len(results) == 1 else results), fast, False

    def without_jit(*operands: Any) -> Any:
        return cache_miss(*operands)[0]

    # jaxlib holds the key where the garbage collector does not look: it must not lead back to the program.
    key = (operation,) if operation.holder is None else (operation.name, next(_keys))
    return make_pjit(operation.name, without_jit, cache_miss, (), (), key, _eager_programs)


def make_pjit(
    name: str,
    function: Callable[..., Any],
    cache_miss: Callable[..., Any],
    static_argnums: Sequence[int],
    static_argnames: Sequence[str],
    key: Any,
    cache: Any = None,
) -> Any:
    """A function with jaxlib's call cache in front: it asks ``cache_miss`` for calls it has not seen.

    ``cache`` is one that functions share, and its bound; None: the function has one of its own.
    """
    return _jax.pjit(
        name,
        function,
        cache_miss,
        list(static_argnums),
        list(static_argnames),
        key,
        call_registry,
        shard_arg_fallback,
        cache,
    )


PjitFunction = _jax.PjitFunction


def set_tracer_class(tracer: type) -> None:
    """Tell jaxlib which operands always need Python. It knows one class: jax's where jax is; others need it as well."""
    with beside.still_imports():
        if not beside.here():
            _jax.set_tracer_class(tracer)


def _program_of(operation: Operation, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in operation.result_types(tuple(avals))]
    raw = [(operation, invars, outvars, None, -1, None)]
    return ClosedJaxpr(Jaxpr((), invars, outvars, raw, operation.name))


def clear() -> None:
    """Forget the compiled single operations, and all calls that jaxlib repeats on its own."""
    _eager.clear()
    forget_left()
    _jax.PjitFunctionCache.clear_all()


__all__ = [
    "Executable",
    "FastpathData",
    "Place",
    "clear",
    "enable_x64",
    "executable_of",
    "place_of",
    "put",
    "run",
    "run1",
    "shard_arg_fallback",
    "sharding_of",
    "use_gate",
]
