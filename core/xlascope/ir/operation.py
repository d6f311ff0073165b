"""What an operation is: a frozen dataclass whose fields are its static parameters and whose methods are its rules.

A rule takes *sequences* of operands and returns lists, whatever the number of operands and results. Operations
compare by value, those that hold programs, callables or arrays by identity.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, dataclass_transform

from .avals import ShapedArray

RULES = ("abstract_eval", "to_stablehlo", "jvp", "transpose_rule", "batch_rule")
REQUIRED = ("abstract_eval", "to_stablehlo", "jvp", "batch_rule")

_registry: dict[str, type[Operation]] = {}


class Primitive:
    """The handle of an operation class: its name, and ``bind`` for those who build equations themselves."""

    __slots__ = ("name", "operation")

    def __init__(self, name: str, operation: type[Operation]) -> None:
        self.name = name
        self.operation = operation

    def __repr__(self) -> str:
        return self.name


@dataclass_transform(frozen_default=True)
class Operation:
    """An operation and all its rules. Subclass with ``name="..."`` to define one; without a name to define a family."""

    name: ClassVar[str]
    primitive: ClassVar[Primitive]
    #: Set by operations that hold programs: how to split themselves into a part without tangents and a linear part.
    linearize_rule: ClassVar[Callable[..., Any] | None] = None
    #: The results' types by the operands' types, for operations without parameters; None for the others.
    memo: ClassVar[dict[Any, list[ShapedArray]] | None] = None

    def __init_subclass__(cls, *, name: str | None = None, by_identity: bool = False) -> None:
        super().__init_subclass__()
        if name is None:
            dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
            return
        missing = [rule for rule in REQUIRED if getattr(cls, rule) is getattr(Operation, rule)]
        if missing:
            raise TypeError(f"operation {name} lacks {', '.join(missing)}")
        shadowed = [rule for rule in RULES if rule in inspect.get_annotations(cls)]
        if shadowed:
            raise TypeError(f"operation {name} has a parameter named like a rule: {', '.join(shadowed)}")
        if name in _registry:
            raise TypeError(f"two operations are named {name}")
        cls.name = name
        cls.primitive = Primitive(name, cls)
        dataclasses.dataclass(frozen=True, eq=not by_identity and _has_fields(cls), repr=False)(cls)
        cls.memo = None if _has_fields(cls) else {}
        _registry[name] = cls

    @property
    def params(self) -> dict[str, Any]:
        """The static parameters by name, as ``eqn.params`` shows them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    @property
    def holder(self) -> Any:
        """The program whose lifetime the operation shares, for one that holds a program; else None."""
        return None

    def bodies(self) -> Sequence[Any]:
        """The programs that the operation holds (``ClosedJaxpr``), in order."""
        return ()

    def result_types(self, types: tuple[ShapedArray, ...]) -> list[ShapedArray]:
        """What :meth:`abstract_eval` says, remembered for operations without parameters."""
        memo = self.memo
        if memo is None:
            return self.abstract_eval(types)
        found = memo.get(types)
        if found is None:
            found = memo[types] = self.abstract_eval(types)
        return found

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        """Our count of floating-point operations for operands and results of those types."""
        return 0

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


def _has_fields(cls: type) -> bool:
    return any(
        not str(annotation).startswith("ClassVar")
        for base in cls.__mro__[:-1]
        if base is not Operation
        for annotation in inspect.get_annotations(base).values()
    )


def registered() -> Iterator[type[Operation]]:
    """Every operation class that has been defined, in order of definition."""
    yield from _registry.values()
