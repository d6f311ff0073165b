"""A call of a function that has a rule of its own: what custom_jvp, custom_vjp and custom_vmap have in common."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Self

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...trace.bind import bind
from ...transforms.batch import batch_program
from ...transforms.evaluate import evaluate
from .custom import staged, under


class RuledCall(Operation):
    """The results of a function with a rule of its own; subclasses say what the rule is for.

    While nobody needs its program (``jaxpr`` is None) the function stays Python, so that under grad alone it and its
    rule see values. The program's leading operands are what the function closes over.
    """

    composite = True

    function: Callable[..., list[Any]]
    rule: Callable[..., Any]
    title: str
    jaxpr: ClosedJaxpr | None
    num_consts: int

    @property
    def holder(self) -> ClosedJaxpr | None:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return () if self.jaxpr is None else (self.jaxpr,)

    def whole(self) -> ClosedJaxpr | None:
        return self.jaxpr

    @property
    def stage_rule(self) -> Any:  # type: ignore[override]
        return self._staged if self.jaxpr is None else None

    def _staged(self, trace: Any, operands: Sequence[Any]) -> list[Any]:
        with under(trace):
            program, consts = staged(self.function, operands, self.title)
        return trace.bind(self._holding(program, len(consts)), [*consts, *operands])  # type: ignore[no-any-return]

    def _holding(self, program: ClosedJaxpr, num_consts: int) -> Self:
        function = functools.partial(evaluate, program)
        return dataclasses.replace(self, function=function, jaxpr=program, num_consts=num_consts)

    def expand(self, *operands: Any) -> list[Any]:
        return self.function(*operands)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        assert self.jaxpr is not None
        return self.jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def batched(
        self, rule: Callable[..., Any], operands: Sequence[Any], axes: Sequence[Any], size: int
    ) -> tuple[list[Any], list[Any]]:
        """Bind the call for all examples, with its rule for all examples; all results are mapped along axis 0."""
        assert self.jaxpr is not None
        forced = (True,) * len(self.jaxpr.out_avals)
        program, _ = batch_program(self.jaxpr, tuple(axes), size, forced)
        call: Any = dataclasses.replace(self._holding(program, self.num_consts), rule=rule)
        return bind(call, *operands), [0] * len(forced)
