"""The stages of a jitted call: traced, lowered, compiled, with JAX's names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray, ShapeDtypeStruct
from ...ir.jaxpr import ClosedJaxpr
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import TracerBase
from ...xla.compilation.compile_program import LoweredProgram, compile_lowered, estimated_cost, lower_program
from ...xla.compilation.compile_request import CompileRequest
from ...xla.execution.call_cache import make_pjit
from ...xla.execution.executables import Executable, FastpathData
from ...xla.execution.placement import Placement, resolve_placement
from ...xla.sharding.named_shardings import to_user_sharding
from ..programs.function_names import operand_names
from .arguments import CallArguments, JitOptions, avals_of, donation_mask, static_numbers
from .donation import warn_of_unusable_donations
from .trace_signature import TraceSignature, structure_difference

_call_keys = itertools.count()


class ArgInfo(NamedTuple):
    """Information about one argument: its type, and whether it is donated (its memory may be reused)."""

    aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """Return the dtype."""
        return self.aval.dtype


class JitStage:
    """Base of the stages of a call, with information about arguments and results.

    ``arguments`` has no data; ``out_tree`` is the structure of the results.
    """

    def __init__(
        self, function: Any, options: JitOptions, arguments: CallArguments, program: ClosedJaxpr, out_tree: Any
    ) -> None:
        self._function = function
        self._options = options
        self._arguments = arguments
        self._program = program
        self.out_tree = out_tree

    @property
    def fun_name(self) -> str:
        """Return the name of the function."""
        return self._program.name

    @property
    def in_avals(self) -> tuple[Any, dict[str, Any]]:
        """Return the types of the dynamic arguments, as (positional, named)."""
        return self._per_argument(self._program.in_avals)

    @property
    def out_avals(self) -> Any:
        """Return the types of the results, in the structure that the function returns."""
        return self.out_tree.unflatten(self._program.out_avals)

    @property
    def args_info(self) -> tuple[Any, dict[str, Any]]:
        """Return the type and donation of each dynamic argument, as (positional, named)."""
        marks = self._donation_mask or (False,) * len(self._program.in_avals)
        return self._per_argument([ArgInfo(a, d) for a, d in zip(self._program.in_avals, marks, strict=True)])

    @property
    def out_info(self) -> Any:
        """Return a ShapeDtypeStruct for each result, in the structure that the function returns."""
        # As in jax, only what is traced tells weak types: in compiled programs there are none.
        is_traced = isinstance(self, Traced)
        infos = [ShapeDtypeStruct(a.shape, a.dtype, a.weak_type and is_traced) for a in self._program.out_avals]
        return self.out_tree.unflatten(infos)

    @property
    def in_tree(self) -> Any:
        """Return the structure of the dynamic arguments, as (positional, named)."""
        return tree.structure(self._per_argument(range(len(self._program.in_avals))))

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Return the indices of flat arguments whose memory may be reused."""
        return tuple(i for i, mark in enumerate(self._donation_mask) if mark)

    @property
    def _donation_mask(self) -> tuple[bool, ...]:
        return donation_mask(self._options, self._arguments)

    def _per_argument(self, leaves: Any) -> tuple[Any, dict[str, Any]]:
        """Return ``leaves``, one for each operand, in the structure (positional, named) without static arguments."""
        args, kwargs = self._arguments.structure.unflatten(leaves)
        static = static_numbers(self._options, len(args))
        return tuple(x for i, x in enumerate(args) if i not in static), kwargs


