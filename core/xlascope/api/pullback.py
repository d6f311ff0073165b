"""Linear functions that vjp and linearize return.

They are containers of their residuals, so that a jitted function can return them and take them as arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO
from ..trace.traceback_filtering import api_boundary
from ..transforms.differentiate import LinearProgram
from ..transforms.evaluate import evaluate
from ..transforms.transpose import backward, transpose_program
from .argnames import name_of
from .differentiated_arguments import at
from .tangent_checks import MismatchErrors, check_tangents, cotangent_namer, tangent_namer
from .tree_adapters import derivative_array

PULLBACK_ERRORS = MismatchErrors(tree=ValueError, shape=ValueError, dtype=ValueError)
DERIVATIVE_ERRORS = MismatchErrors(tree=TypeError, shape=ValueError, dtype=ValueError)


class LinearSignature:
    """Static part of a linear function, which says how to apply it; compared by identity, as programs are.

    It has the structures and types of arguments and results, the masks of those with nonzero tangents, and
    the linear program without the values of its residuals. ``fun`` is the user's function, for messages.
    """

    __slots__ = ("fun", "in_avals", "in_moving", "in_structure", "out_avals", "out_moving", "out_structure", "program")

    def __init__(
        self,
        fun: Callable[..., Any],
        linear: LinearProgram,
        in_structure: Any,
        in_avals: Sequence[ShapedArray],
        out_structure: Any,
        out_avals: Sequence[ShapedArray],
    ) -> None:
        self.fun = fun
        self.in_structure, self.in_avals = in_structure, in_avals
        self.out_structure, self.out_avals = out_structure, out_avals
        self.in_moving = [t is not ZERO for t in linear.inputs]
        self.out_moving = [t is not ZERO for t in linear.outputs]
        #: Program of residuals and nonzero tangents; built on first use.
        self.program: ClosedJaxpr | None = None

    @api_boundary
    def push(self, residuals: Sequence[Any], *tangents: Any) -> Any:
        """Return the tangent of the result, a tree, given the residuals and a tangent of each argument."""
        name = tangent_namer(lambda: f"the linearized {name_of(self.fun)}")
        tangent_leaves = check_tangents(tangents, self.in_structure, self.in_avals, name, DERIVATIVE_ERRORS)
        assert self.program is not None
        tangents_out = iter(
            evaluate(self.program, *residuals, *(t for t, m in zip(tangent_leaves, self.in_moving, strict=True) if m))
        )
        out = [next(tangents_out) if m else ZERO for m in self.out_moving]
        return self.out_structure.unflatten(map(derivative_array, out, self.out_avals))

    def pull(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the leaves of the arguments, or ``ZERO``, by the transpose of the program.

        ``residuals`` are the values of the residuals, ``cotangents`` those of the leaves of the result, or
        ``ZERO``.
        """
        assert self.program is not None
        nonzero_cotangents = [ct for ct, m in zip(cotangents, self.out_moving, strict=True) if m]
        linear = (False,) * len(residuals) + (True,) * sum(self.in_moving)
        nonzero = tuple(ct is not ZERO for ct in nonzero_cotangents)
        if not any(nonzero):
            return [ZERO] * len(self.in_moving)
        program, nonzero_out = transpose_program(self.program, linear, nonzero)
        received = iter(evaluate(program, *residuals, *(ct for ct in nonzero_cotangents if ct is not ZERO)))
        cotangents_in = iter([next(received) if m else ZERO for m in nonzero_out])
        return [next(cotangents_in) if m else ZERO for m in self.in_moving]


class Pullback:
    """Function from a cotangent of a result to cotangents of the arguments; see :func:`vjp`.

    As a pytree, its leaves are its residuals, the values of the forward pass that it needs. It is made from
    the ``recording`` of the forward pass, or else from ``residuals`` for the program of the signature.
    """

    __slots__ = ("_recording", "_residuals", "_signature")

    def __init__(
        self, signature: LinearSignature, recording: LinearProgram | None, residuals: Sequence[Any] | None = None
    ) -> None:
        self._signature = signature
        self._recording = recording
        self._residuals = residuals

    @api_boundary
    def __call__(self, *cotangents: Any) -> Any:
        """Return a tuple with the cotangents of each argument, for a tree of cotangents like the result."""
        signature = self._signature
        if len(cotangents) != 1:
            raise TypeError(
                f"the vjp of {name_of(signature.fun)} takes one argument, a tree of cotangents like the result, "
                f"got {len(cotangents)}{at()}. For a function that returns a tuple give the cotangents as a tuple."
            )
        name = cotangent_namer(lambda: f"the vjp of {name_of(signature.fun)}")
        cotangent_leaves = check_tangents(
            cotangents[0], signature.out_structure, signature.out_avals, name, PULLBACK_ERRORS, lenient=True
        )
        if self._recording is None:
            received = signature.pull(self._residuals or (), cotangent_leaves)
        else:
            received = backward(
                self._recording.recorder, self._recording.inputs, self._recording.outputs, cotangent_leaves
            )
        return signature.in_structure.unflatten(map(derivative_array, received, signature.in_avals))

    def __repr__(self) -> str:
        return f"<the vjp of {name_of(self._signature.fun)}>"

    def flatten_residuals(self) -> tuple[Sequence[Any], LinearSignature]:
        """Return the values of the residuals, and the signature; this is the function that flattens the pytree."""
        if self._residuals is None:
            assert self._recording is not None
            program, self._residuals = self._recording.to_program()
            if self._signature.program is None:
                self._signature.program = program
        return self._residuals, self._signature


tree.register_pytree_node(
    Pullback,
    lambda pullback: pullback.flatten_residuals(),
    lambda signature, residuals: Pullback(signature, None, residuals),
)
