"""Builder of StableHLO, which ``to_stablehlo`` rules of operations emit with."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...dtypes import host_array
from ...ir.avals import ShapedArray, make_aval, physical_aval
from ...ir.effects import Effects, calls_python
from ...ir.jaxpr import Literal
from ...lru_cache import FastLRUCache
from .narrow_types import CARRIERS, convert_carriers, packed_element_type
from .operation_log import LogEntry, LoggedBlock, LoggedOperation
from .stablehlo_reader import new_context

_create = ir.Operation.create
_MAX_MODULES_PER_CONTEXT = 2000


class _ContextCaches:
    """MLIR context with caches of the types, attributes and constants that were created in it.

    Each cache drops its least recently used entries beyond 2048. ``scalars`` holds the dense attributes of scalar
    constants by type and by bytes, or by the whole number that was given. ``modules`` counts the modules that were
    written in the context, which a new one replaces after ``_MAX_MODULES_PER_CONTEXT``.
    """

    def __init__(self) -> None:
        self.context = new_context()
        self.types: FastLRUCache[ShapedArray, Any] = FastLRUCache(2048)
        self.attributes: FastLRUCache[str, Any] = FastLRUCache(2048)
        self.integers: FastLRUCache[tuple[int, ...], Any] = FastLRUCache(2048)
        self.scalars: FastLRUCache[tuple[bytes | int, ShapedArray], Any] = FastLRUCache(2048)
        self.modules = 0


class _LoweringState(threading.local):
    # #: The caches that this thread is lowering with.
    active: _ContextCaches | None = None


_STATE = _LoweringState()
_caches_lock = threading.Lock()
_shared_caches: _ContextCaches | None = None


def context() -> Any:
    """Return the MLIR context that all threads share; during lowering, the one that lowering began in.

    Only lowering works in it. XLA's passes load dialects of their own into a module's context, which crashes when
    another thread is lowering in it: XLA gets :func:`bytecode`, or a module from :func:`copy_to_new_context`.
    """
    return (_STATE.active or _current_caches()).context


@contextmanager
def lowering_context() -> Iterator[None]:
    """Enter the context for writing one module; nested blocks of a thread share the outer one.

    A context never frees a type, a name or a constant, so after many modules there is a new one. The old one is freed
    when nothing that was written in it is referenced any more.
    """
    global _shared_caches
    outer = _STATE.active
    caches = outer or _current_caches()
    caches.modules += 1
    if caches.modules > _MAX_MODULES_PER_CONTEXT and caches is _shared_caches:
        _shared_caches = None  # the next module gets a new context
    try:
        _STATE.active = caches
        with caches.context:
            yield
    finally:
        _STATE.active = outer


def _current_caches() -> _ContextCaches:
    """Return the context of all threads with its caches; they are created on first use."""
    global _shared_caches
    caches = _shared_caches
    if caches is None:
        with _caches_lock:
            caches = _shared_caches
            if caches is None:
                caches = _shared_caches = _ContextCaches()
    return caches


def bytecode(module: Any) -> bytes:
    """Return a module (or its operation) as MLIR bytecode, locations included."""
    out = io.BytesIO()
    getattr(module, "operation", module).write_bytecode(out)
    return out.getvalue()


def bytecode_without_name(module: Any) -> bytes:
    """Return a module's bytecode without its name, so that two lowerings of one program have equal bytes."""
    copy = module.operation.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get("", copy.context)
    return bytecode(copy)


def copy_to_new_context(module: Any) -> Any:
    """Return a copy of a module in a new context that nothing else uses, such as for another thread."""
    return ir.Module.parse(bytecode(module), new_context())


_ELEMENT_TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
}  # fmt: skip


def tensor_type(aval: ShapedArray) -> Any:
    """Return the MLIR type of an abstract value inside of a program, such as ``tensor<3xf32>``.

    A dtype narrower than a byte gets its carrier type (``i8`` for int4). An array of typed keys gets the type of its
    key words, with one more axis.
    """
    caches = _STATE.active or _current_caches()
    mlir_type = caches.types.get(aval) or caches.types.promote(aval)
    if mlir_type is None:
        base = physical_aval(aval)
        mlir_type = caches.types.insert(
            aval, _parse_tensor_type(base, _ELEMENT_TYPES[CARRIERS.get(base.dtype, base.dtype).name])
        )
    return mlir_type


