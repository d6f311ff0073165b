"""``%xlascope``: the list of the magics, with the calls of the last cell as examples."""

from __future__ import annotations

from collections.abc import Callable

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope.records.plain import plain

from .last_call import calls_of_last_cell
from .scope import Scope

_EXAMPLE = "f(x)"
#: The maximum number of calls named besides the example.
MAX_OTHER_CALLS = 4
#: The maximum number of characters of a call that stands in each line.
MAX_EXAMPLE_CHARS = 30
#: Questions about one call, in the order in which users typically ask them.
_QUESTIONS = {
    "timings": "how long each kernel and line takes, measured",
    "doctor": "at most three findings, each with its share of the time and what to do",
    "values": "where a NaN or infinity is born, with its operands; the range of each value",
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
    "scope pin": "one panel beside the notebook that follows the cells; on, off: a strip under each cell, or none",
    "diff f(x), g(x)": "two calls, equation by equation, and measured in turn",
    "recompiles": "what was traced again, why, what it cost, and the fix",
    "look x": "the elements of an array: statistics, and a heat map of a slice",
    "watch_values step": "loss, gradients and zeros of a step while it trains; where NaN is born",
    "scope time": "where the time of the cell before went: compiling, calls, waiting, Python",
}


def make_overview_magic(shell: InteractiveShell, scope: Scope) -> Callable[[str], None]:
    """Return the function of the line magic ``%xlascope``; ``scope`` tells whether cells are watched."""

    @no_var_expand
    def xlascope(line: str) -> None:
        """%xlascope: print what can be asked, with the calls of jitted functions in the last cell as examples."""
        if line.strip():
            raise UsageError(f"%xlascope takes nothing. Did you mean %scope {line.strip()[:20]}?")
        print("\n".join(_overview_lines(*calls_of_last_cell(shell), scope)))

    return xlascope


def _overview_lines(cell: int, calls: list[str], scope: Scope) -> list[str]:
    """Return the lines of the overview; ``calls`` are the calls of cell number ``cell``, the example first.

    Without calls the example is a placeholder.
    """
    example = calls[0] if calls else _EXAMPLE
    named = example if not calls or len(example) <= MAX_EXAMPLE_CHARS else ""
    questions = {f"%{name} {named}".strip(): description for name, description in _QUESTIONS.items()}
    other_magics = {f"%{name}": description for name, description in _OTHER_MAGICS.items()}
    width = min(max(map(len, [*questions, *other_magics])), 60)
    strips = "Each cell that traces, compiles or runs something shows it" if scope.is_on else "%scope is off"
    default_note = f"; without one it is the last of In[{cell}], {plain(example, 60)}" * bool(calls)
    return [
        f"{strips}. Ask about a call{default_note}:",
        *(f"  {usage:<{width}}  {description}" for usage, description in questions.items()),
        *_other_calls(cell, calls[1:]),
        "Others:",
        *(f"  {usage:<{width}}  {description}" for usage, description in other_magics.items()),
        "%timings? and so on tell more.",
    ]


def _other_calls(cell: int, calls: list[str]) -> list[str]:
    """Return a line that names the calls of a cell other than the example; none if there are none."""
    named = ", ".join(f"%timings {plain(call, 60)}" for call in calls[:MAX_OTHER_CALLS])
    more = f" and {len(calls) - MAX_OTHER_CALLS} more calls" if len(calls) > MAX_OTHER_CALLS else ""
    return [f"In[{cell}] also called: {named}{more}"] if calls else []
