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

from ..key_types import is_key
from ..keys import key_of
from ..recent import Recent, RecentlyUsed
from ..records.traits import NO_TRAITS, Traits
from .avals import ShapedArray
from .effects import NO_EFFECTS, Effects
from .explicit import Parts, is_explicit, lying_results, unclear
from .sources import user_line, where_text

RULES = ("abstract_eval", "to_stablehlo", "jvp", "transpose_rule", "batch_rule")
REQUIRED = ("abstract_eval", "to_stablehlo", "jvp", "batch_rule")

_registry: dict[str, type[Operation]] = {}
#: Generation size of the cache of result types of an operation without parameters.
_MOST_REMEMBERED = 1024


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
        self.derived: RecentlyUsed[Any, Any] = RecentlyUsed(512)

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
        """Register the rule from operand types to the result type, a list with ``multiple_results``, and return it."""
        return self.register("abstract_eval", rule)

    def register(self, kind: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Add or replace a rule, and return it; raise TypeError for an operation whose class has the rules."""
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


class OperationType(type):
    """Metaclass of operations: interns them by parameters, so that each caches its hash, types and rules.

    Results that are computed once for an operation are found again by all users of an equal operation.
    """

    made: Recent[tuple[Any, ...], Any] | None
    pending: bool

    def __getattr__(cls, name: str) -> Any:
        """Return ``instance`` of a class whose parameters have defaults, created on first access.

        For its caches it counts as an operation without parameters.
        """
        if name != "instance" or "name" not in cls.__dict__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        instance = cls()
        overrides = {"parametrized": False, "planned": False, "memo": Recent(_MOST_REMEMBERED)}
        for attribute, value in overrides.items():
            object.__setattr__(instance, attribute, value)
        cls.instance = instance
        return instance

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        interned = cls.made
        if interned is None:
            if not cls.parametrized and not args and "instance" in cls.__dict__:
                return cls.instance
            if cls.pending:
                _set_up(cls)  # type: ignore[arg-type]
                return cls(*args, **kwargs)
            return super().__call__(*args, **kwargs)
        if not kwargs:
            try:
                operation = interned.get(args) or interned.again(args)
            except TypeError:  # an unhashable parameter: the class may still convert it
                return super().__call__(*args)
            if operation is not None:
                return operation
        new = super().__call__(*args, **kwargs)
        key = tuple([getattr(new, name) for name in _parameters_of(cls)])
        if _holds_inexact(key):  # 1.0 equals 1 but is invalid as an axis, so it must not be interned
            return new
        object.__setattr__(new, "memo", Recent(_MOST_OF_ONE))
        return interned.keep(key, new)


def _holds_inexact(value: Any) -> bool:
    """Return whether a value contains a number that may equal an int without being one: a float or a NumPy scalar."""
    return (
        any(map(_holds_inexact, value)) if isinstance(value, tuple) else isinstance(value, float | complex | np.generic)
    )


#: Generation size of the cache of operations of one class.
_MOST_MADE = 1024
#: Generation size of each cache of an operation with parameters.
_MOST_OF_ONE = 64


@dataclass_transform(frozen_default=True)
class Operation(metaclass=OperationType):
    """Operation with all its rules. Subclass with ``name="..."`` to define one; without a name to define a family."""

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
    takes_keys: ClassVar[bool] = False
    lowered_alike: ClassVar[bool] = False
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
    surrounded: ClassVar[bool] = False
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
    memo: ClassVar[Recent[Any, list[ShapedArray]] | None] = None
    #: The interned operations by parameters; None for a class whose equal operations may differ.
    made: ClassVar[Recent[tuple[Any, ...], Any] | None] = None
    #: Whether the class is still to be made a dataclass, when its first operation is created: that is slow, and most
    #: programs use few operations. Users' classes are made dataclasses at once.
    pending: ClassVar[bool] = False
    #: Whether operations of the class are equal only to themselves.
    by_identity: ClassVar[bool] = False
    #: Whether rules depend on types alone, so that they can be recorded (``trace/trace_recording.py``).
    plannable: ClassVar[bool] = False
    #: Whether derivative rules are recorded: without parameters a rule is so short that running it is faster.
    planned: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, by_identity: bool = False) -> None:
        super().__init_subclass__()
        with_parameters = _has_fields(cls)  # without any there is nothing to generate, which is slow
        cls.parametrized = with_parameters
        cls.pending, cls.by_identity, cls.made = True, by_identity, None
        if name is None:
            _set_up_unless_later(cls)
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
        cls.memo = None if with_parameters else Recent(_MOST_REMEMBERED)
        _set_up_unless_later(cls)
        if not with_parameters and cls.__init__ is object.__init__:
            cls.instance = cls()
        _registry[name] = cls

    @functools.cached_property
    def jvp_plans(self) -> Recent[Any, Any]:
        """Return the recorded ``jvp`` rules by kinds of operands (``trace/trace_recording.py``)."""
        return Recent(_MOST_OF_ONE)

    @functools.cached_property
    def pushforward_plans(self) -> Recent[Any, Any]:
        """Return the recorded pushforwards by kinds of operands (``transforms/pushforwards.py``)."""
        return Recent(_MOST_OF_ONE if self.parametrized else _MOST_REMEMBERED)

    @functools.cached_property
    def transpose_plans(self) -> Recent[Any, Any]:
        """Return the recorded ``transpose_rule`` by kinds of operands."""
        return Recent(_MOST_OF_ONE)

    @functools.cached_property
    def batch_plans(self) -> Recent[Any, Any]:
        """Return the recorded ``batch_rule`` by kinds of operands and axes."""
        return Recent(_MOST_OF_ONE)

    @property
    def params(self) -> dict[str, Any]:
        """Return the static parameters by name, as ``eqn.params`` shows them."""
        return {name: getattr(self, name) for name in _parameters_of(type(self))}

    @property
    def mesh(self) -> Any:
        """Return the mesh on whose devices the operation runs; None for one that names no mesh."""
        return None

    def wishes(self) -> Sequence[Any]:
        """Return the shardings that the operation requests for its operands; () if it does not request any."""
        return ()

    def gives(self) -> Sequence[Any]:
        """Return the shardings that the operation sets for its results; () if it does not set any."""
        return ()

    @property
    def holder(self) -> Any:
        """Return the program whose lifetime the operation shares, for one that holds a program; else None."""
        return None

    def bodies(self) -> Sequence[Any]:
        """Return the programs that the operation holds (``ClosedJaxpr``), in order."""
        return ()

    def content(self) -> Sequence[Any] | None:
        """Return what distinguishes the operation from others of its class; None for one that equals only itself."""
        is_inexact = self.made is not None and self.memo is None
        return None if self.by_identity or is_inexact else [getattr(self, name) for name in _parameters_of(type(self))]

    @property
    def effects(self) -> Effects:
        """Return the effects of the operation: those of the programs that it holds."""
        return NO_EFFECTS.union(*(body.effects for body in self.bodies())) if self.composite else NO_EFFECTS

    def whole(self) -> Any:
        """Return the program to run for an eager operation that only wraps a program; None for others."""
        return None

    def dependence(self, operands: Sequence[bool]) -> list[bool] | None:
        """Return the mask of results that depend on the marked operands; None where all depend on all operands."""
        return None

    def result_types(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types from :meth:`abstract_eval`, cached for operations without parameters."""
        memo = self.memo
        if memo is None:
            return self._composed(types) if self.composite else self._checked(types)
        result = memo.get(types) or memo.again(types)
        return memo.keep(types, self._checked(types)) if result is None else result

    def _checked(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types from :meth:`abstract_eval`; raise TypeError for keys that the operation does not accept."""
        if not self.takes_keys and any(is_key(aval.dtype) for aval in types):
            shown = ", ".join(aval.str_short() for aval in types)
            raise TypeError(
                f"{self.name} does not take keys, got {shown}{where_text(user_line())}: keys are moved about, split, "
                "folded in and given to samplers. random.key_data(keys) has their words as numbers."
            )
        results = self.abstract_eval(types)
        return lying_results(self, types, results) if is_explicit(types) else results

    def _composed(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """Return the types from :meth:`abstract_eval` of an operation whose programs determine shardings."""
        results = self.abstract_eval(types)
        if self.__class__.sharding_rule is not Operation.sharding_rule and is_explicit(types):
            return lying_results(self, types, results)
        return results

    def sharding_rule(
        self, parts: Sequence[Parts], operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
    ) -> Sequence[Parts]:
        """Return the result parts along explicit mesh axes for those of the operands; raise ShardingTypeError."""
        raise unclear(self, operands, "it has no rule for how its results lie along explicit axes of a mesh")

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        """Return the estimated number of floating-point operations for operands and results of those types."""
        return 0

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        """Return the estimate for an operation that holds programs, of which each takes as many as ``flops`` says."""
        return sum(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        """Return the types of the results; raise TypeError when the operands do not fit."""
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit the operation at the builder's insertion point and return the MLIR values of the results."""
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents, ``ZERO`` for a zero tangent."""
        raise NotImplementedError

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands that are ``LinearInput`` markers, None for the others."""
        raise NotImplementedError(f"{self.name} is not linear: it has no transpose")

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the results and their mapped axes, for operands mapped over ``axes`` (``NOT_MAPPED`` where not)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        inside = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}[{inside}]" if inside else self.name


_setting_up = threading.RLock()


def _set_up_unless_later(cls: type[Operation]) -> None:
    if not (cls.parametrized and _is_ours(cls)):
        _set_up(cls)


def _set_up(cls: type[Operation]) -> None:
    """Make a class with parameters a dataclass, after its base classes."""
    with _setting_up:
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Operation) and kind.__dict__.get("pending"):
                _make_dataclass(kind)
                kind.pending = False


