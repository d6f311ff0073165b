"""Emitting StableHLO: what an operation's ``to_stablehlo`` rule is given to write with."""

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
    """An MLIR context, and what was parsed in it."""

    def __init__(self) -> None:
        self.context = new_context()
        self.types: Recent[ShapedArray, Any] = Recent(2048)
        self.attributes: Recent[str, Any] = Recent(2048)
        self.integers: Recent[tuple[int, ...], Any] = Recent(2048)
        self.scalars: Recent[tuple[bytes, ShapedArray], Any] = Recent(2048)
        self.modules = 0


class _Here(threading.local):
    #: Where this thread is lowering.
    home: _Home | None = None


_HERE = _Here()
_home_lock = threading.Lock()
_home: _Home | None = None


def context() -> Any:
    """The MLIR context of all threads, with the dialects loaded; while one lowers, the one it began in.

    Only lowering works in it. XLA's passes load dialects of their own into a module's context, which crashes when
    another thread is lowering in it: XLA gets :func:`bytecode`, or a module in a context :func:`of_its_own`.
    """
    return (_HERE.home or _current_home()).context


@contextmanager
def lowering_context() -> Iterator[None]:
    """Write one module. A context never forgets a type, a name or a constant, so after many modules there is a new one,
    and the old one goes when nothing that was written in it is held any more.
    """
    global _home
    outside = _HERE.home
    home = outside or _current_home()
    home.modules += 1
    if home.modules > _MOST_MODULES and home is _home:
        _home = None  # for the next one
    try:
        _HERE.home = home
        with home.context:
            yield
    finally:
        _HERE.home = outside


def _current_home() -> _Home:
    global _home
    found = _home
    if found is None:
        with _home_lock:
            found = _home
            if found is None:
                found = _home = _Home()
    return found


def bytecode(module: Any) -> bytes:
    """A module (or its operation) as MLIR bytecode, locations included."""
    out = io.BytesIO()
    getattr(module, "operation", module).write_bytecode(out)
    return out.getvalue()


def nameless_bytecode(module: Any) -> bytes:
    """A module's bytecode but for its name, which is another one each time that a program is lowered."""
    copy = module.operation.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get("", copy.context)
    return bytecode(copy)


def of_its_own(module: Any) -> Any:
    """A copy of a module in a context that nobody else works in."""
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
    """The MLIR type of an abstract value within a program: that of the carrier for types narrower than a byte, and of
    their words for keys.
    """
    home = _HERE.home or _current_home()
    found = home.types.get(aval) or home.types.again(aval)
    if found is None:
        words = in_words(aval)
        found = home.types.keep(aval, _parsed(words, _ELEMENT[CARRIERS.get(words.dtype, words.dtype).name]))
    return found


def packed_type(aval: ShapedArray) -> Any:
    """The MLIR type of an operand or a result of a whole program."""
    return _parsed(aval, packed_element(aval.dtype)) if aval.dtype in CARRIERS else tensor_type(aval)


def _parsed(aval: ShapedArray, element: str) -> Any:
    sizes = "".join(f"{size}x" for size in aval.shape)
    with context():
        return ir.Type.parse(f"tensor<{sizes}{element}>")


def attribute(text: str) -> Any:
    """A parsed MLIR attribute, such as ``attribute("dense<0> : tensor<1xi64>")``."""
    home = _HERE.home or _current_home()
    found = home.attributes.get(text)
    if found is None:
        found = home.attributes.again(text)
    if found is None:
        with home.context:
            found = home.attributes.keep(text, ir.Attribute.parse(text))
    return found


def integers(values: Sequence[int]) -> Any:
    """The attribute ``array<i64: …>``."""
    known = (_HERE.home or _current_home()).integers
    key = tuple(values)
    return known.get(key) or known.again(key) or known.keep(key, _integers(key))


