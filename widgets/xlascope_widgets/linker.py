"""ES modules linked into one text that any JavaScript engine runs: each file keeps a scope of its own.

A file becomes a function that is called once and returns what the file exports; its imports become constants taken from
what other files returned. So no name leaks from file to file, and the order follows from the imports. What is accepted
are the forms that we write, each at the beginning of a line (the names of an import may have a line each)::

    import { a, b } from "./other.js";
    export function a() {}      export class B {}      export const c = 1;
    export default { a };

Everything else that says import or export is an error with its file and line. ``LINKING.md`` says what this was
compared with.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

#: The words import and export, and what they mean nothing in: comments, strings, templates. Each choice begins with a
#: letter of its own, so that the engine skips to the next of these.
_WORD = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"""|(?P<word>import|export)(?<![\w$.].{6})(?![\w$])""",
    re.DOTALL,
)
_FORM = re.compile(
    r'import \{(?:\n  | )(?P<names>\w+(?:,\s+\w+)*),?\s\} from "(?P<source>\.[^"\n]+)";\n'
    r"|export (?P<default>default )(?!async |class |function )"
    r"|export (?=(?:async function|function|class|const) (?P<name>\w+))"
)


class LinkError(ValueError):
    """Files that cannot be linked: says which file, which line, and why."""


@dataclass(frozen=True, slots=True)
class Import:
    """The names that a line takes from another file."""

    line: int
    source: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """A file: its name below the root, what it imports and exports, and its text without either."""

    name: str
    imports: tuple[Import, ...]
    exports: tuple[str, ...]
    body: str


def link(root: Path, *entries: str) -> str:
    """A JavaScript expression whose value is an object with everything that the entries export."""
    modules = in_order(root, *entries)
    constants = {module.name: f"${number}" for number, module in enumerate(modules)}
    scopes = "".join(f"const {constants[module.name]} = {_scope(module, constants)};\n" for module in modules)
    exported = ", ".join(f"...{constants[entry]}" for entry in entries)
    return f'(() => {{\n"use strict";\n{scopes}return {{ {exported} }};\n}})()'


def in_order(root: Path, *entries: str) -> list[Module]:
    """The entries and all that they import, in the language's own order: each after what it imports itself."""
    found: dict[str, Module] = {}
    for entry in entries:
        _visit(root, entry, (), found)
    return list(found.values())


def read(root: Path, name: str) -> Module:
    """A file taken apart."""
    text = (root / name).read_text(encoding="utf-8")
    imports: list[Import] = []
    exports: list[str] = []
    body, end = "", 0
    for found in _WORD.finditer(text):
        if not found["word"]:
            continue
        start = found.start()
        line = text.count("\n", 0, start) + 1
        form = _FORM.match(text, start) if not start or text[start - 1] == "\n" else None
        if form is None:
            raise LinkError(
                f"{name}:{line}: no form of {found[0]} that is linked: {text.splitlines()[line - 1].strip()}"
            )
        if form["source"]:
            imports.append(Import(line, _path(form["source"], name), tuple(re.split(r",\s+", form["names"]))))
        else:
            exports.append(form["name"] or "default")
        body += text[end:start] + ("const $default = " if form["default"] else "")
        end = form.end()
    return Module(name, tuple(imports), tuple(exports), body + text[end:])


def _visit(root: Path, name: str, users: tuple[str, ...], found: dict[str, Module]) -> None:
    if name in users:
        raise LinkError(f"files import each other in a circle: {' imports '.join((*users[users.index(name) :], name))}")
    if name in found:
        return
    module = read(root, name)
    for each in module.imports:
        at = f"{name}:{each.line}"
        if not (root / each.source).is_file():
            raise LinkError(f"{at}: there is no file {each.source}")
        _visit(root, each.source, (*users, name), found)
        if missing := set(each.names) - set(found[each.source].exports):
            raise LinkError(f"{at}: {each.source} does not export {', '.join(sorted(missing))}")
    found[name] = module


def _scope(module: Module, constants: dict[str, str]) -> str:
    """A call that makes the file's scope and gives what it exports."""
    imports = "".join(f"const {{ {', '.join(each.names)} }} = {constants[each.source]};\n" for each in module.imports)
    exports = ", ".join("default: $default" if name == "default" else name for name in module.exports)
    return f"(() => {{\n{imports}{module.body}\nreturn {{ {exports} }};\n}})()"


def _path(source: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), source))
