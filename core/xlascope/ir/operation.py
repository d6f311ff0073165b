"""Base class of operations: frozen dataclasses whose fields are static parameters and whose methods are rules.

A rule takes *sequences* of operands and returns lists, whatever the number of operands and results.
Operations compare by value (type and bits), those that hold programs, callables or arrays by identity.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from ..cache_keys import cache_key
from ..key_types import is_key
from ..lru_cache import FastLRUCache, LRUCache
from ..records.traits import NO_TRAITS, Traits
from .avals import AxisNames, ShapedArray, union_of_varying_axes, with_varying_axes
from .effects import NO_EFFECTS, Effects
from .explicit_sharding import Parts, is_explicit, lying_results, unclear
from .user_frames import user_line, where_text

RULES = ("abstract_eval", "to_stablehlo", "jvp", "transpose_rule", "batch_rule")
REQUIRED = ("abstract_eval", "to_stablehlo", "jvp", "batch_rule")

_registry: dict[str, type[Operation]] = {}
#: Generation size of the cache of result types of an operation without parameters.
_MEMO_GENERATION_SIZE = 1024


class BindParams(dict[str, Any]):
    """Parameters for ``bind(*operands, **params)``.

    Programs for earlier versions of JAX unpack them, ``functions, params = …``, and bind the functions before the
    operands. The list of functions is empty here, because our equations hold programs.
    """

    def __iter__(self) -> Iterator[Any]:
        return iter(([], dict(self)))


class Primitive:
    """Handle of an operation: its name, and ``bind`` for code that builds equations directly.

    ``Primitive("name")`` defines a user's operation, whose rules are registered one by one (``def_impl``,
    ``def_abstract_eval``, and the tables in ``xlascope.interpreters``). A subclass of :class:`Operation` has them
    all in one place.
    """

    __slots__ = ("__weakref__", "derived", "multiple_results", "name", "operation", "rules")

    #: Hooks set by higher layers: bind an operation, and make the operation of a primitive that has no class.
    binder: ClassVar[Callable[..., list[Any]]]
    without_class: ClassVar[Callable[[Primitive, dict[str, Any]], Operation]]

    def __init__(self, name: str, operation: type[Operation] | None = None) -> None:
        self.name = name
        self.operation = operation
        #: Whether ``bind`` gives a list of results.
        self.multiple_results: bool = operation is not None and (operation.composite or operation.multiple_results)
        #: The registered rules, by kind.
        self.rules: dict[str, Any] = {}
        #: Cache of derived objects, with the same lifetime.
        self.derived: LRUCache[Any, Any] = LRUCache(512)

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply the operation and return its result, or a list when there are ``multiple_results``.

        >>> from xlascope import lax
        >>> lax.integer_pow_p.bind(3.0, y=2)
        Array(9., dtype=float32, weak_type=True)
        """
        results = Primitive.binder(self.operation_with(params), *operands)
        return list(results) if self.multiple_results or len(results) != 1 else results[0]

    def operation_with(self, params: dict[str, Any]) -> Operation:
        """Return the operation with those parameters, as in ``eqn.params``; raise TypeError for unknown ones."""
        kind = self.operation
        if kind is None:
            return Primitive.without_class(self, params)
        fields = set(_parameters_of(kind))
        unknown = params.keys() - fields
        if unknown and kind.params is Operation.params:
            raise TypeError(
                f"{self.name} has no parameter {', '.join(sorted(unknown))}; "
                f"it has {', '.join(sorted(fields)) or 'none'}"
            )
        return kind(**{key: value for key, value in params.items() if key in fields})

    def get_bind_params(self, params: dict[str, Any]) -> BindParams:
        """Return the keyword arguments of ``bind`` for the parameters of an equation, for use in custom interpreters.

        >>> from xlascope import lax
        >>> params = lax.integer_pow_p.get_bind_params({"y": 2})
        >>> lax.integer_pow_p.bind(3.0, **params)
        Array(9., dtype=float32, weak_type=True)
        """
        return BindParams(params)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Register a Python function of arrays that runs the operation outside of any trace, and return it."""
        return self.register("impl", impl)

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register the rule for the type of the result, or a list with ``multiple_results``, and return the rule."""
        return self.register("abstract_eval", rule)

    def register(self, kind: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Add or replace the rule for ``kind`` (``"impl"``, ``"jvp"``, …), and return it.

        Raises TypeError for an operation whose class has its rules as methods.
        """
        if self.operation is not None:
            raise TypeError(
                f"{self.name} has its rules: they are methods of {self.operation.__qualname__}. "
                "Register rules for primitives of your own: extend.core.Primitive(name)"
            )
        self.rules[kind] = rule
        self.derived.clear()
        return rule

    @property
    def impl(self) -> Callable[..., Any]:
        """Return the function that runs the operation outside of any trace."""
        return self.rules.get("impl", self.bind)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self.name


class UnusableResultError(TypeError):
    """Error of lowering an operation whose results nothing may use, and which has no meaning otherwise."""


class OperationType(type):
    """Metaclass of operations: interns them, so that each caches its hash, types and recorded rules.

    Operations of one class with equal parameters are one object, except in classes whose equal operations may
    differ, and if a parameter is or contains a float, a complex number or a NumPy scalar.
    """

    interned_operations: FastLRUCache[tuple[Any, ...], Any] | None
    pending: bool

    def __getattr__(cls, name: str) -> Any:
        """Return ``instance``, the operation with all defaults of a class, created on first access.

        For its caches it counts as an operation without parameters.
        """
        if name != "instance" or "name" not in cls.__dict__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        instance = cls()
        overrides = {"parametrized": False, "planned": False, "memo": FastLRUCache(_MEMO_GENERATION_SIZE)}
        for attribute, value in overrides.items():
            object.__setattr__(instance, attribute, value)
        cls.instance = instance
        return instance

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        interned = cls.interned_operations
        if interned is None:
            if not cls.parametrized and not args and "instance" in cls.__dict__:
                return cls.instance
            if cls.pending:
                _set_up(cls)  # type: ignore[arg-type]
                return cls(*args, **kwargs)
            return super().__call__(*args, **kwargs)
        if not kwargs:
            try:
                operation = interned.get(args) or interned.promote(args)
            except TypeError:  # an unhashable parameter: the class may still convert it
                return super().__call__(*args)
            if operation is not None:
                return operation
        new = super().__call__(*args, **kwargs)
        key = tuple([getattr(new, name) for name in _parameters_of(cls)])
        if _has_inexact_number(key):  # 1.0 equals 1 but is invalid as an axis, so it must not be interned
            return new
        object.__setattr__(new, "memo", FastLRUCache(_OPERATION_GENERATION_SIZE))
        return interned.insert(key, new)


def _has_inexact_number(value: Any) -> bool:
    """Return whether a value is, or contains in tuples, a number that may equal an int: a float or a NumPy scalar."""
    return (
        any(map(_has_inexact_number, value))
        if isinstance(value, tuple)
        else isinstance(value, float | complex | np.generic)
    )


#: Generation size of the cache of operations of one class.
_INTERNED_GENERATION_SIZE = 1024
#: Generation size of each cache of an operation with parameters.
_OPERATION_GENERATION_SIZE = 64


@dataclass_transform(frozen_default=True)
class Operation(metaclass=OperationType):
    """Operation with all its rules as methods; the parameters are the fields of the class.

    Subclass with ``name="..."`` to define an operation; without a name to define a family of operations.
    """

    name: ClassVar[str]
    primitive: ClassVar[Primitive]
    #: The one instance of an operation without parameters; the one with all defaults of a class where all have one.
    instance: ClassVar[Operation]
    #: Set by operations that hold programs: how to split themselves into a part without tangents and a linear part.
    linearize_rule: ClassVar[Callable[..., Any] | None] = None
    #: Traits shared with other operations (``records/traits.py``); those of a family apply to all of its operations.
    traits: ClassVar[Traits] = NO_TRAITS
    #: Whether the operation holds a program or a function. Interpreters that distinguish equations look inside.
    composite: ClassVar[bool] = False
    #: Whether operands may be keys. The operation is then lowered through its ``batch_rule`` on their words, which are
    #: along a mapped last axis, unless its lowering is the same for keys and for words (``has_uniform_lowering``).
    accepts_keys: ClassVar[bool] = False
    has_uniform_lowering: ClassVar[bool] = False
    #: Whether ``primitive.bind`` gives a list, also of one result; it does for operations that hold programs.
    multiple_results: ClassVar[bool] = False
    #: Set by operations that only annotate a function: the function itself, of the operands.
    expand: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that hold a Python function until its program is needed: (trace, operands) -> the results of
    #: the operation that holds the program instead.
    stage_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that run in Python when eager: arrays -> arrays.
    host_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that hold programs: which results are needed -> the operation that gives these, which operands
    #: it takes, and which results it gives (a loop may need more of them for itself). Others are kept or removed whole.
    dce_rule: ClassVar[Callable[..., tuple[Any, tuple[bool, ...], tuple[bool, ...]]] | None] = None
    #: Whether rules depend on more than types: on named axes, or on a user's registrations.
    is_context_dependent: ClassVar[bool] = False
    #: How Taylor series pass through: (degree, the operands' series, the results' known coefficients) -> the results'
    #: coefficients of that degree, ``ZERO`` where there is none. A series is indexed by degree, [0] is the value.
    #: None: from ``jvp``, as the differential equation that it is.
    taylor_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: The same for operations that hold programs: (values, coefficients of degree 1, 2, … of each) -> the results'.
    taylor_program_rule: ClassVar[Callable[..., tuple[list[Any], list[list[Any]]]] | None] = None
    #: The names of axes that the operation binds for its programs.
    binds_axes: ClassVar[frozenset[Any]] = frozenset()
    #: Whether operations of the class have parameters.
    parametrized: ClassVar[bool] = False
    #: The results' types by the operands' types; None for operations whose results depend on more than that.
    memo: ClassVar[FastLRUCache[Any, list[ShapedArray]] | None] = None
    #: The compiled function that executes an operation without parameters; None until it has been executed.
    eager_function: ClassVar[Callable[..., Any] | None] = None
    #: The interned operations by parameters; None for a class whose equal operations may differ.
    interned_operations: ClassVar[FastLRUCache[tuple[Any, ...], Any] | None] = None
    #: Whether the class is still to be made a dataclass, when its first operation is created: that is slow, and most
    #: programs use few operations. Users' classes are made dataclasses at once.
    pending: ClassVar[bool] = False
    #: Whether operations of the class are equal only to themselves.
    by_identity: ClassVar[bool] = False
    #: Whether rules depend on types alone, so that they can be recorded (``trace/trace_recording.py``).
    is_recordable: ClassVar[bool] = False
    #: Whether operands are broadcast to the shape of the result (see :meth:`as_stablehlo`).
    broadcasts_operands: ClassVar[bool] = False
    #: Whether derivative rules are recorded: without parameters a rule is so short that running it is faster.
    planned: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, by_identity: bool = False) -> None:
        super().__init_subclass__()
        with_parameters = _has_fields(cls)  # without any there is nothing to generate, which is slow
        cls.parametrized = with_parameters
        cls.pending, cls.by_identity, cls.interned_operations = True, by_identity, None
        if name is None:
            _set_up_unless_deferred(cls)
            return
        missing = [rule for rule in REQUIRED if getattr(cls, rule) is getattr(Operation, rule)]
        if missing:
            raise TypeError(f"operation {name} lacks {', '.join(missing)}")
        shadowed = [rule for rule in RULES if rule in inspect.get_annotations(cls)]
        if shadowed:
            raise TypeError(f"operation {name} has a parameter named like a rule: {', '.join(shadowed)}")
        older = _registry.get(name)
        is_redone = older is not None and (older.__module__, older.__qualname__) == (cls.__module__, cls.__qualname__)
        if older is not None and not is_redone:  # redefinition is allowed: a notebook's cell that is run again
            raise TypeError(f"two operations are named {name}")
        cls.name = name
        cls.primitive = Primitive(name, cls)
        cls.memo = None if with_parameters else FastLRUCache(_MEMO_GENERATION_SIZE)
        _set_up_unless_deferred(cls)
        if not with_parameters and cls.__init__ is object.__init__:
            cls.instance = cls()
        _registry[name] = cls

    @functools.cached_property
    def jvp_cache(self) -> FastLRUCache[Any, Any]:
        """Return the cache of the recorded ``jvp`` rule, by types of operands and tangents."""
        return FastLRUCache(_OPERATION_GENERATION_SIZE)

    @functools.cached_property
    def pushforward_cache(self) -> FastLRUCache[Any, Any]:
        """Return the cache of recorded pushforwards, by types of operands and tangents."""
        return FastLRUCache(_OPERATION_GENERATION_SIZE if self.parametrized else _MEMO_GENERATION_SIZE)

    @functools.cached_property
    def transpose_cache(self) -> FastLRUCache[Any, Any]:
        """Return the cache of the recorded ``transpose_rule``, by types of cotangents and operands."""
        return FastLRUCache(_OPERATION_GENERATION_SIZE)

    @functools.cached_property
    def batch_cache(self) -> FastLRUCache[Any, Any]:
        """Return the cache of the recorded ``batch_rule``, by types of operands and batch axes."""
        return FastLRUCache(_OPERATION_GENERATION_SIZE)

    @property
    def params(self) -> dict[str, Any]:
        """Return the static parameters by name, as ``eqn.params`` shows them."""
        return {name: getattr(self, name) for name in _parameters_of(type(self))}

    @property
    def mesh(self) -> Any:
        """Return the mesh on whose devices the operation runs; None for one that names no mesh."""
        return None

    def requested_shardings(self) -> Sequence[Any]:
        """Return the shardings that the operation requests for its operands; () if it does not request any."""
        return ()

    def inferred_shardings(self) -> Sequence[Any]:
        """Return the shardings that the operation sets for its results; () if it does not set any."""
        return ()

    @property
    def holder(self) -> Any:
        """Return the program whose lifetime the operation shares, if it holds a program; else None."""
        return None

    def bodies(self) -> Sequence[Any]:
        """Return the programs that the operation holds (``ClosedJaxpr``), in order."""
        return ()

    def content(self) -> Sequence[Any] | None:
        """Return the parameter values that distinguish the operation from others of its class.

        None for an operation that equals only itself.
        """
        is_inexact = self.interned_operations is not None and self.memo is None
        return None if self.by_identity or is_inexact else [getattr(self, name) for name in _parameters_of(type(self))]

    @property
    def effects(self) -> Effects:
        """Return the effects of the operation: those of the programs that it holds."""
        return NO_EFFECTS.union(*(body.effects for body in self.bodies())) if self.composite else NO_EFFECTS

    def as_single_program(self) -> Any:
        """Return the program that runs when the operation is eager, if it only wraps that program; else None."""
        return None

    def dependence(self, operands: Sequence[bool]) -> list[bool] | None:
        """Return for each result whether it depends on an operand marked in ``operands``.

        None where all results depend on all operands.
        """
        return None

    def result_types(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types of the results for operands of those types, from :meth:`abstract_eval`.

        They are cached in ``memo`` if that is not None. Raises TypeError if the operands do not fit.
        """
        memo = self.memo
        if memo is None:
            return self._eval_composite(types) if self.composite else self._eval_checked(types)
        result = memo.get(types) or memo.promote(types)
        return memo.insert(types, self._eval_checked(types)) if result is None else result

    def _eval_checked(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types from :meth:`abstract_eval`; raise TypeError for keys that the operation does not accept."""
        if not self.accepts_keys and any(is_key(aval.dtype) for aval in types):
            shown = ", ".join(aval.str_short() for aval in types)
            raise TypeError(
                f"{self.name} does not take keys, got {shown}{where_text(user_line())}: keys are moved about, split, "
                "folded in and given to samplers. random.key_data(keys) has their words as numbers."
            )
        results = self.abstract_eval(types)
        if is_explicit(types):
            results = lying_results(self, types, results)
        return self._with_varying_axes(types, results) if union_of_varying_axes(types) else results

    def _with_varying_axes(self, types: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> list[ShapedArray]:
        axes = self.varying_axes(types)
        return [with_varying_axes(aval, axes) for aval in results]

    def _eval_composite(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types from :meth:`abstract_eval`, for an operation that holds programs.

        Their shardings come from these programs, or from the ``sharding_rule`` of the class if it has one; the axes
        along which they vary come from these programs unless these say nothing of any.
        """
        results = self.abstract_eval(types)
        if self.__class__.sharding_rule is not Operation.sharding_rule and is_explicit(types):
            results = lying_results(self, types, results)
        if union_of_varying_axes(types) and not any(union_of_varying_axes(body.in_avals) for body in self.bodies()):
            return self._with_varying_axes(types, results)
        return results

    def varying_axes(self, types: Sequence[ShapedArray]) -> AxisNames:
        """Return the mesh axes along which results may vary, in a checked shard_map, for operands of those types."""
        return union_of_varying_axes(types)

    def operand_varying_axes(self, types: Sequence[ShapedArray], checked: AxisNames) -> AxisNames | None:
        """Return the mesh axes along which all operands have to vary before the operation can be differentiated.

        ``types`` are the types of the operands, ``checked`` are the axes of the checked shard_map. None for an
        operation that holds programs, whose own operations say so.
        """
        return None if self.composite else union_of_varying_axes(types)

    def sharding_rule(
        self, parts: Sequence[Parts], operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
    ) -> Sequence[Parts]:
        """Return the explicit shardings of the results, given those of the operands.

        ``parts`` has for each operand, and the result for each result, a tuple with an entry per axis: the
        names of the explicit mesh axes that shard it. ``operands`` and ``results`` are types. Raises
        ShardingTypeError if undetermined.
        """
        raise unclear(self, operands, "it has no rule for how its results lie along explicit axes of a mesh")

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        """Return the estimated number of floating-point operations for operands and results of those types."""
        return 0

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        """Return the estimated number of floating-point operations; ``flops`` has those of each program it holds."""
        return sum(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        """Return the types of the results; raise TypeError when the operands do not fit."""
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit the operation at the builder's insertion point and return the MLIR values of the results."""
        raise NotImplementedError

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        """Return the StableHLO operation that :meth:`to_stablehlo` emits on the same operands, with its attributes.

        None if it emits several, or if they depend on the types of the operands. Lowering emits the operation itself
        then, and does not call :meth:`to_stablehlo`. If the class ``broadcasts_operands``, it broadcasts them before.
        """
        return None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents; ``tangents`` has ``ZERO`` for a zero tangent, as has the result."""
        raise NotImplementedError

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands that are ``LinearInput`` markers, None for the others.

        ``cotangents`` has the cotangent of each result, or ``ZERO``.
        """
        raise NotImplementedError(f"{self.name} is not linear: it has no transpose")

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results for a whole batch, and their batch axes.

        ``operands`` hold all examples along ``axes``; an axis is ``NOT_MAPPED`` for an operand or a result
        shared by all.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        inside = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}[{inside}]" if inside else self.name


_setup_lock = threading.RLock()


def _set_up_unless_deferred(cls: type[Operation]) -> None:
    if not (cls.parametrized and _is_library_class(cls)):
        _set_up(cls)


def _set_up(cls: type[Operation]) -> None:
    """Make an operation class that has parameters a dataclass, its base classes first."""
    with _setup_lock:
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Operation) and kind.__dict__.get("pending"):
                _make_dataclass(kind)
                kind.pending = False


def _make_dataclass(cls: type[Operation]) -> None:
    """Make a class with parameters a dataclass, and set whether its operations are interned and its rules recorded."""
    has_name = "name" in cls.__dict__
    one_form = True
    if cls.parametrized:
        own_equality = "__eq__" in cls.__dict__
        dataclasses.dataclass(frozen=True, eq=has_name and not cls.by_identity, repr=False)(cls)
        one_form = not (cls.by_identity or own_equality or _has_ambiguous_parameters(cls))
        if has_name and not (cls.by_identity or own_equality) and not one_form:
            cls.__eq__ = _is_bitwise_equal  # type: ignore[assignment]
    if has_name:
        cls.is_recordable = one_form and _is_library_class(cls) and not cls.composite and not cls.is_context_dependent
        cls.planned = cls.parametrized and cls.is_recordable
        cls.interned_operations = FastLRUCache(_INTERNED_GENERATION_SIZE) if cls.planned else None


def _has_ambiguous_parameters(cls: type) -> bool:
    """Return whether operations of a class may differ although their parameters are equal in Python, such as 2 and 2.0.

    The functions above our own operations convert parameters to one type; those of any type are annotated
    ``Any``.
    """
    return not _is_library_class(cls) or any(field.type in ("Any", Any) for field in dataclasses.fields(cls))


def _is_library_class(cls: type) -> bool:
    package: str = cls.__module__.partition(".")[0]
    return package == __name__.partition(".")[0]


def _is_bitwise_equal(self: Operation, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return False
    names = _parameters_of(self.__class__)
    return all(cache_key(getattr(self, name)) == cache_key(getattr(other, name)) for name in names)


def _parameters_of(kind: type) -> list[str]:
    if kind.__dict__.get("pending"):
        _set_up(kind)
    return [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []


def _has_fields(cls: type) -> bool:
    return any(
        not str(annotation).startswith("ClassVar")
        for base in cls.__mro__[:-1]
        if base is not Operation
        for annotation in inspect.get_annotations(base).values()
    )


def all_operation_types() -> Iterator[type[Operation]]:
    """Yield every operation class defined so far, in order of definition."""
    yield from tuple(_registry.values())
