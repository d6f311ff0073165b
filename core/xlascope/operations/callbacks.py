"""Operations that call Python while the program runs: pure_callback, io_callback, debug_callback.

A callback receives NumPy arrays that it owns, and runs outside of any trace, on whatever thread the program runs on.
Under vmap one call from the program serves all examples, and calls the user's function once per example where that
was requested.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from .. import tree
from ..dtypes import canonical
from ..ir.avals import ShapedArray, shaped
from ..ir.effects import DEBUG, IO, ORDERED_DEBUG, ORDERED_IO, Effects
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..records import SourceRange
from ..records.traits import PYTHON
from ..runtime.boot import enable_x64, in_trace
from ..trace.bind import bind
from ..trace.source import where_text
from ..trace.state import STATE
from ..trace.values import aval_of
from ..xla.arrays.transfers import put
from ..xla.running.places import place_of
from . import sharding_rules
from .shapes import expand_dims, mapped_in_front, moveaxis

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


class HostFunction:
    """A user's function of trees, as the flat function of NumPy arrays that a program calls.

    ``structure`` and ``static`` (by position) rebuild the arguments. ``avals`` and ``out_structure`` are the types
    and the tree structure that it has to return; with ``out_structure`` None its result is ignored. ``call_site``
    is the source line of the call that created the operation.
    """

    __slots__ = ("avals", "function", "out_structure", "place", "static", "structure", "what", "wide")

    def __init__(
        self,
        api_name: str,
        function: Callable[..., Any],
        structure: Any,
        static: dict[int, Any],
        avals: Sequence[ShapedArray],
        out_structure: Any,
        call_site: SourceRange | None,
    ) -> None:
        self.what = api_name
        self.function = function
        self.structure = structure
        self.static = static
        self.avals = tuple(avals)
        self.out_structure = out_structure
        self.place = call_site
        self.wide = enable_x64.value  # record the tracing thread's setting: it is thread-local

    @property
    def name(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __repr__(self) -> str:
        return self.name

    def returning(self, avals: Sequence[ShapedArray]) -> HostFunction:
        """Return the same function for results of other types."""
        clone = copy.copy(self)
        clone.avals = tuple(avals)
        return clone

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Call the function outside of any trace; add a note with the call site to its exceptions."""
        previous = STATE.trace, STATE.origin, STATE.axes
        was_in_trace, was_wide = in_trace.value, enable_x64.swap_local(self.wide)
        STATE.trace, STATE.origin, STATE.axes = None, None, ()
        in_trace.set_local(False)
        try:
            return self._call(operands)
        except BaseException as error:
            note = f"raised in {self.name}, which {self.what}{where_text(self.place)} calls"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        finally:
            STATE.trace, STATE.origin, STATE.axes = previous
            in_trace.set_local(was_in_trace)
            enable_x64.set_local(was_wide)

    def _call(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        values = iter(operands)
        leaves = [self.static[i] if i in self.static else next(values) for i in range(len(operands) + len(self.static))]
        args, kwargs = self.structure.unflatten(leaves)
        returned = self.function(*args, **kwargs)
        if self.out_structure is None:
            return ()
        results, structure = tree.flatten(returned)
        if structure != self.out_structure:
            raise TypeError(
                f"{self.what}: the callback {self.name} has to return what result_shape_dtypes says, a tree of "
                f"structure {self.out_structure}; it returned one of structure {structure}"
            )
        return tuple(self._result(y, aval) for y, aval in zip(results, self.avals, strict=True))

    def _result(self, y: Any, aval: ShapedArray) -> Any:
        value = np.asarray(y)
        if value.dtype.kind == "O" or canonical(value.dtype) != aval.dtype or value.shape != aval.shape:
            raise TypeError(
                f"{self.what}: the callback {self.name} has to return what result_shape_dtypes says, "
                f"{aval.str_short()}; it returned {value.dtype.name}[{','.join(map(str, value.shape))}]"
            )
        return np.asarray(value, aval.dtype, order="C")


class EachExample:
    """Callback that is called once for each example of a batch; mapped operands have the batch axis in front."""

    __slots__ = ("avals", "function", "mapped", "size")

    def __init__(self, function: Callable[..., Any], mapped: Sequence[bool], size: int) -> None:
        self.function = function
        self.mapped = tuple(mapped)
        self.size = size
        self.avals = tuple(_batched(a, size) for a in function.avals)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{self.function} for each of {self.size}"

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Return the results for all examples, in order."""
        example_results = [
            self.function(*(x[i, ...] if is_mapped else x for x, is_mapped in zip(operands, self.mapped, strict=True)))
            for i in range(self.size)
        ]
        results = tuple(np.empty(aval.shape, aval.dtype) for aval in self.avals)
        for i, example_result in enumerate(example_results):
            for result, y in zip(results, example_result, strict=True):
                result[i] = y
        return results


def _batched(aval: ShapedArray, size: int) -> ShapedArray:
    return shaped((size, *aval.shape), aval.dtype)


class Callback(Operation):
    """Operation whose results a Python function returns."""

    traits = PYTHON
    callback: Any

    pure: ClassVar[bool] = False
    multiple_results: ClassVar[bool] = True

    sharding_rule = sharding_rules.whole

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(self.callback.avals)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        with_token = builder.passes_token(self.effects)
        if builder.manual is not None and builder.manual.partial and not self.pure:
            raise NotImplementedError(
                f"{self.name}{where_text(_place(self))} is inside a shard_map that leaves mesh axes to the compiler, "
                "where only pure_callback is supported. Let axis_names of shard_map be all axes of the mesh, or call "
                "Python outside of shard_map"
            )
        return builder.call_python(self.callback, operands, with_token=with_token, pure=self.pure)  # type: ignore[no-any-return]

    def host_rule(self, *operands: Any) -> list[Any]:
        """Call the function immediately, outside of any trace."""
        arrays = [np.asarray(x, aval_of(x).dtype) for x in operands]
        placement = place_of(operands)
        device = placement.device if placement.committed else None
        results = self.callback(*arrays)
        return [put(y, aval, device) for y, aval in zip(results, self.callback.avals, strict=True)]

    def of(self, callback: Any) -> Operation:
        """Return the same operation with another function."""
        raise NotImplementedError

    def for_each_example(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Batch by calling the function for one example after the other."""
        size, batched = _in_front(operands, axes)
        operation = self.of(EachExample(self.callback, [a is not NOT_MAPPED for a in axes], size))
        return bind(operation, *batched), [0] * len(self.callback.avals)


def _in_front(operands: Sequence[Any], axes: Sequence[Any]) -> tuple[int, list[Any]]:
    """Return the batch size, and the operands with their mapped axes in front."""
    size = next(aval_of(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
    return size, [x if a is NOT_MAPPED else moveaxis(x, a, 0) for x, a in zip(operands, axes, strict=True)]


class PureCallback(Callback, name="pure_callback", by_identity=True):
    """Callback without side effects: it may be called again, or removed where its results are unused."""

    vmap_method: str | None

    pure = True

    def of(self, callback: Any) -> Operation:
        return PureCallback(callback, self.vmap_method)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> NoReturn:
        raise ValueError(
            f"Pure callbacks do not support JVP: Python code cannot be differentiated{where_text(_place(self))}. Say "
            "what the derivative is with custom_jvp or custom_vjp around the callback"
        )

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        method = self.vmap_method
        if method is None:
            raise NotImplementedError(
                f"vmap of pure_callback{where_text(_place(self))} needs to know how: give vmap_method as one of "
                f"{', '.join(map(repr, VMAP_METHODS))}"
            )
        if method.startswith("sequential"):
            return self.for_each_example(operands, axes)
        size, batched = _in_front(operands, axes)
        if method == "expand_dims":
            batched = [expand_dims(x, (0,)) if a is NOT_MAPPED else x for x, a in zip(batched, axes, strict=True)]
        elif method == "broadcast_all":
            batched = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        function = self.callback.returning([_batched(a, size) for a in self.callback.avals])
        return bind(self.of(function), *batched), [0] * len(function.avals)


class IOCallback(Callback, name="io_callback", by_identity=True):
    """Callback with side effects: it is called exactly once, also where its results are unused."""

    ordered: bool

    @property
    def effects(self) -> Effects:
        return frozenset([ORDERED_IO if self.ordered else IO])

    def of(self, callback: Any) -> Operation:
        return IOCallback(callback, self.ordered)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> NoReturn:
        raise ValueError(
            f"IO callbacks do not support JVP: Python code cannot be differentiated{where_text(_place(self))}. Put "
            "stop_gradient around the arguments, or say what the derivative is with custom_jvp or custom_vjp"
        )

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if self.ordered:
            raise ValueError(
                f"Cannot `vmap` ordered IO callbacks{where_text(_place(self))}: the examples of a batch have no order. "
                "Use ordered=False, or a loop (lax.map, lax.scan)"
            )
        return self.for_each_example(operands, axes)


class DebugCallback(Callback, name="debug_callback", by_identity=True):
    """Callback that inspects values: it returns nothing, and is called for each example of a batch separately."""

    ordered: bool

    @property
    def effects(self) -> Effects:
        return frozenset([ORDERED_DEBUG if self.ordered else DEBUG])

    def of(self, callback: Any) -> Operation:
        return DebugCallback(callback, self.ordered)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), []

    batch_rule = Callback.for_each_example


def _place(operation: Callback) -> SourceRange | None:
    function = operation.callback
    while isinstance(function, EachExample):
        function = function.function
    return function.place  # type: ignore[no-any-return]
