"""``%passes``, ``%hlo`` and ``%fusions --why``: separate compilations that show what the compiler does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope import inspect
from xlascope.inspect import STAGES, Inspection, PassByPass, QuestionError
from xlascope.xla.explain import UnknownStageError
from xlascope.xla.targets import MissingTargetError, TargetCompileError, UnknownTargetError

from .magic_line import Grammar, Question, ask, parse

#: Errors caused by the question itself, reported to the user in one line.
_USER_ERRORS = (
    MissingTargetError,
    TargetCompileError,
    UnknownTargetError,
    UnknownStageError,
    QuestionError,
    TimeoutError,
)
_TARGET_OPTION = ("target", "NAME")
_PASSES_GRAMMAR = Grammar("passes", values=(("removed", "WHAT"), ("save", "FILE"), _TARGET_OPTION))
_HLO_GRAMMAR = Grammar(
    "hlo",
    flags=("text",),
    values=(("stage", "STAGE"), ("kernel", "NAME"), ("equation", "PATH"), ("save", "FILE"), _TARGET_OPTION),
)

Magic = Callable[[str], Inspection | None]


def make_explain_magics(shell: InteractiveShell) -> dict[str, Magic]:
    """Return the functions of the line magics ``%passes`` and ``%hlo`` by name."""
    return {"passes": _make_passes_magic(shell), "hlo": _make_hlo_magic(shell)}


def make_why_answer(question: Question, grammar: Grammar) -> Callable[..., Inspection]:
    """Return a function ``answer(f, *args)`` for ``%fusions --why``: all fusion decisions, or those about ``--edge``.

    ``question`` is the parsed line with its options, ``grammar`` that of the magic, for error messages.
    """

    def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
        options: dict[str, Any] = {"target": question.options.get("target", "cpu")}
        if "edge" in question.options:
            options["edge"] = tuple(path.strip() for path in question.options["edge"].split(","))
        inspection: Inspection = inspect.why(inspect.call(fun, *args, **kwargs), **options)
        return inspection

    return wrap_usage_errors(
        answer, grammar, f"{'--edge 3,4' if 'edge' in question.options else '--why'} {grammar.example}"
    )


def wrap_usage_errors(
    answer: Callable[..., Inspection], grammar: Grammar, example: str = Grammar.example
) -> Callable[..., Inspection]:
    """Return ``answer`` wrapped so that errors in the user's question become usage errors of one line.

    Exceptions raised by the user's own call propagate unchanged. ``grammar`` names the magic, and ``example`` is what
    an example in the message has after that name.
    """

    def answer_or_raise(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
        try:
            return answer(fun, *args, **kwargs)
        except _USER_ERRORS as error:
            complaint = str(error).partition(" Example: ")[0].rstrip(".")
            raise UsageError(f"%{grammar.magic}: {complaint}. Example: %{grammar.magic} {example}") from None

    return answer_or_raise


def _make_passes_magic(shell: InteractiveShell) -> Magic:
    """Return the function of the line magic ``%passes``."""

    @no_var_expand
    def passes(line: str) -> Inspection | None:
        """Show a call pass by pass: %passes [--removed WHAT] [--target NAME] [--text] [--json] [--save FILE] f(x).

        The call is compiled once more, past every cache, not run. ``--removed tanh`` (or the path of an equation,
        ``--removed 3/1``) says after which pass nothing of it is left. The same from a script:
        ``xlascope.inspect.passes(f, x)``, whose ``.passes`` have a diff each.
        """
        question = parse(line, _PASSES_GRAMMAR, shell)
        target = question.options.get("target", "cpu")

        def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
            compilation = inspect.passes(inspect.call(fun, *args, **kwargs), target=target)
            removed = question.options.get("removed")
            return compilation if removed is None else _report_removal(compilation, removed)

        return ask(question, wrap_usage_errors(answer, _PASSES_GRAMMAR), shell, _PASSES_GRAMMAR)

    return passes


def _report_removal(compilation: PassByPass, description: str) -> Inspection:
    """Return as text which pass removed the last instruction of each equation that ``description`` selects.

    ``description`` is an operation's name or the path of one equation.
    """
    removals = compilation.removed(description)
    lines = [
        f"{compilation.operation(path)} {path}: "
        + (
            f"gone after {compiler_pass.name} in {compiler_pass.pipeline} (step {compiler_pass.step})"
            if compiler_pass is not None
            else "gone before the passes, while StableHLO became HLO or before calls were inlined"
        )
        for path, compiler_pass in removals
    ]
    return Inspection(
        "removed", compilation.records, "\n".join(lines) or f"nothing of {description!r} was removed: it is in the end"
    )


def _make_hlo_magic(shell: InteractiveShell) -> Magic:
    """Return the function of the line magic ``%hlo``."""

    @no_var_expand
    def hlo(line: str) -> Inspection | None:
        """%hlo [--stage STAGE] [--kernel NAME] [--equation PATH] [--target NAME] [--text] [--save FILE] f(x): its code.

        The stages are ``stablehlo``, ``hlo`` (before XLA's passes), ``optimized`` (after them, what is shown without
        ``--stage``), ``llvm``, ``ptx`` (GPUs) and ``asm`` (the CPU). ``--kernel`` picks one, named as in ``%fusions``;
        ``--equation 3/1`` those that an equation ended up in. The same from a script:
        ``xlascope.inspect.hlo(f, x, stage="llvm")``.
        """
        question = parse(line, _HLO_GRAMMAR, shell)
        stage = question.options.get("stage", "optimized")
        if stage not in STAGES:
            raise _HLO_GRAMMAR.usage_error(f"has no stage {stage}; the stages are {', '.join(STAGES)}")

        def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
            options = {
                name: question.options[name] for name in ("kernel", "equation", "target") if name in question.options
            }
            return inspect.hlo(inspect.call(fun, *args, **kwargs), stage=stage, **options)

        return ask(question, wrap_usage_errors(answer, _HLO_GRAMMAR), shell, _HLO_GRAMMAR)

    return hlo
