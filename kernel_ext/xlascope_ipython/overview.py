"""``%xlascope``: the list of the magics, with the last call as the example."""

from __future__ import annotations

from collections.abc import Callable

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from .last_call import last_call
from .scope import Scope

_EXAMPLE = "f(x)"
#: Questions about one call, in the order in which users typically ask them.
_QUESTIONS = {
    "timings": "how long each kernel and line takes, measured",
    "doctor": "what is wrong with it, in at most three sentences, and what to do",
    "fusions": "the kernels that XLA makes of it; --why: the reasons",
    "memory": "what is held when, and at the peak",
    "explore": "its program as a graph, without compiling it",
    "jaxpr": "its program as text",
    "passes": "what each pass of the compiler changed",
    "hlo": "StableHLO, HLO, LLVM IR or assembly",
    "target gpu:h100": "the same program for hardware that is not here",
    "whatif --dtype bfloat16": "one thing changed, and compared",
}
_OTHER_MAGICS = {
    "diff f(x), g(x)": "two calls, equation by equation; --timings: measured in turn",
    "recompiles": "what was traced again, why, what it cost, and the fix",
    "scope time": "where the time of the cell before went: compiling, calls, waiting, Python",
    "scope pin": "one panel here that follows the cells; on, off: a strip under each cell, or none",
}


def make_overview_magic(shell: InteractiveShell, scope: Scope) -> Callable[[str], None]:
    """Return the function of the line magic ``%xlascope``; ``scope`` tells whether cells are watched."""

    @no_var_expand
    def xlascope(line: str) -> None:
        """%xlascope: print what can be asked, with the call of a jitted function that a cell made last."""
        if line.strip():
            raise UsageError(f"%xlascope takes nothing. Did you mean %scope {line.strip()[:20]}?")
        print("\n".join(_overview_lines(last_call(shell), scope)))

    return xlascope


def _overview_lines(call: str, scope: Scope) -> list[str]:
    """Return the lines of the overview; ``call`` is the source of the example call (``""``: there is none)."""
    questions = {f"%{name} {call or _EXAMPLE}": description for name, description in _QUESTIONS.items()}
    other_magics = {f"%{name}": description for name, description in _OTHER_MAGICS.items()}
    width = min(max(map(len, [*questions, *other_magics])), 60)
    strips = "Each cell that traces, compiles or runs something shows it" if scope.is_on else "%scope is off"
    default_note = (
        "; the last call of a jitted function is the example, and what a magic takes if none is named" * bool(call)
    )
    return [
        f"{strips}. About a call{default_note}:",
        *(f"  {usage:<{width}}  {description}" for usage, description in questions.items()),
        "Others:",
        *(f"  {usage:<{width}}  {description}" for usage, description in other_magics.items()),
        "%timings? and so on tell more.",
    ]