def packed_type(aval: ShapedArray) -> Any:
    """Return the MLIR type of a program's operand or result, as the executable takes and returns it.

    For a dtype narrower than a byte this is the dtype's own type (``tensor<3xi4>``), whose elements XLA packs in
    memory, while :func:`tensor_type` returns that of its carrier. For other dtypes both are the same.
    """
    return _parse_tensor_type(aval, packed_element_type(aval.dtype)) if aval.dtype in CARRIERS else tensor_type(aval)


def _parse_tensor_type(aval: ShapedArray, element: str) -> Any:
    sizes = "".join(f"{size}x" for size in aval.shape)
    with context():
        return ir.Type.parse(f"tensor<{sizes}{element}>")


def attribute(text: str) -> Any:
    """Return the MLIR attribute of a text, such as ``attribute("dense<0> : tensor<1xi64>")``, parsed or cached."""
    caches = _STATE.active or _current_caches()
    parsed = caches.attributes.get(text)
    if parsed is None:
        parsed = caches.attributes.promote(text)
    if parsed is None:
        with caches.context:
            parsed = caches.attributes.insert(text, ir.Attribute.parse(text))
    return parsed


def int64_array(values: Sequence[int]) -> Any:
    """Return the MLIR attribute ``array<i64: …>`` that holds ``values``."""
    cache = (_STATE.active or _current_caches()).integers
    key = tuple(values)
    return cache.get(key) or cache.promote(key) or cache.insert(key, _parse_int64_array(key))