def _make_dataclass(cls: type[Operation]) -> None:
    has_name = "name" in cls.__dict__
    one_form = True
    if cls.parametrized:
        own_equality = "__eq__" in cls.__dict__
        dataclasses.dataclass(frozen=True, eq=has_name and not cls.by_identity, repr=False)(cls)
        one_form = not (cls.by_identity or own_equality or _may_be_confused(cls))
        if has_name and not (cls.by_identity or own_equality) and not one_form:
            cls.__eq__ = _equal_to_the_bit  # type: ignore[assignment]
    if has_name:
        cls.plannable = one_form and _is_ours(cls) and not cls.composite and not cls.surrounded
        cls.planned = cls.parametrized and cls.plannable
        cls.made = Recent(_MOST_MADE) if cls.planned else None


def _may_be_confused(cls: type) -> bool:
    """Return whether operations may differ whose parameters are equal in Python, such as 2 and 2.0.

    The functions above our own operations convert parameters to one type; those of any type are annotated
    ``Any``.
    """
    return not _is_ours(cls) or any(field.type in ("Any", Any) for field in dataclasses.fields(cls))


def _is_ours(cls: type) -> bool:
    package: str = cls.__module__.partition(".")[0]
    return package == __name__.partition(".")[0]


def _equal_to_the_bit(self: Operation, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return False
    names = _parameters_of(self.__class__)
    return all(key_of(getattr(self, name)) == key_of(getattr(other, name)) for name in names)


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


def registered() -> Iterator[type[Operation]]:
    """Yield every operation class defined so far, in order of definition."""
    yield from tuple(_registry.values())
