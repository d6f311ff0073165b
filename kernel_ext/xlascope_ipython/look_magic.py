"""``%look x``: the elements of an array."""

from __future__ import annotations

from collections.abc import Callable

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope import inspect
from xlascope.inspect.inspection_scope import inspection
from xlascope.records.plain import plain

from .cell_titles import cell_number
from .magic_line import Grammar, Question, apply_output_options, parse_options

_GRAMMAR = Grammar("look", calls=0, example="params['w']")
#: The characters of an expression that name an array.
_MAX_NAME_CHARS = 60


def make_look_magic(shell: InteractiveShell) -> Callable[[str], inspect.Inspection | None]:
    """Return the function of the line magic ``%look``."""

    @no_var_expand
    def look(line: str) -> inspect.Inspection | None:
        """%look [--text] [--json] [--save FILE] x: the elements of an array: type, statistics, slices as heat maps.

        ``x`` is any expression whose value is an array of xlascope, NumPy or jax; it is evaluated once. In a notebook
        axes and indices are chosen with the mouse or keys, and large slices are reduced by blocks; in a terminal it is
        text. ``--text`` prints text, ``--json`` statistics; ``--save FILE`` writes ``.txt`` or ``.json``. The same from
        a script: ``xlascope.inspect.look(x)``.
        """
        expression, options = parse_options(line, _GRAMMAR)
        if expression.endswith(";"):
            expression, options["quiet"] = expression.rstrip("; "), True
        if not expression:
            raise _GRAMMAR.usage_error("takes an array, got nothing")
        file = shell.compile.cache(expression, cell_number(shell))
        try:
            code = compile(expression, file, "eval")
        except SyntaxError:
            raise _GRAMMAR.usage_error(f"takes an expression, got {plain(expression, 60)!r}") from None
        with inspection():
            array = eval(code, shell.user_ns)
            try:
                looked = inspect.look(array, plain(expression, _MAX_NAME_CHARS))
            except inspect.UnviewableArrayError as error:
                raise UsageError(f"%look {plain(expression, 60)}: {error}") from None
        return apply_output_options(looked, Question(expression, options), _GRAMMAR)

    return look
