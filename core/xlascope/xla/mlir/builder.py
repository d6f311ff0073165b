"""Builder of StableHLO, which ``to_stablehlo`` rules of operations emit with."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import ShapedArray, in_words, shaped
from ...ir.effects import Effects, calls_python
from ...ir.jaxpr import Literal
from ...recent import Recent
from .narrow_types import CARRIERS, of_packed, packed_element
from .stablehlo import new_context

_create = ir.Operation.create
_MOST_MODULES = 2000


class _Home:
    """MLIR context, and caches of what was parsed in it."""

    def __init__(self) -> None:
        self.context = new_context()
        self.types: Recent[ShapedArray, Any] = Recent(2048)
        self.attributes: Recent[str, Any] = Recent(2048)
        self.integers: Recent[tuple[int, ...], Any] = Recent(2048)
        self.scalars: Recent[tuple[bytes, ShapedArray], Any] = Recent(2048)
        self.modules = 0


class _Here(threading.local):
    # #: The caches that this thread is lowering with.
    home: _Home | None = None


_HERE = _Here()
_home_lock = threading.Lock()
_home: _Home | None = None


def context() -> Any:
    """Return the MLIR context of all threads, with dialects loaded; while lowering, the one that lowering began in.

    Only lowering works in it. XLA's passes load dialects of their own into a module's context, which crashes when
    another thread is lowering in it: XLA gets :func:`bytecode`, or a module from :func:`copy_to_new_context`.
    """
    return (_HERE.home or _current_home()).context


@contextmanager
def lowering_context() -> Iterator[None]:
    """Enter the context for writing one module.

    A context never frees a type, a name or a constant, so after many modules there is a new one, and the old one goes
    when nothing that was written in it is referenced any more.
    """
    global _home
    outer = _HERE.home
    caches = outer or _current_home()
    caches.modules += 1
    if caches.modules > _MOST_MODULES and caches is _home:
        _home = None  # the next module gets a new context
    try:
        _HERE.home = caches
        with caches.context:
            yield
    finally:
        _HERE.home = outer


def _current_home() -> _Home:
    global _home
    caches = _home
    if caches is None:
        with _home_lock:
            caches = _home
            if caches is None:
                caches = _home = _Home()
    return caches


def bytecode(module: Any) -> bytes:
    """Return a module (or its operation) as MLIR bytecode, locations included."""
    out = io.BytesIO()
    getattr(module, "operation", module).write_bytecode(out)
    return out.getvalue()


def nameless_bytecode(module: Any) -> bytes:
    """Return a module's bytecode without its name, which differs each time that a program is lowered."""
    copy = module.operation.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get("", copy.context)
    return bytecode(copy)


def of_its_own(module: Any) -> Any:
    """Copy a module to a new context that nothing else uses."""
    return ir.Module.parse(bytecode(module), new_context())


_ELEMENT = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
}  # fmt: skip


def tensor_type(aval: ShapedArray) -> Any:
    """Return the MLIR type of an abstract value within a program.

    It is the carrier's type for dtypes narrower than a byte, and that of their words for keys.
    """
    caches = _HERE.home or _current_home()
    mlir_type = caches.types.get(aval) or caches.types.again(aval)
    if mlir_type is None:
        base = in_words(aval)
        mlir_type = caches.types.keep(aval, _parsed(base, _ELEMENT[CARRIERS.get(base.dtype, base.dtype).name]))
    return mlir_type


def packed_type(aval: ShapedArray) -> Any:
    """Return the MLIR type of an operand or a result of a program as a whole."""
    return _parsed(aval, packed_element(aval.dtype)) if aval.dtype in CARRIERS else tensor_type(aval)


def _parsed(aval: ShapedArray, element: str) -> Any:
    sizes = "".join(f"{size}x" for size in aval.shape)
    with context():
        return ir.Type.parse(f"tensor<{sizes}{element}>")


