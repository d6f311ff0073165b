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
from ..dtypes import host_array, to_canonical_dtype
from ..ir.avals import NO_AXES, ShapedArray, make_aval
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
from ..xla.arrays.transfers import put_on_device
from ..xla.execution.placement import placement_of
from . import sharding_rules
from .shapes import expand_dims, mapped_in_front, moveaxis

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


class HostFunction:
    """User's function of pytrees, wrapped as the function of flat NumPy arrays that a program calls.

    ``api_name`` names the function that the user called, such as ``pure_callback``; ``function`` is the callback.
    ``structure`` is the treedef of its ``(args, kwargs)``, and ``static`` maps positions of leaves to those that are
    not operands. ``avals`` and ``out_structure`` are the types and the treedef that it has to return (else TypeError);
    with ``out_structure`` None its result is ignored. ``call_site`` is the source line of the call that created the
    operation.
    """

    __slots__ = ("api_name", "avals", "call_site", "function", "out_structure", "static", "structure", "wide")

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
        self.api_name = api_name
        self.function = function
        self.structure = structure
        self.static = static
        self.avals = tuple(avals)
        self.out_structure = out_structure
        self.call_site = call_site
        self.wide = enable_x64.value  # record the tracing thread's setting: it is thread-local

    @property
    def name(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __repr__(self) -> str:
        return self.name

    def with_avals(self, avals: Sequence[ShapedArray]) -> HostFunction:
        """Return a copy whose results have to have the types ``avals``."""
        clone = copy.copy(self)
        clone.avals = tuple(avals)
        return clone

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Call the function outside of any trace and return the leaves of its result as NumPy arrays.

        A note with the call site is added to exceptions.
        """
        previous = STATE.trace, STATE.origin, STATE.axes, STATE.checked_axes
        was_in_trace, was_wide = in_trace.value, enable_x64.swap_local(self.wide)
        STATE.trace, STATE.origin, STATE.axes, STATE.checked_axes = None, None, (), NO_AXES
        in_trace.set_local(False)
        try:
            return self._call(operands)
        except BaseException as error:
            note = f"raised in {self.name}, which {self.api_name}{where_text(self.call_site)} calls"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        finally:
            STATE.trace, STATE.origin, STATE.axes, STATE.checked_axes = previous
            in_trace.set_local(was_in_trace)
            enable_x64.set_local(was_wide)

    def _call(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Call the function on the rebuilt arguments; return the leaves of its result, checked against ``avals``."""
        values = iter(operands)
        leaves = [self.static[i] if i in self.static else next(values) for i in range(len(operands) + len(self.static))]
        args, kwargs = self.structure.unflatten(leaves)
        returned = self.function(*args, **kwargs)
        if self.out_structure is None:
            return ()
        results, structure = tree.flatten(returned)
        if len(results) != len(self.avals):  # NumPy's functions return named tuples: the leaves count, as in jax
            raise TypeError(
                f"{self.api_name}: the callback {self.name} has to return what result_shape_dtypes says, a tree of "
                f"structure {self.out_structure}; it returned one of structure {structure}"
            )
        return tuple(self._result(y, aval) for y, aval in zip(results, self.avals, strict=True))

    def _result(self, y: Any, aval: ShapedArray) -> Any:
        value = np.asarray(y)
        if value.dtype.kind == "O" or to_canonical_dtype(value.dtype) != aval.dtype or value.shape != aval.shape:
            raise TypeError(
                f"{self.api_name}: the callback {self.name} has to return what result_shape_dtypes says, "
                f"{aval.str_short()}; it returned {value.dtype.name}[{','.join(map(str, value.shape))}]"
            )
        return np.asarray(host_array(value, aval.dtype), order="C")


class PerExampleCallback:
    """Function of batched NumPy arrays that calls ``function`` once per example and stacks the results.

    ``mapped`` says which operands have a batch axis, which is their axis 0; ``size`` is the batch size.
    """

    __slots__ = ("avals", "function", "mapped", "size")

    def __init__(self, function: Callable[..., Any], mapped: Sequence[bool], size: int) -> None:
        self.function = function
        self.mapped = tuple(mapped)
        self.size = size
        self.avals = tuple(_batched_aval(a, size) for a in function.avals)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{self.function} for each of {self.size}"

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Return the results of all examples, stacked along axis 0."""
        example_results = [
            self.function(*(x[i, ...] if is_mapped else x for x, is_mapped in zip(operands, self.mapped, strict=True)))
            for i in range(self.size)
        ]
        results = tuple(np.empty(aval.shape, aval.dtype) for aval in self.avals)
        for i, example_result in enumerate(example_results):
            for result, y in zip(results, example_result, strict=True):
                result[i] = y
        return results


def _batched_aval(aval: ShapedArray, size: int) -> ShapedArray:
    return make_aval((size, *aval.shape), aval.dtype)


class Callback(Operation):
    """Base of operations whose results are computed by a Python function.

    ``callback`` is a :class:`HostFunction` or a :class:`PerExampleCallback`; ``pure`` says that it has no side effects.
    """

    traits = PYTHON
    callback: Any

    pure: ClassVar[bool] = False
    multiple_results: ClassVar[bool] = True

    sharding_rule = sharding_rules.replicate

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(self.callback.avals)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        with_token = builder.needs_token(self.effects)
        return builder.call_python(self.callback, operands, with_token=with_token, pure=self.pure)  # type: ignore[no-any-return]

    def host_rule(self, *operands: Any) -> list[Any]:
        """Call the function immediately, outside of any trace, and return its results as arrays.

        They are put on the operands' device if that is committed.
        """
        arrays = [np.asarray(x, aval_of(x).dtype) for x in operands]
        placement = placement_of(operands)
        device = placement.device if placement.committed else None
        results = self.callback(*arrays)
        return [put_on_device(y, aval, device) for y, aval in zip(results, self.callback.avals, strict=True)]

    def with_callback(self, callback: Any) -> Operation:
        """Return the same operation with ``callback`` as its function."""
        raise NotImplementedError

    def batch_per_example(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Batch by calling the function for one example after the other.

        ``axes`` are the operands' batch axes. Returns the results and their batch axes, all 0.
        """
        size, batched = _batch_to_front(operands, axes)
        operation = self.with_callback(PerExampleCallback(self.callback, [a is not NOT_MAPPED for a in axes], size))
        return bind(operation, *batched), [0] * len(self.callback.avals)


def _batch_to_front(operands: Sequence[Any], axes: Sequence[Any]) -> tuple[int, list[Any]]:
    """Return the batch size, and the operands with their batch axes (``axes``) moved to the front."""
    size = next(aval_of(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
    return size, [x if a is NOT_MAPPED else moveaxis(x, a, 0) for x, a in zip(operands, axes, strict=True)]


class PureCallback(Callback, name="pure_callback", by_identity=True):
    """Callback without side effects: it may be called again, or removed where its results are unused.

    ``vmap_method`` is one of ``VMAP_METHODS``; with None vmap raises NotImplementedError.
    """

    vmap_method: str | None

    pure = True

    def with_callback(self, callback: Any) -> Operation:
        return PureCallback(callback, self.vmap_method)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> NoReturn:
        raise ValueError(
            "Pure callbacks do not support JVP: Python code cannot be "
            f"differentiated{where_text(_call_site(self))}. Say "
            "what the derivative is with custom_jvp or custom_vjp around the callback"
        )

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        method = self.vmap_method
        if method is None:
            raise NotImplementedError(
                f"vmap of pure_callback{where_text(_call_site(self))} needs to know how: give vmap_method as one of "
                f"{', '.join(map(repr, VMAP_METHODS))}"
            )
        if method.startswith("sequential"):
            return self.batch_per_example(operands, axes)
        size, batched = _batch_to_front(operands, axes)
        if method == "expand_dims":
            batched = [expand_dims(x, (0,)) if a is NOT_MAPPED else x for x, a in zip(batched, axes, strict=True)]
        elif method == "broadcast_all":
            batched = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        function = self.callback.with_avals([_batched_aval(a, size) for a in self.callback.avals])
        return bind(self.with_callback(function), *batched), [0] * len(function.avals)


class IOCallback(Callback, name="io_callback", by_identity=True):
    """Callback with side effects: it is called exactly once, even if its results are unused.

    With ``ordered`` calls happen in program order, and vmap raises ValueError.
    """

    ordered: bool

    @property
    def effects(self) -> Effects:
        return frozenset([ORDERED_IO if self.ordered else IO])

    def with_callback(self, callback: Any) -> Operation:
        return IOCallback(callback, self.ordered)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> NoReturn:
        raise ValueError(
            f"IO callbacks do not support JVP: Python code cannot be differentiated{where_text(_call_site(self))}. Put "
            "stop_gradient around the arguments, or say what the derivative is with custom_jvp or custom_vjp"
        )

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if self.ordered:
            raise ValueError(
                f"Cannot `vmap` ordered IO callbacks{where_text(_call_site(self))}: the examples of a batch "
                "have no order. "
                "Use ordered=False, or a loop (lax.map, lax.scan)"
            )
        return self.batch_per_example(operands, axes)


class DebugCallback(Callback, name="debug_callback", by_identity=True):
    """Callback that inspects values and returns nothing; under vmap it is called once per example.

    With ``ordered`` calls happen in program order.
    """

    ordered: bool

    @property
    def effects(self) -> Effects:
        return frozenset([ORDERED_DEBUG if self.ordered else DEBUG])

    def with_callback(self, callback: Any) -> Operation:
        return DebugCallback(callback, self.ordered)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), []

    batch_rule = Callback.batch_per_example


def _call_site(operation: Callback) -> SourceRange | None:
    function = operation.callback
    while isinstance(function, PerExampleCallback):
        function = function.function
    return function.call_site  # type: ignore[no-any-return]