class Traced(JitStage):
    """A function traced for arguments of certain types: the result of ``f.trace(*args)``.

    ``number`` is the program's, ``execution_place`` the placement on which it would run.
    """

    def __init__(
        self,
        function: Any,
        options: JitOptions,
        arguments: CallArguments,
        program: ClosedJaxpr,
        out_tree: Any,
        number: int,
        execution_place: Placement,
    ) -> None:
        super().__init__(function, options, arguments, program, out_tree)
        self._number = number
        self._place = resolve_placement(program, execution_place)

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """Return the traced program."""
        return self._program

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lower the program to StableHLO for one platform, by default that of the device on which it would run.

        Raises NotImplementedError for several ``lowering_platforms``.
        """
        platform = self._place.device.platform
        if lowering_platforms is not None:
            if len(lowering_platforms) != 1:
                raise NotImplementedError(
                    f"lowering for several platforms at once ({', '.join(lowering_platforms)}) is not supported; lower "
                    "for each by itself"
                )
            (platform,) = lowering_platforms
        warn_of_unusable_donations(self._program, self._donation_mask)
        request = CompileRequest(
            self._program, self._options.compile, self._donation_mask, self._number, self._place.partition
        )
        lowered = lower_program(request, platform)
        return Lowered(self, lowered, platform)


class Lowered(JitStage):
    """A function as StableHLO: the result of ``f.lower(*args)``."""

    def __init__(self, traced: Traced, lowered: LoweredProgram, platform: str) -> None:
        super().__init__(traced._function, traced._options, traced._arguments, traced._program, traced.out_tree)
        self._traced = traced
        self._lowered = lowered
        self._platform = platform

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the module as text: ``stablehlo`` (the default) or ``hlo``, with names and lines if ``debug_info``."""
        return self._lowered.text(dialect or "stablehlo", debug_info=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the module as an MLIR module (``stablehlo``, the default), or as an XLA computation (``hlo``)."""
        return self._lowered.to_dialect(dialect or "stablehlo")

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimates for the program before optimization: operations and bytes, each loop counted once."""
        return estimated_cost(self._lowered, self._platform)

    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Compiled:
        """Compile the module; ``compiler_options`` are XLA's flags by name, for this program alone.

        Raises CompilationError when XLA refuses the program, and XLA's own error for an option that it does not know.
        """
        flags = to_compiler_flags({**dict(self._options.compile.flags), **(compiler_options or {})})
        execution_place = self._traced._place
        compilation = compile_lowered(self._lowered.with_flags(flags), execution_place.device)
        executable = Executable(compilation, self._program, execution_place.committed, self._donation_mask)
        return Compiled(self, executable)


class Compiled(JitStage):
    """A compiled function for arguments of certain types: the result of ``f.lower(*args).compile()``."""

    def __init__(self, lowered: Lowered, executable: Executable) -> None:
        super().__init__(lowered._function, lowered._options, lowered._arguments, lowered._program, lowered.out_tree)
        self._executable = executable
        self._in_tree = self.in_tree
        # jaxlib's call cache repeats calls, as for jitted functions.
        key = (self._program.name, next(_call_keys))
        self.call = make_pjit(self._program.name, self._call_without_jit, self._cache_miss, (), (), key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on dynamic arguments of the types that it was compiled for; raise TypeError for others."""
        return self.call(*args, **kwargs)

    def _call_without_jit(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled program for jaxlib if ``disable_jit`` is set, since there is no Python function to run."""
        return self._cache_miss(*args, **kwargs)[0]

    @api_boundary
    def _cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, FastpathData | None, bool]:
        """Run a call that jaxlib's call cache does not have.

        Returns the results, the data with which jaxlib repeats the call, and False. Raises TypeError for arguments of
        other types.
        """
        operands, structure = tree.flatten((args, kwargs))
        avals = self._check_operands(operands, structure)
        results = self.out_tree.unflatten(self._executable(operands, avals))
        return results, self._executable.fastpath_data(self.out_tree, operands), False

    def _check_operands(self, operands: list[Any], structure: Any) -> tuple[ShapedArray, ...]:
        """Return the types of a call's operands; raise TypeError unless they fit the compiled program.

        Structure, shapes and dtypes have to be those it was compiled for, and tracers are refused.
        """
        if structure != self._in_tree:
            raise TypeError(
                f"{self.fun_name} was compiled for arguments of another structure{here()}: "
                f"{_difference(self._in_tree, structure)} (static arguments are left out in this call)"
            )
        avals = avals_of(self._function, CallArguments(operands, structure, (), ()))
        wrong = [
            f"{name} is {actual.str_short()}, compiled for {expected.str_short()}"
            for name, actual, expected in zip(
                operand_names(self._function, structure), avals, self._program.in_avals, strict=True
            )
            if (actual.shape, actual.dtype) != (expected.shape, expected.dtype)
        ]
        if wrong:
            raise TypeError(f"{self.fun_name} was compiled for arguments of other types{here()}: {'; '.join(wrong)}")
        if any(isinstance(x, TracerBase) for x in operands):
            raise TypeError(
                f"{self.fun_name} is compiled for certain arguments and cannot be transformed (jit, grad, vmap) any "
                f"more{here()}: transform the function, then compile it"
            )
        return avals

    def as_text(self) -> str:
        """Return the optimized HLO."""
        return self._executable.compilation.text()

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's estimates for the optimized program: floating-point operations, bytes.

        Each iteration of a loop counts where the compiler knows how many there are, as in ``scan``; other loops count
        once.
        """
        return self._executable.compilation.cost()

    def memory_analysis(self) -> Any:
        """Return the compiler's memory statistics, in bytes; None if the back end has none."""
        return self._executable.compilation.memory()

    def runtime_executable(self) -> Any:
        """Return jaxlib's executable."""
        return self._executable.compilation.executable

    @property
    def input_shardings(self) -> Any:
        """Return the shardings of the arguments, as (positional, named)."""
        return self._per_argument(list(map(to_user_sharding, self._executable.operand_shardings)))

    @property
    def output_shardings(self) -> Any:
        """Return the shardings of the results, in the structure that the function returns."""
        return self.out_tree.unflatten(map(to_user_sharding, self._executable.out_shardings))


def _difference(expected: Any, actual: Any) -> str:
    before, after = (TraceSignature(structure, (), (), (), None) for structure in (expected, actual))
    return structure_difference(before, after, lambda count: [f"args[{i}]" for i in range(count)])


def to_compiler_flags(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return compiler options as sorted (name, value) pairs, with values that XLA takes."""
    return tuple((name, _as_flag(value)) for name, value in sorted(options.items()))


def _as_flag(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)