def attribute(text: str) -> Any:
    """Return a parsed MLIR attribute, such as ``attribute("dense<0> : tensor<1xi64>")``."""
    caches = _HERE.home or _current_home()
    parsed = caches.attributes.get(text)
    if parsed is None:
        parsed = caches.attributes.again(text)
    if parsed is None:
        with caches.context:
            parsed = caches.attributes.keep(text, ir.Attribute.parse(text))
    return parsed


def integers(values: Sequence[int]) -> Any:
    """Return the attribute ``array<i64: …>``."""
    cache = (_HERE.home or _current_home()).integers
    key = tuple(values)
    return cache.get(key) or cache.again(key) or cache.keep(key, _integers(key))


def _integers(values: tuple[int, ...]) -> Any:
    return attribute(f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>")


#: The type of the token that orders calls of Python: a number whose value is unused.
TOKEN = shaped((), np.dtype(np.int32))


def _row_major(avals: Sequence[ShapedArray]) -> Any:
    """Return the attribute of row-major layouts, as NumPy has them."""
    layouts = [", ".join(map(str, reversed(range(aval.ndim)))) for aval in avals]
    return attribute(
        f"[{', '.join(f'dense<[{x}]> : tensor<{a.ndim}xindex>' for x, a in zip(layouts, avals, strict=True))}]"
    )


def passes_token(effects: Effects) -> bool:
    """Return whether operations with these effects take and return the token: those that call Python.

    Unordered calls get one as well: XLA refuses a program in which no result depends on a call, where a library
    computes a reduction that the call needs. In ``shard_map`` each device has its own token, and all leave it as one.
    """
    return calls_python(effects)


def _passing_token(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it takes the token as a further operand and returns it as a further result."""

    def call(*operands: Any) -> tuple[Any, ...]:
        *arguments, token = operands
        return *function(*arguments), token

    return call


class Builder:
    """Emitter of operations at the insertion point of the function being written.

    ``inputs`` and ``outputs`` are the current equation's atoms, ``location`` its name and line.
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
        self._types = (_HERE.home or _current_home()).types
        self._literals: dict[Any, Any] = {}
        self._spread: dict[Any, Any] = {}

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Return the types of the current equation's operands."""
        return [x.aval for x in self.inputs]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Return the types of the current equation's results."""
        return [v.aval for v in self.outputs]

    @property
    def knows_nan(self) -> bool:
        """Return whether the compiler may find that an operand is NaN and drop what depends on it."""
        return False

    @property
    def has_many_draws(self) -> bool:
        """Return whether the program draws random bits so often that draws should compile quickly."""
        return False

    def call_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Call the inner program with that index of the current equation."""
        raise NotImplementedError

    def called(self, segment: str) -> AbstractContextManager[None]:
        """Emit operations inside of a block under the current equation's name with a suffix."""
        raise NotImplementedError

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        """Call an inner program of the current equation as a composite that a compiler may know by name."""
        raise NotImplementedError

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Write the equations of an inner program here, where a call is not possible."""
        raise NotImplementedError

    def constrained(self, value: Any, sharding: Any) -> Any:
        """Constrain the sharding of the current equation's operand and return its value."""
        raise NotImplementedError

    def on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        """Call an inner program of the current equation on each device of a mesh, with its shards.

        ``ins`` and ``outs`` are the specs by which operands and results are partitioned along ``axes`` of the mesh.
        """
        raise NotImplementedError

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        """Add a Python function that the program calls, with its result types, and return its number."""
        raise NotImplementedError

    def emit(self, name: str, operands: Sequence[Any], attributes: dict[str, Any] | None = None) -> list[Any]:
        """Emit one operation whose results have the types of the current equation's."""
        outputs = self.outputs
        if len(outputs) == 1:
            aval = outputs[0].aval
            type_ = self._types.get(aval) or tensor_type(aval)
            return [_create(name, [type_], operands, attributes, None, 0, self.location, self.insertion).result]
        types = [tensor_type(v.aval) for v in outputs]
        return list(_create(name, types, operands, attributes, None, 0, self.location, self.insertion).results)

    def operation(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any],
        results: Sequence[ShapedArray] | None = None,
        regions: int = 0,
    ) -> Any:
        """Emit an operation like :meth:`emit`, but return the operation itself, so that its regions can be filled."""
        types = [tensor_type(aval) for aval in (self.out_avals if results is None else results)]
        return _create(
            name,
            results=types,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.location,
            ip=self.insertion,
        )

    def barrier(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands behind a barrier: the compiler computes all of them before it uses any."""
        types = [x.type for x in operands]
        operation = _create("stablehlo.optimization_barrier", types, operands, loc=self.location, ip=self.insertion)
        return list(operation.results)

    def emit1(
        self, name: str, operands: Sequence[Any], aval: ShapedArray, attributes: dict[str, Any] | None = None
    ) -> Any:
        """Emit one operation with one result, of type ``aval``."""
        return _create(
            name,
            results=[tensor_type(aval)],
            operands=operands,
            attributes=attributes,
            loc=self.location,
            ip=self.insertion,
        ).result

    def pack(self, value: Any, aval: ShapedArray) -> Any:
        """Convert a value from its carrier, if it has one, to the type that the program returns."""
        return self._converted(value, packed_type(aval)) if aval.dtype in CARRIERS else value

    def unpack(self, value: Any, aval: ShapedArray) -> Any:
        """Convert an operand of the program to its carrier, if it has one."""
        return self._converted(value, tensor_type(aval)) if aval.dtype in CARRIERS else value

    def bitcast(self, value: Any, aval: ShapedArray, out: ShapedArray) -> Any:
        """Bitcast a value to another type, taking carriers of both into account."""
        packed = self._converted(self.pack(value, aval), packed_type(out), "stablehlo.bitcast_convert")
        return self.unpack(packed, out)

    def _converted(self, value: Any, type_: Any, name: str = "stablehlo.convert") -> Any:
        return _create(name, results=[type_], operands=[value], loc=self.location, ip=self.insertion).result

    def literal(self, x: Any) -> Any:
        """Return the constant for a literal, written once per function."""
        value = self._literals.get(x)
        if value is None:
            value = self._literals[x] = self.constant(x.val, x.aval)
        return value

    def constant(self, value: Any, aval: ShapedArray) -> Any:
        """Return a constant filled with a scalar, or holding an array of the type's shape."""
        array = np.asarray(value, aval.dtype)
        if array.ndim:
            dense = self._dense(array, aval)
        else:
            cache, key = (_HERE.home or _current_home()).scalars, (array.tobytes(), aval)
            dense = cache.get(key) or cache.again(key) or cache.keep(key, self._dense(array, aval))
        return _create(
            "stablehlo.constant",
            results=[tensor_type(aval)],
            attributes={"value": dense},
            loc=self.location,
            ip=self.insertion,
        ).result

    def _dense(self, array: np.ndarray[Any, Any], aval: ShapedArray) -> Any:
        element = tensor_type(shaped((), aval.dtype)).element_type
        if aval.dtype in CARRIERS:
            array = array.astype(CARRIERS[aval.dtype])
        if array.dtype == np.bool_:  # MLIR stores booleans as bytes, and XLA relies on true being 1
            array = array.astype(np.uint8)
        elif array.dtype.isbuiltin == 2:  # a dtype of ml_dtypes
            array = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=element, shape=list(aval.shape))

    def broadcast(self, value: Any, aval: ShapedArray, dimensions: Sequence[int] = ()) -> Any:
        """Broadcast ``value`` to the type's shape; operand axis i becomes result axis ``dimensions[i]``."""
        return self.emit1("stablehlo.broadcast_in_dim", [value], aval, {"broadcast_dimensions": integers(dimensions)})

    def spread(self, value: Any, x: Any, shape: tuple[int, ...]) -> Any:
        """Broadcast an atom's value to a shape; the same literal for the same shape is written once."""
        if x.__class__ is not Literal:
            axes = tuple(range(len(shape))) if x.aval.shape else ()
            return self.broadcast(value, shaped(shape, x.aval.dtype), axes)
        key = (x, shape)
        stretched = self._spread.get(key)
        if stretched is None:
            stretched = self._spread[key] = self.broadcast(value, shaped(shape, x.aval.dtype))
        return stretched

    def compare(self, direction: str, x: Any, y: Any) -> Any:
        """Compare two scalars by a direction (``LT``, ``EQ`` …)."""
        attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
        return self.emit1("stablehlo.compare", [x, y], shaped((), np.dtype(np.bool_)), attributes)

    def slice_leading(self, array: Any, index: Any, aval: ShapedArray) -> Any:
        """Return the slice of type ``aval`` (an axis less than ``array``) at an index of the leading axis."""
        sizes = (1, *aval.shape)
        starts = [index, *[self.constant(0, shaped((), np.dtype(np.int32)))] * len(aval.shape)]
        part = self.emit1(
            "stablehlo.dynamic_slice",
            [array, *starts],
            shaped(sizes, aval.dtype),
            {"slice_sizes": integers(sizes)},
        )
        return self.emit1("stablehlo.reshape", [part], aval)

    def update_leading(self, array: Any, part: Any, index: Any, aval: ShapedArray) -> Any:
        """Replace the slice of ``array``, of type ``aval``, at an index of the leading axis by ``part``."""
        starts = [index, *[self.constant(0, shaped((), np.dtype(np.int32)))] * (len(aval.shape) - 1)]
        slice_ = self.emit1("stablehlo.reshape", [part], shaped((1, *aval.shape[1:]), aval.dtype))
        return self.emit1("stablehlo.dynamic_update_slice", [array, slice_, *starts], aval)

    def passes_token(self, effects: Effects) -> bool:
        """Return whether operations with these effects take and return the token."""
        return passes_token(effects)

    def current_token(self) -> Any:
        """Return the value that the next call of Python depends on, a new one before the first call."""
        if self.token is None:
            self.token = self.constant(0, TOKEN)
        return self.token

    def of_one_device(self, results: int) -> dict[str, Any]:
        """Return the attributes of an operation that one device carries out for all devices of the program."""
        return {}

    def call_python(
        self, function: Callable[..., Any], operands: Sequence[Any], *, with_token: bool = False, pure: bool = False
    ) -> list[Any]:
        """Call a Python function, of NumPy arrays to a tuple of NumPy arrays of the current equation's results.

        ``with_token`` passes the token as a further operand and result. A ``pure`` call may be dropped where its
        results are unused. Of devices that share a program the first one calls, with whole arrays; in ``shard_map``
        each does, with its own shards.
        """
        in_avals, results = self.in_avals, self.out_avals
        function = of_packed(function, in_avals, results)
        if with_token:
            operands, in_avals, results = [*operands, self.current_token()], [*in_avals, TOKEN], [*results, TOKEN]
            function = _passing_token(function)
        attributes = {
            "call_target_name": attribute(f'"xla_ffi_python_{"cpu" if self.platform == "cpu" else "gpu"}_callback"'),
            "api_version": attribute("4 : i32"),
            "has_side_effect": attribute("false" if pure else "true"),
            "backend_config": attribute(f"{{index = {self.add_callback(function, results)} : ui64}}"),
            "operand_layouts": _row_major(in_avals),
            "result_layouts": _row_major(results),
            **self.of_one_device(len(results)),
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
        """Return the operands, of those types, after ``body`` was applied as long as ``condition`` holds for them.

        ``with_token`` carries the token along, for bodies that call Python.
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
        """Return the results of the branch with that index, which are the current equation's results.

        ``with_token`` passes the token through, for branches that call Python.
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
        """Fill a region of an operation with one block, ended by the values of ``write(*arguments)``."""
        types = [tensor_type(aval) for aval in arguments]
        block = operation.regions[index].blocks.append(*types, arg_locs=[self.location] * len(types))
        outer = self.insertion
        self.insertion = ir.InsertionPoint(block)
        _create(end, operands=write(*block.arguments), loc=self.location, ip=self.insertion)
        self.insertion = outer
