"""Parsing of Python source, with the errors of Python's own parser."""

from __future__ import annotations

import ast
import warnings


class CannotParseError(ValueError):
    """Error for text that is not valid Python: its line, and the parser's reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, which may use top-level ``await``; raise CannotParseError for invalid text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in strings
            tree = compile(text, "<text>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        raise CannotParseError(error.lineno or 1, error.msg) from None
    except ValueError as error:  # null bytes
        raise CannotParseError(1, str(error)) from None
    assert isinstance(tree, ast.Module)
    return tree