def _integers(values: tuple[int, ...]) -> Any:
    return attribute(f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>")


#: What passes from one call of Python to the next: a number that nobody looks at.
TOKEN = shaped((), np.dtype(np.int32))


def _row_major(avals: Sequence[ShapedArray]) -> Any:
    """The attribute that says that arrays lie in memory as NumPy has them."""
    layouts = [", ".join(map(str, reversed(range(aval.ndim)))) for aval in avals]
    return attribute(
        f"[{', '.join(f'dense<[{x}]> : tensor<{a.ndim}xindex>' for x, a in zip(layouts, avals, strict=True))}]"
    )


def passes_token(effects: Effects) -> bool:
    """Tell whether the token passes through operations with these effects: where they call Python.

    Calls without an order get one as well: XLA refuses a program in which no result depends on a call, where a library
    computes a reduction that the call needs. In ``shard_map`` each device passes on its own, and all leave it as one.
    """
    return calls_python(effects)


def _passing_token(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the token as one more operand, which it returns as one more result."""

    def call(*operands: Any) -> tuple[Any, ...]:
        *given, token = operands
        return *function(*given), token

    return call


class Builder:
    """Emits operations at the insertion point of the function being written.

    ``inputs`` and ``outputs`` are the current equation's atoms, ``location`` its name and line.
    """

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.inputs: Sequence[Any] = ()
        self.outputs: Sequence[Any] = ()
        self.location: Any = None
        self.insertion: Any = ir.InsertionPoint.current
        #: The value on which the next call of Python depends, so that it happens after the last one; None before any.
        self.token: Any = None
        #: Where each device has its own values (``xla/lowering/collectives.Manual``); None outside of ``shard_map``.
        self.manual: Any = None
        self._types = (_HERE.home or _current_home()).types
        self._literals: dict[Any, Any] = {}
        self._spread: dict[Any, Any] = {}

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the current equation's operands."""
        return [x.aval for x in self.inputs]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the current equation's results."""
        return [v.aval for v in self.outputs]

    @property
    def knows_nan(self) -> bool:
        """Whether the compiler may find out that an operand is NaN, and leave out what depends on it."""
        return False

    @property
    def has_many_draws(self) -> bool:
        """Whether the program draws random bits so often that draws should compile quickly."""
        return False

    def call_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Call a program that the current equation holds, the ``index``-th of them."""
        raise NotImplementedError

    def called(self, segment: str) -> AbstractContextManager[None]:
        """A block in which what is emitted has the current equation's place and this behind it as its name."""
        raise NotImplementedError

    def call_composite(
        self, body: Any, operands: Sequence[Any], name: str, attributes: dict[str, Any], version: int
    ) -> list[Any]:
        """Call a program that the current equation holds as what a compiler may know by that name."""
        raise NotImplementedError

    def write_body(self, body: Any, operands: Sequence[Any], index: int = 0) -> list[Any]:
        """Write the equations of such a program here, where a call is not possible."""
        raise NotImplementedError

    def constrained(self, value: Any, sharding: Any) -> Any:
        """The value of the current equation's operand, which is to lie as the sharding says."""
        raise NotImplementedError

    def on_each_device(
        self, body: Any, operands: Sequence[Any], mesh: Any, ins: Sequence[Any], outs: Any, axes: Sequence[Any]
    ) -> list[Any]:
        """Call a program that the current equation holds on each device of a mesh, with its parts of the operands:
        ``ins`` and ``outs`` are the specs by which operands and results are cut along ``axes`` of the mesh.
        """
        raise NotImplementedError

    def add_callback(self, function: Callable[..., Any], results: Sequence[ShapedArray]) -> int:
        """The number, in the program, of a Python function that it calls, and what types it returns."""
        raise NotImplementedError

    def emit(self, name: str, operands: Sequence[Any], attributes: dict[str, Any] | None = None) -> list[Any]:
        """One operation whose results have the types of the current equation's."""
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
        """Like :meth:`emit`, but gives the operation itself, for those that have regions to fill."""
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
        """The operands behind a barrier: the compiler computes all of them before it uses any."""
        types = [x.type for x in operands]
        made = _create("stablehlo.optimization_barrier", types, operands, loc=self.location, ip=self.insertion)
        return list(made.results)

    def emit1(
        self, name: str, operands: Sequence[Any], aval: ShapedArray, attributes: dict[str, Any] | None = None
    ) -> Any:
        """One operation with one result, of type ``aval``."""
        return _create(
            name,
            results=[tensor_type(aval)],
            operands=operands,
            attributes=attributes,
            loc=self.location,
            ip=self.insertion,
        ).result

    def pack(self, value: Any, aval: ShapedArray) -> Any:
        """A value of the program as its results have it: out of the carrier, where the type has one."""
        return self._converted(value, packed_type(aval)) if aval.dtype in CARRIERS else value

    def unpack(self, value: Any, aval: ShapedArray) -> Any:
        """An operand of the program as its operations take it: in the carrier, where the type has one."""
        return self._converted(value, tensor_type(aval)) if aval.dtype in CARRIERS else value

    def bitcast(self, value: Any, aval: ShapedArray, out: ShapedArray) -> Any:
        """The bits of a value of one type as the other type has them, out of any carrier and into any."""
        packed = self._converted(self.pack(value, aval), packed_type(out), "stablehlo.bitcast_convert")
        return self.unpack(packed, out)

    def _converted(self, value: Any, type_: Any, name: str = "stablehlo.convert") -> Any:
        return _create(name, results=[type_], operands=[value], loc=self.location, ip=self.insertion).result

    def literal(self, x: Any) -> Any:
        """The constant for a literal, written once a function."""
        found = self._literals.get(x)
        if found is None:
            found = self._literals[x] = self.constant(x.val, x.aval)
        return found

    def constant(self, value: Any, aval: ShapedArray) -> Any:
        """A constant filled with a scalar, or holding an array of the type's shape."""
        array = np.asarray(value, aval.dtype)
        if array.ndim:
            dense = self._dense(array, aval)
        else:
            known, key = (_HERE.home or _current_home()).scalars, (array.tobytes(), aval)
            dense = known.get(key) or known.again(key) or known.keep(key, self._dense(array, aval))
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
        if array.dtype == np.bool_:  # MLIR keeps truth values as bytes, and XLA counts on true being 1
            array = array.astype(np.uint8)
        elif array.dtype.isbuiltin == 2:  # one of ml_dtypes
            array = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=element, shape=list(aval.shape))

    def broadcast(self, value: Any, aval: ShapedArray, dimensions: Sequence[int] = ()) -> Any:
        """``value`` spread over the type's shape; operand axis i becomes result axis ``dimensions[i]``."""
        return self.emit1("stablehlo.broadcast_in_dim", [value], aval, {"broadcast_dimensions": integers(dimensions)})

    def spread(self, value: Any, x: Any, shape: tuple[int, ...]) -> Any:
        """The value of an atom stretched to a shape; the same literal for the same shape is written once."""
        if x.__class__ is not Literal:
            axes = tuple(range(len(shape))) if x.aval.shape else ()
            return self.broadcast(value, shaped(shape, x.aval.dtype), axes)
        key = (x, shape)
        found = self._spread.get(key)
        if found is None:
            found = self._spread[key] = self.broadcast(value, shaped(shape, x.aval.dtype))
        return found

    def compare(self, direction: str, x: Any, y: Any) -> Any:
        """The truth value of a comparison (``LT``, ``EQ`` …) of two scalars."""
        attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
        return self.emit1("stablehlo.compare", [x, y], shaped((), np.dtype(np.bool_)), attributes)

    def slice_leading(self, whole: Any, index: Any, aval: ShapedArray) -> Any:
        """The slice of type ``aval`` (an axis less than ``whole``) at an index along the leading axis."""
        sizes = (1, *aval.shape)
        starts = [index, *[self.constant(0, shaped((), np.dtype(np.int32)))] * len(aval.shape)]
        part = self.emit1(
            "stablehlo.dynamic_slice",
            [whole, *starts],
            shaped(sizes, aval.dtype),
            {"slice_sizes": integers(sizes)},
        )
        return self.emit1("stablehlo.reshape", [part], aval)

    def update_leading(self, whole: Any, part: Any, index: Any, aval: ShapedArray) -> Any:
        """``whole``, of type ``aval``, with the slice at an index along the leading axis replaced by ``part``."""
        starts = [index, *[self.constant(0, shaped((), np.dtype(np.int32)))] * (len(aval.shape) - 1)]
        slice_ = self.emit1("stablehlo.reshape", [part], shaped((1, *aval.shape[1:]), aval.dtype))
        return self.emit1("stablehlo.dynamic_update_slice", [whole, slice_, *starts], aval)

    def passes_token(self, effects: Effects) -> bool:
        """Tell whether the token passes through operations with these effects: see the function of this name."""
        return passes_token(effects)

    def current_token(self) -> Any:
        """Return the value on which the next call of Python depends, a new one where there has been none."""
        if self.token is None:
            self.token = self.constant(0, TOKEN)
        return self.token

    def of_one_device(self, results: int) -> dict[str, Any]:
        """Return the attributes of an operation that one device does for all that share the program."""
        return {}

    def call_python(
        self, function: Callable[..., Any], operands: Sequence[Any], *, with_token: bool = False, pure: bool = False
    ) -> list[Any]:
        """Call a Python function, of NumPy arrays to a tuple of NumPy arrays of the current equation's results.

        One ``with_token`` takes the token as one more operand, and returns it as one more result. A ``pure`` call may
        be left out where nobody needs its results. Of devices that share a program the first one calls, with whole
        values; in ``shard_map`` each does, with its own.
        """
        given, results = self.in_avals, self.out_avals
        function = of_packed(function, given, results)
        if with_token:
            operands, given, results = [*operands, self.current_token()], [*given, TOKEN], [*results, TOKEN]
            function = _passing_token(function)
        attributes = {
            "call_target_name": attribute(f'"xla_ffi_python_{"cpu" if self.platform == "cpu" else "gpu"}_callback"'),
            "api_version": attribute("4 : i32"),
            "has_side_effect": attribute("false" if pure else "true"),
            "backend_config": attribute(f"{{index = {self.add_callback(function, results)} : ui64}}"),
            "operand_layouts": _row_major(given),
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
        """The operands, of those types, after ``body`` has been applied for as long as ``condition`` is true of them.

        The token is carried along ``with_token``, where the body calls Python.
        """
        if not with_token:
            made = self.operation("stablehlo.while", operands, {}, avals, regions=2)
            self.fill_region(made, avals, condition, 0)
            self.fill_region(made, avals, body, 1)
            return list(made.results)

        def body_with_token(*values: Any) -> list[Any]:
            *given, self.token = values
            return [*body(*given), self.token]

        start, types = [*operands, self.current_token()], [*avals, TOKEN]
        made = self.operation("stablehlo.while", start, {}, types, regions=2)
        self.fill_region(made, types, lambda *values: condition(*values[:-1]), 0)
        self.fill_region(made, types, body_with_token, 1)
        *results, self.token = made.results
        return list(results)

    def case(self, index: Any, branches: Sequence[Callable[[], list[Any]]], *, with_token: bool = False) -> list[Any]:
        """What the branch with that index gives: the current equation's results.

        The token passes through it ``with_token``, where any branch calls Python.
        """
        types = [*self.out_avals, TOKEN] if with_token else self.out_avals
        before = self.current_token() if with_token else self.token
        made = self.operation("stablehlo.case", [index], {}, types, regions=len(branches))
        for number, branch in enumerate(branches):
            self.token = before
            self.fill_region(made, [], lambda b=branch: [*b(), self.token] if with_token else b(), number)
        self.token = before
        if not with_token:
            return list(made.results)
        *results, self.token = made.results
        return list(results)

    def fill_region(
        self,
        operation: Any,
        arguments: Sequence[ShapedArray],
        write: Callable[..., list[Any]],
        index: int = 0,
        end: str = "stablehlo.return",
    ) -> None:
        """Give a region of an operation one block with those arguments, ended by what ``write(*arguments)`` returns."""
        types = [tensor_type(aval) for aval in arguments]
        block = operation.regions[index].blocks.append(*types, arg_locs=[self.location] * len(types))
        outside = self.insertion
        self.insertion = ir.InsertionPoint(block)
        _create(end, operands=write(*block.arguments), loc=self.location, ip=self.insertion)
        self.insertion = outside