def _parse_int64_array(values: tuple[int, ...]) -> Any:
    return attribute(f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>")


#: The type of the token that orders calls of Python: a number whose value is unused.
TOKEN = make_aval((), np.dtype(np.int32))


def _row_major(avals: Sequence[ShapedArray]) -> Any:
    """Return the attribute with a row-major layout for each type, for ``operand_layouts`` of a custom call."""
    layouts = [", ".join(map(str, reversed(range(aval.ndim)))) for aval in avals]
    return attribute(
        f"[{', '.join(f'dense<[{x}]> : tensor<{a.ndim}xindex>' for x, a in zip(layouts, avals, strict=True))}]"
    )


def needs_token(effects: Effects) -> bool:
    """Return whether operations with these effects take and return a token: whether they call Python.

    The token orders the calls. Unordered calls get one as well: XLA refuses a program in which no result depends on a
    call whose operand is a reduction computed by a library. In ``shard_map`` each device has a token of its own;
    outside of it there is one for all.
    """
    return calls_python(effects)


def _add_token(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it takes the token as an additional last operand and returns it as the last result."""

    def call(*operands: Any) -> tuple[Any, ...]:
        *arguments, token = operands
        return *function(*arguments), token

    return call


class Builder:
    """Writer of StableHLO operations into one function, at its insertion point.

    Lowering rules (``to_stablehlo``) get it together with the MLIR values of their operands. ``inputs`` and
    ``outputs`` are the jaxpr variables or literals of the equation being lowered, ``location`` is the equation's name
    and source line, and ``insertion`` is where the next operation goes.
    """

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.inputs: Sequence[Any] = ()
        self.outputs: Sequence[Any] = ()
        self.location: Any = None
        self.insertion: Any = ir.InsertionPoint.current
        #: The token that orders the next call of Python after the last one; None before the first.
        self.token: Any = None
        #: The manual axes (``xla/lowering/collectives.ManualMesh``); None outside of ``shard_map``.
        self.manual: Any = None
        #: The log of the block that is being written; None where nothing reads it.
        self.log: list[LogEntry] | None = None
        self._types = (_STATE.active or _current_caches()).types
        self._literals: dict[Any, Any] = {}
        self._broadcasts: dict[Any, Any] = {}

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Return the types of the current equation's operands."""
        return [x.aval for x in self.inputs]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Return the types of the current equation's results."""
        return [v.aval for v in self.outputs]

    @property
    def can_fold_nan(self) -> bool:
        """Return whether the compiler may find that an operand is NaN and drop what depends on it."""
        return False

    @property
    def is_partitioned(self) -> bool:
        """Return whether several devices share the program."""
        return False

    @property
    def has_many_draws(self) -> bool:
        """Return whether the program draws random bits so often that draws should compile quickly."""
        return False

    def call_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Call a body of the current equation as a function and return its results.

        ``body`` is a closed jaxpr and ``operands`` are MLIR values. ``index`` is the number of the body among those of
        the equation (which branch of a ``cond``); it becomes part of the names of the body's equations.
        """
        raise NotImplementedError

    def call_formula(self, body: Any, operands: Sequence[Any]) -> list[Any]:
        """Call a program by which a lowering rule computes the current equation, and return its results.

        ``body`` is a closed jaxpr, which nobody has traced and no record shows: what is compiled of it, in its loops
        and branches too, is named as the work of the current equation.
        """
        raise NotImplementedError

    def name_scope(self, segment: str) -> AbstractContextManager[None]:
        """Return a context manager in which operations are named by the current equation's path and ``segment``."""
        raise NotImplementedError

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        """Call a body of the current equation as a ``stablehlo.composite`` and return its results.

        A compiler that knows the composite by ``name`` and ``version`` may use an implementation of its own, by the
        ``attributes``; others run ``body``, a closed jaxpr, on the ``operands``.
        """
        raise NotImplementedError

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Write the equations of a body here, where a call is not possible, and return the values of its results.

        The parameters are those of :meth:`call_body`.
        """
        raise NotImplementedError

    def constrain_sharding(self, value: Any, sharding: Any) -> Any:
        """Emit a sharding constraint on ``value`` and return the constrained value.

        ``value`` has the type of the current equation's first result. It is returned unchanged where one device runs
        the program.
        """
        raise NotImplementedError

    def call_on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        """Call a body of the current equation on each device of a mesh, with its shards, and return the results.

        ``ins`` and ``outs`` are the partition specs by which operands and results are cut along ``axes``, the mesh
        axes that are manual in the body. Raises NotImplementedError for a program without devices, and inside of such
        a call over another mesh or over the same axes.
        """
        raise NotImplementedError

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        """Register a Python function that the program calls and return its index among the program's callbacks.

        ``results`` are the types of the arrays that it returns.
        """
        raise NotImplementedError

    def emit(self, name: str, operands: Sequence[Any], attributes: dict[str, Any] | None = None) -> list[Any]:
        """Emit one operation with the result types of the current equation, and return the values of its results.

        ``name`` includes the dialect: ``stablehlo.add``.
        """
        outputs = self.outputs
        if len(outputs) == 1:
            aval = outputs[0].aval
            type_ = self._types.get(aval) or tensor_type(aval)
            value = _create(name, [type_], operands, attributes, None, 0, self.location, self.insertion).result
            if self.log is not None:
                self.log.append((name, operands, type_, value, attributes))
            return [value]
        types = [tensor_type(v.aval) for v in outputs]
        operation = _create(name, types, operands, attributes, None, 0, self.location, self.insertion)
        return self.log_operation(name, operands, operation)

    def operation(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any],
        results: Sequence[ShapedArray] | None = None,
        regions: int = 0,
    ) -> Any:
        """Emit an operation like :meth:`emit`, but return the operation itself, so that its regions can be filled.

        ``results`` are the types of its results (None: those of the current equation), ``regions`` is the number of
        its regions, which are empty at first.
        """
        types = [tensor_type(aval) for aval in (self.out_avals if results is None else results)]
        operation = _create(
            name,
            results=types,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.location,
            ip=self.insertion,
        )
        if self.log is not None:
            self.log_operation(name, operands, operation)
        return operation

    def log_operation(
        self, name: str, operands: Sequence[Any], operation: Any, attributes: dict[str, Any] | None = None
    ) -> list[Any]:
        """Log an operation with several results or with regions, and return its results.

        ``attributes`` are those of a call; see :class:`.LoggedBlock`.
        """
        results = list(operation.results)
        if self.log is not None:
            self.log.append((name, operands, None, LoggedOperation(operation, tuple(results), []), attributes))
        return results

    def _emit_one(
        self, name: str, operands: Sequence[Any], type_: Any, attributes: dict[str, Any] | None = None
    ) -> Any:
        """Emit one operation with one result of an MLIR type, and return its value."""
        value = _create(name, [type_], operands, attributes, None, 0, self.location, self.insertion).result
        if self.log is not None:
            self.log.append((name, operands, type_, value, attributes))
        return value

    def barrier(self, operands: Sequence[Any]) -> list[Any]:
        """Emit a barrier and return the operands behind it: the compiler computes all of them before it uses any."""
        types = [x.type for x in operands]
        operation = _create("stablehlo.optimization_barrier", types, operands, loc=self.location, ip=self.insertion)
        return self.log_operation("stablehlo.optimization_barrier", operands, operation)

    def emit1(
        self, name: str, operands: Sequence[Any], aval: ShapedArray, attributes: dict[str, Any] | None = None
    ) -> Any:
        """Emit one operation with one result, of type ``aval``, and return the value of the result."""
        return self._emit_one(name, operands, self._types.get(aval) or tensor_type(aval), attributes)

    def pack(self, value: Any, aval: ShapedArray) -> Any:
        """Convert a value of type ``aval`` from its carrier type, if it has one, to its packed type."""
        return self._convert(value, packed_type(aval)) if aval.dtype in CARRIERS else value

    def unpack(self, value: Any, aval: ShapedArray) -> Any:
        """Convert an operand of the program, of type ``aval``, to its carrier type, if it has one."""
        return self._convert(value, tensor_type(aval)) if aval.dtype in CARRIERS else value

    def bitcast(self, value: Any, aval: ShapedArray, out: ShapedArray) -> Any:
        """Bitcast a value of type ``aval`` to the type ``out``; either may be represented by a carrier type."""
        packed = self._convert(self.pack(value, aval), packed_type(out), "stablehlo.bitcast_convert")
        return self.unpack(packed, out)

    def _convert(self, value: Any, type_: Any, name: str = "stablehlo.convert") -> Any:
        return self._emit_one(name, [value], type_)

    def literal(self, x: Any) -> Any:
        """Return the MLIR value of a jaxpr literal; its constant is written once per function."""
        value = self._literals.get(x)
        if value is None:
            value = self._literals[x] = self.constant(x.val, x.aval)
        return value

    def constant(self, value: Any, aval: ShapedArray) -> Any:
        """Emit a constant of type ``aval`` and return its value.

        ``value`` is a scalar, repeated to the shape of the type, or an array of that shape.
        """
        cache = (_STATE.active or _current_caches()).scalars
        dense = cache.get((value, aval)) if value.__class__ is int else None
        if dense is None:
            array = host_array(value, aval.dtype)
            if array.ndim:
                dense = self._dense(array, aval)
            else:
                key = value if value.__class__ is int else array.tobytes(), aval
                dense = cache.promote(key) or cache.get(key) or cache.insert(key, self._dense(array, aval))
        return self._emit_one("stablehlo.constant", (), tensor_type(aval), {"value": dense})

    def _dense(self, array: np.ndarray[Any, Any], aval: ShapedArray) -> Any:
        """Return the dense attribute for a constant of type ``aval``: a scalar, or an array of its shape.

        The elements have the carrier type if the dtype has one.
        """
        element = tensor_type(make_aval((), aval.dtype)).element_type
        if aval.dtype in CARRIERS:
            array = array.astype(CARRIERS[aval.dtype])
        if array.dtype == np.bool_:  # MLIR stores booleans as bytes, and XLA relies on true being 1
            array = array.astype(np.uint8)
        elif array.dtype.isbuiltin == 2:  # a dtype of ml_dtypes
            array = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=element, shape=list(aval.shape))

    def broadcast(self, value: Any, aval: ShapedArray, dimensions: Sequence[int] = ()) -> Any:
        """Broadcast ``value`` to the shape of ``aval``; operand axis i becomes result axis ``dimensions[i]``."""
        return self.emit1(
            "stablehlo.broadcast_in_dim", [value], aval, {"broadcast_dimensions": int64_array(dimensions)}
        )

    def broadcast_atom(self, value: Any, x: Any, shape: tuple[int, ...]) -> Any:
        """Broadcast ``value``, the MLIR value of the jaxpr variable or literal ``x``, to ``shape``.

        ``x`` is a scalar or has as many axes as ``shape``. One literal is broadcast to one shape once per function.
        """
        if x.__class__ is not Literal:
            axes = tuple(range(len(shape))) if x.aval.shape else ()
            return self.broadcast(value, make_aval(shape, x.aval.dtype), axes)
        key = (x, shape)
        stretched = self._broadcasts.get(key)
        if stretched is None:
            stretched = self._broadcasts[key] = self.broadcast(value, make_aval(shape, x.aval.dtype))
        return stretched

    def stretch(self, operands: Sequence[Any], inputs: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
        """Broadcast the operands of an elementwise operation to the shape of its result and return them.

        ``operands`` are the MLIR values of the jaxpr variables or literals ``inputs``.
        """
        return [
            value if x.aval.shape == shape else self.broadcast_atom(value, x, shape)
            for value, x in zip(operands, inputs, strict=True)
        ]

    def compare(self, direction: str, x: Any, y: Any) -> Any:
        """Compare two scalars and return a boolean; ``direction`` is StableHLO's (``EQ``, ``LT``, ``GE``, …)."""
        attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
        return self.emit1("stablehlo.compare", [x, y], make_aval((), np.dtype(np.bool_)), attributes)

    def slice_leading(self, array: Any, index: Any, aval: ShapedArray) -> Any:
        """Return ``array[index]``, the slice at an index of the leading axis.

        ``index`` is a scalar int32 value of the program. ``aval`` is the type of the slice, which has one axis fewer
        than ``array``.
        """
        sizes = (1, *aval.shape)
        starts = [index, *[self.constant(0, make_aval((), np.dtype(np.int32)))] * len(aval.shape)]
        part = self.emit1(
            "stablehlo.dynamic_slice",
            [array, *starts],
            make_aval(sizes, aval.dtype),
            {"slice_sizes": int64_array(sizes)},
        )
        return self.emit1("stablehlo.reshape", [part], aval)

    def update_leading(self, array: Any, part: Any, index: Any, aval: ShapedArray) -> Any:
        """Return ``array`` with ``array[index]``, the slice at an index of the leading axis, replaced by ``part``.

        ``index`` is a scalar int32 value of the program, ``part`` has one axis fewer than ``array``, and ``aval`` is
        the type of ``array``.
        """
        starts = [index, *[self.constant(0, make_aval((), np.dtype(np.int32)))] * (len(aval.shape) - 1)]
        slice_ = self.emit1("stablehlo.reshape", [part], make_aval((1, *aval.shape[1:]), aval.dtype))
        return self.emit1("stablehlo.dynamic_update_slice", [array, slice_, *starts], aval)

    def needs_token(self, effects: Effects) -> bool:
        """Return whether operations with these effects take and return the token: whether they call Python."""
        return needs_token(effects)

    def current_token(self) -> Any:
        """Return the token that the next call of Python takes: that of the last call, or else a new one."""
        if self.token is None:
            self.token = self.constant(0, TOKEN)
        return self.token

    def single_device_attributes(self, results: int) -> dict[str, Any]:
        """Return the attributes of an operation that one device carries out for all devices of the program.

        ``results`` is how many results it has. There are no attributes for a program on one device and inside of
        ``shard_map``.
        """
        return {}

    def call_python(
        self, function: Callable[..., Any], operands: Sequence[Any], *, with_token: bool = False, pure: bool = False
    ) -> list[Any]:
        """Emit a call of a Python function and return its results, which have the types of the current equation's.

        ``function`` takes NumPy arrays and returns a tuple of NumPy arrays. ``with_token`` passes the token as an
        additional operand and result. A ``pure`` call may be dropped where its results are unused. Where several
        devices share the program, the first one calls with whole arrays; in ``shard_map`` each does, with its own
        shards. Along the automatic axes of a ``shard_map`` the first one does, except for a ``pure`` call.
        """
        in_avals, results = self.in_avals, self.out_avals
        function = convert_carriers(function, in_avals, results)
        if with_token:
            operands, in_avals, results = [*operands, self.current_token()], [*in_avals, TOKEN], [*results, TOKEN]
            function = _add_token(function)
        attributes = {
            "call_target_name": attribute(f'"xla_ffi_python_{"cpu" if self.platform == "cpu" else "gpu"}_callback"'),
            "api_version": attribute("4 : i32"),
            "has_side_effect": attribute("false" if pure else "true"),
            "backend_config": attribute(f"{{index = {self.add_callback(function, results)} : ui64}}"),
            "operand_layouts": _row_major(in_avals),
            "result_layouts": _row_major(results),
            **self.single_device_attributes(len(results)),
        }
        values = list(self.operation("stablehlo.custom_call", operands, attributes, results).results)
        if with_token:
            self.token = values.pop()
        return values

    def while_loop(
        self,
        operands: Sequence[Any],
        avals: Sequence[ShapedArray],
        condition: Callable[..., list[Any]],
        body: Callable[..., list[Any]],
        *,
        with_token: bool = False,
    ) -> list[Any]:
        """Emit a loop and return the values that it ends with.

        ``operands`` are the initial values and ``avals`` their types. ``condition`` and ``body`` get the values of an
        iteration and return a list: one boolean, and the values of the next iteration. ``with_token`` carries the
        token along, for bodies that call Python.
        """
        if not with_token:
            loop = self.operation("stablehlo.while", operands, {}, avals, regions=2)
            self.fill_region(loop, avals, condition, 0)
            self.fill_region(loop, avals, body, 1)
            return list(loop.results)

        def body_with_token(*values: Any) -> list[Any]:
            *arguments, self.token = values
            return [*body(*arguments), self.token]

        start, types = [*operands, self.current_token()], [*avals, TOKEN]
        loop = self.operation("stablehlo.while", start, {}, types, regions=2)
        self.fill_region(loop, types, lambda *values: condition(*values[:-1]), 0)
        self.fill_region(loop, types, body_with_token, 1)
        *results, self.token = loop.results
        return list(results)

    def case(self, index: Any, branches: Sequence[Callable[[], list[Any]]], *, with_token: bool = False) -> list[Any]:
        """Emit a choice among branches and return its results, which have the types of the current equation's.

        ``index`` is a scalar int32 value that selects the branch. Each of ``branches`` takes no arguments, emits
        operations and returns the branch's results. ``with_token`` passes the token through, for branches that call
        Python.
        """
        types = [*self.out_avals, TOKEN] if with_token else self.out_avals
        before = self.current_token() if with_token else self.token
        operation = self.operation("stablehlo.case", [index], {}, types, regions=len(branches))
        for number, branch in enumerate(branches):
            self.token = before
            self.fill_region(operation, [], lambda b=branch: [*b(), self.token] if with_token else b(), number)
        self.token = before
        if not with_token:
            return list(operation.results)
        *results, self.token = operation.results
        return list(results)

    def fill_region(
        self,
        operation: Any,
        arguments: Sequence[ShapedArray],
        write: Callable[..., list[Any]],
        index: int = 0,
        end: str = "stablehlo.return",
    ) -> None:
        """Fill the empty region number ``index`` of an operation with one block.

        ``arguments`` are the types of the block's arguments. ``write`` gets their values, emits operations and returns
        the values that end the block as operands of an operation named ``end``.
        """
        types = [tensor_type(aval) for aval in arguments]
        block = operation.regions[index].blocks.append(*types, arg_locs=[self.location] * len(types))
        outer, outer_log, block_arguments = self.insertion, self.log, list(block.arguments)
        if outer_log is not None:
            logged = LoggedBlock(block_arguments, types, [], [])
            self._blocks_of(operation).append(logged)
            self.log = logged.entries
        self.insertion = ir.InsertionPoint(block)
        results = write(*block_arguments)
        _create(end, operands=results, loc=self.location, ip=self.insertion)
        if outer_log is not None:
            logged.returned.extend(results)
        self.insertion, self.log = outer, outer_log

    def reduce(self, operands: Sequence[Any], attributes: dict[str, Any], combine: str, scalar: ShapedArray) -> Any:
        """Emit a reduction of one array by one operation, with the current equation's result type, and return it.

        ``operands`` are the array and the initial value, ``combine`` is the operation that combines two elements, whose
        type is ``scalar``. This is :meth:`operation` and :meth:`fill_region` for the region that most programs have.
        """
        aval, location = self.outputs[0].aval, self.location
        types = [self._types.get(aval) or tensor_type(aval)]
        operation = _create("stablehlo.reduce", types, operands, attributes, None, 1, location, self.insertion)
        element = self._types.get(scalar) or tensor_type(scalar)
        block = operation.regions[0].blocks.append(element, element, arg_locs=[location, location])
        arguments, insertion = tuple(block.arguments), ir.InsertionPoint(block)
        combined = _create(combine, [element], arguments, None, None, 0, location, insertion).result
        _create("stablehlo.return", [], (combined,), None, None, 0, location, insertion)
        result = operation.result
        if self.log is not None:
            self.log.append(("stablehlo.reduce", operands, types[0], result, attributes))
        return result

    def _blocks_of(self, operation: Any) -> list[LoggedBlock]:
        """Return the logged blocks of an operation of the current block; a list that nothing reads if it has no log."""
        for _, _, _, logged, _ in reversed(self.log or ()):
            if isinstance(logged, LoggedOperation) and logged.operation is operation:
                return logged.blocks
        return []
