"""What an operation is: a frozen dataclass whose fields are its static parameters and whose methods are its rules.

A rule takes *sequences* of operands and returns lists, whatever the number of operands and results. Operations
compare by value (type and bits), those that hold programs, callables or arrays by identity.
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
#: Of how many combinations of types, twice, an operation without parameters knows the results' types.
_MOST_REMEMBERED = 1024


class BindParams(dict[str, Any]):
    """Parameters for ``bind(*operands, **params)``.

    Programs for earlier versions of JAX unpack them, ``functions, params = …``, and bind the functions before the
    operands: there are none, our equations hold programs.
    """

    def __iter__(self) -> Iterator[Any]:
        return iter(([], dict(self)))


class Primitive:
    """The handle of an operation: its name, and ``bind`` for those who build equations themselves.

    ``Primitive("name")`` makes an operation of one's own, whose rules are registered one by one (``def_impl``,
    ``def_abstract_eval``, and the tables in ``xlascope.interpreters``). A class of one's own that derives from
    :class:`Operation` has them all in one place.
    """

    __slots__ = ("__weakref__", "derived", "multiple_results", "name", "operation", "rules")

    #: How to bind an operation, and the operation of a primitive that has no class: set by the layers above.
    binder: ClassVar[Callable[..., list[Any]]]
    without_class: ClassVar[Callable[[Primitive, dict[str, Any]], Operation]]

    def __init__(self, name: str, operation: type[Operation] | None = None) -> None:
        self.name = name
        self.operation = operation
        #: Whether ``bind`` gives a list of results.
        self.multiple_results: bool = operation is not None and (operation.composite or operation.multiple_results)
        #: The rules that were registered, by kind.
        self.rules: dict[str, Any] = {}
        #: What was made from it, to live as long.
        self.derived: RecentlyUsed[Any, Any] = RecentlyUsed(512)

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Apply the operation; returns its result, or a list when there are ``multiple_results``.

        >>> from xlascope import lax
        >>> lax.integer_pow_p.bind(3.0, y=2)
        Array(9., dtype=float32, weak_type=True)
        """
        results = Primitive.binder(self.operation_with(params), *operands)
        return list(results) if self.multiple_results or len(results) != 1 else results[0]

    def operation_with(self, params: dict[str, Any]) -> Operation:
        """The operation with those parameters, as ``eqn.params`` shows them; raises TypeError for unknown ones."""
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
        """What an interpreter of its own gives to ``bind`` besides the operands, for the parameters of an equation.

        >>> from xlascope import lax
        >>> params = lax.integer_pow_p.get_bind_params({"y": 2})
        >>> lax.integer_pow_p.bind(3.0, **params)
        Array(9., dtype=float32, weak_type=True)
        """
        return BindParams(params)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Say how the operation runs outside of any trace: a Python function of arrays. Returns it."""
        return self.register("impl", impl)

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Say the type of the result (a list of types with ``multiple_results``) for types of operands. Returns it."""
        return self.register("abstract_eval", rule)

    def register(self, kind: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Add or replace a rule, and return it; raises TypeError for an operation whose class has the rules."""
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
        """How the operation runs outside of any trace."""
        return self.rules.get("impl", self.bind)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self.name


class OperationType(type):
    """Makes operations: one object for equal parameters, which then knows its hash, its results' types and its plans.

    So what is worked out for an operation once is found again by whoever makes the same operation.
    """

    made: Recent[tuple[Any, ...], Any] | None
    pending: bool

    def __getattr__(cls, name: str) -> Any:
        """``instance`` of a class whose parameters have defaults, made when it is first asked for: to do its work it
        counts as an operation without parameters.
        """
        if name != "instance" or "name" not in cls.__dict__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        found = cls()
        plain = {"parametrized": False, "planned": False, "memo": Recent(_MOST_REMEMBERED)}
        for attribute, value in plain.items():
            object.__setattr__(found, attribute, value)
        cls.instance = found
        return found

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.made
        if made is None:
            if not cls.parametrized and not args and "instance" in cls.__dict__:
                return cls.instance
            if cls.pending:
                _set_up(cls)  # type: ignore[arg-type]
                return cls(*args, **kwargs)
            return super().__call__(*args, **kwargs)
        if not kwargs:
            try:
                found = made.get(args) or made.again(args)
            except TypeError:  # a parameter that has no hash: the class may still know what to do with it
                return super().__call__(*args)
            if found is not None:
                return found
        new = super().__call__(*args, **kwargs)
        key = tuple([getattr(new, name) for name in _parameters_of(cls)])
        if _holds_inexact(key):  # 1.0 for an axis is a mistake, and must not be found by who asks for 1
            return new
        object.__setattr__(new, "memo", Recent(_MOST_OF_ONE))
        return made.keep(key, new)


def _holds_inexact(value: Any) -> bool:
    """Whether a number is in there that equals a whole one without being one: a float, NumPy's scalars."""
    return (
        any(map(_holds_inexact, value)) if isinstance(value, tuple) else isinstance(value, float | complex | np.generic)
    )


#: Operations of one class with different parameters that are kept to be found again.
_MOST_MADE = 1024
#: The types and the plans that one of them remembers.
_MOST_OF_ONE = 64


@dataclass_transform(frozen_default=True)
class Operation(metaclass=OperationType):
    """An operation and all its rules. Subclass with ``name="..."`` to define one; without a name to define a family."""

    name: ClassVar[str]
    primitive: ClassVar[Primitive]
    #: The one instance of an operation without parameters; the one with all defaults of a class where all have one.
    instance: ClassVar[Operation]
    #: Set by operations that hold programs: how to split themselves into a part without tangents and a linear part.
    linearize_rule: ClassVar[Callable[..., Any] | None] = None
    #: What it has in common with others (``records/traits.py``); of a family, all of its operations have them.
    traits: ClassVar[Traits] = NO_TRAITS
    #: Whether the operation holds a program or a function. Interpreters that tell equations apart look inside.
    composite: ClassVar[bool] = False
    #: Whether operands may be keys. The operation is then lowered as its ``batch_rule`` has it for their words, which
    #: are along a mapped last axis, unless it is ``lowered_alike`` for what holds them.
    takes_keys: ClassVar[bool] = False
    lowered_alike: ClassVar[bool] = False
    #: Whether ``primitive.bind`` gives a list, also of one result; it does for operations that hold programs.
    multiple_results: ClassVar[bool] = False
    #: Set by operations that only say something about a function: the function itself, of the operands.
    expand: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that hold a Python function until somebody needs its program: (trace, operands) to the results
    #: of the operation that holds the program instead.
    stage_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that run in Python where they stand alone: the arrays that they give for arrays.
    host_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: Set by operations that hold programs: which results are needed -> the operation that gives these, which operands
    #: it takes, and which results it gives (a loop may need more of them for itself). Others are needed whole.
    dce_rule: ClassVar[Callable[..., tuple[Any, tuple[bool, ...], tuple[bool, ...]]] | None] = None
    #: Whether rules depend on more than types: on named axes, on what a user registered.
    surrounded: ClassVar[bool] = False
    #: How Taylor series pass through: (degree, the operands' series, the results' known coefficients) -> the results'
    #: coefficients of that degree, ``ZERO`` where there is none. A series is indexed by degree, [0] is the value.
    #: None: from ``jvp``, as the differential equation that it is.
    taylor_rule: ClassVar[Callable[..., list[Any]] | None] = None
    #: The same for operations that hold programs: (values, coefficients of degree 1, 2, … of each) -> the results'.
    taylor_program_rule: ClassVar[Callable[..., tuple[list[Any], list[list[Any]]]] | None] = None
    #: The names of axes that are bound for the programs that the operation holds.
    binds_axes: ClassVar[frozenset[Any]] = frozenset()
    #: Whether operations of the class have parameters.
    parametrized: ClassVar[bool] = False
    #: The results' types by the operands' types; None for operations whose results depend on more than that.
    memo: ClassVar[Recent[Any, list[ShapedArray]] | None] = None
    #: The operations made so far, by their parameters; None for a class whose equal operations may differ.
    made: ClassVar[Recent[tuple[Any, ...], Any] | None] = None
    #: Whether the class is made a dataclass when the first operation of it is made: that takes a while, and most
    #: programs know few operations. Classes of others are dataclasses at once.
    pending: ClassVar[bool] = False
    #: Whether operations of the class are equal only to themselves.
    by_identity: ClassVar[bool] = False
    #: Whether rules depend on nothing but types, so that what they do can be worked out once (``trace/plans.py``).
    plannable: ClassVar[bool] = False
    #: Whether derivatives go by plans: without parameters a rule is a step or two, and sooner done than a plan found.
    planned: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, by_identity: bool = False) -> None:
        super().__init_subclass__()
        with_parameters = _has_fields(cls)  # without any there is nothing to generate, which takes a while to do
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
        known = _registry.get(name)
        again = known is not None and (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
        if known is not None and not again:  # the same class again: a notebook's cell that was run a second time
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
        """What ``jvp`` does, by the kinds of operands, as far as it was worked out (``trace/plans.py``)."""
        return Recent(_MOST_OF_ONE)

    @functools.cached_property
    def pushforward_plans(self) -> Recent[Any, Any]:
        """The same where what moves is recorded (``transforms/pushforwards.py``)."""
        return Recent(_MOST_OF_ONE if self.parametrized else _MOST_REMEMBERED)

    @functools.cached_property
    def transpose_plans(self) -> Recent[Any, Any]:
        """The same of ``transpose_rule``."""
        return Recent(_MOST_OF_ONE)

    @functools.cached_property
    def batch_plans(self) -> Recent[Any, Any]:
        """The same of ``batch_rule``."""
        return Recent(_MOST_OF_ONE)

    @property
    def params(self) -> dict[str, Any]:
        """The static parameters by name, as ``eqn.params`` shows them."""
        return {name: getattr(self, name) for name in _parameters_of(type(self))}

    @property
    def mesh(self) -> Any:
        """The mesh on whose devices the operation runs, for one that names a mesh; else None."""
        return None

    def wishes(self) -> Sequence[Any]:
        """How the operation wants its operands to lie over devices; () where it does not care."""
        return ()

    def gives(self) -> Sequence[Any]:
        """How the operation has its results lie over devices; () where it does not say."""
        return ()

    @property
    def holder(self) -> Any:
        """The program whose lifetime the operation shares, for one that holds a program; else None."""
        return None

    def bodies(self) -> Sequence[Any]:
        """The programs that the operation holds (``ClosedJaxpr``), in order."""
        return ()

    def content(self) -> Sequence[Any] | None:
        """Return what tells the operation from others of its class; None for one that equals only itself."""
        is_inexact = self.made is not None and self.memo is None
        return None if self.by_identity or is_inexact else [getattr(self, name) for name in _parameters_of(type(self))]

    @property
    def effects(self) -> Effects:
        """What the operation does besides giving results: what the programs do that it holds."""
        return NO_EFFECTS.union(*(body.effects for body in self.bodies())) if self.composite else NO_EFFECTS

    def whole(self) -> Any:
        """The program that the operation runs when it stands alone, for one that is nothing but a program; else
        None.
        """
        return None

    def dependence(self, operands: Sequence[bool]) -> list[bool] | None:
        """Which results depend on the marked operands; None where all results depend on all operands."""
        return None

    def result_types(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """What :meth:`abstract_eval` says, remembered for operations without parameters."""
        memo = self.memo
        if memo is None:
            return self._composed(types) if self.composite else self._checked(types)
        found = memo.get(types) or memo.again(types)
        return memo.keep(types, self._checked(types)) if found is None else found

    def _checked(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """What :meth:`abstract_eval` says; raises TypeError for keys that the operation does not take."""
        if not self.takes_keys and any(is_key(aval.dtype) for aval in types):
            given = ", ".join(aval.str_short() for aval in types)
            raise TypeError(
                f"{self.name} does not take keys, got {given}{where_text(user_line())}: keys are moved about, split, "
                "folded in and given to samplers. random.key_data(keys) has their words as numbers."
            )
        found = self.abstract_eval(types)
        return lying_results(self, types, found) if is_explicit(types) else found

    def _composed(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """What :meth:`abstract_eval` says of an operation that holds programs: these know how their results lie."""
        found = self.abstract_eval(types)
        if self.__class__.sharding_rule is not Operation.sharding_rule and is_explicit(types):
            return lying_results(self, types, found)
        return found

    def sharding_rule(
        self, parts: Sequence[Parts], operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
    ) -> Sequence[Parts]:
        """How results lie along explicit axes of a mesh, for operands that lie so; raises ShardingTypeError."""
        raise unclear(self, operands, "it has no rule for how its results lie along explicit axes of a mesh")

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        """Our count of floating-point operations for operands and results of those types."""
        return 0

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        """Our count for an operation that holds programs, of which each counts as many as ``flops`` says."""
        return sum(flops)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        """The types of the results; raises TypeError when the operands do not fit."""
        raise NotImplementedError

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """The MLIR values of the results, emitted at the builder's insertion point."""
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Results and their tangents; a tangent is ``ZERO`` where nothing moves."""
        raise NotImplementedError

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Cotangents of the operands that are ``LinearInput`` markers, None for the others."""
        raise NotImplementedError(f"{self.name} is not linear: it has no transpose")

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Results and their mapped axes, for operands mapped over ``axes`` (``NOT_MAPPED`` where not)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        inside = " ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name}[{inside}]" if inside else self.name


_setting_up = threading.RLock()


def _set_up_unless_later(cls: type[Operation]) -> None:
    if not (cls.parametrized and _is_ours(cls)):
        _set_up(cls)


def _set_up(cls: type[Operation]) -> None:
    """Make a class a dataclass, as far as it has parameters, after those that it derives from."""
    with _setting_up:
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Operation) and kind.__dict__.get("pending"):
                _make_dataclass(kind)
                kind.pending = False


def _make_dataclass(cls: type[Operation]) -> None:
    named = "name" in cls.__dict__
    one_form = True
    if cls.parametrized:
        own_equality = "__eq__" in cls.__dict__
        dataclasses.dataclass(frozen=True, eq=named and not cls.by_identity, repr=False)(cls)
        one_form = not (cls.by_identity or own_equality or _may_be_confused(cls))
        if named and not (cls.by_identity or own_equality) and not one_form:
            cls.__eq__ = _equal_to_the_bit  # type: ignore[assignment]
    if named:
        cls.plannable = one_form and _is_ours(cls) and not cls.composite and not cls.surrounded
        cls.planned = cls.parametrized and cls.plannable
        cls.made = Recent(_MOST_MADE) if cls.planned else None


def _may_be_confused(cls: type) -> bool:
    """Whether two operations may differ whose parameters are equal for Python, such as 2 and 2.0.

    The functions above our own operations give parameters one form; those that may be anything are annotated so.
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
    """Every operation class that has been defined by now, in order of definition."""
    yield from tuple(_registry.values())
