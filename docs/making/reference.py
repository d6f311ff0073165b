"""The reference: each module's public names, with signature and docstring, and what of JAX's is not there."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.public_names import MODULES, names_in, presence

from xlascope.missing import UNSUPPORTED_NAMES

from .signatures import signature

#: Modules beside those that JAX has.
OF_OURS = ("xlascope.inspect",)
#: Code and names of roles, which stay as they are, and signs that mean something else than what they say.
_PROSE = re.compile(r"((?::[\w:]+:)?`+[^`]+`+)|[|*]|(?<=\w)_(?!\w)")
#: What a class has that is worth an entry of its own.
_MEMBERS = (property, classmethod, staticmethod)


def write(folder: Path) -> None:
    """Write a page for each module, and one that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = sorted({*MODULES, *OF_OURS}, key=lambda name: (name.count("."), name))
    for module in modules:
        (folder / f"{module}.md").write_text(page(module), encoding="utf-8")
    (folder / "index.md").write_text(_list(modules), encoding="utf-8")
    (folder / "of_jax.md").write_text(what_is_here(), encoding="utf-8")


def _list(modules: list[str]) -> str:
    rows = [f"| [`{name}`]({name}.md) | {_says(importlib.import_module(name))} |" for name in modules]
    head = "# Modules\n\nEvery public name, module by module: its signature, what it says of itself, and examples.\n"
    links = "```{toctree}\n:hidden:\n\n" + "\n".join([*(f"{name}.md" for name in modules), "of_jax.md"]) + "\n```\n"
    foot = "And module by module, [what of jax is here](of_jax.md).\n"
    return "\n".join([head, "| module | |", "| --- | --- |", *rows, "", foot, links])


def what_is_here() -> str:
    """Of each module of jax, how many of its names are here, and which are not."""
    rows = []
    for module, (here, left_out, lacking) in presence().items():
        said = [_names(lacking), *([f"left out for good: {_names(left_out)}"] if left_out else [])]
        total = len(here) + len(left_out) + len(lacking)
        rows.append(f"| `{module or 'jax'}` | {len(here)} of {total} | {'; '.join(filter(None, said))} |")
    head = (
        "# What of jax is here\n\nThe public names of jax 0.10.2, module by module. A name that is not here says so.\n"
    )
    return "\n".join([head, "| module of jax | here | not here |", "| --- | --- | --- |", *rows, ""])


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page(module: str) -> str:
    """One module, as Markdown with entries in Sphinx's own language."""
    names = names_in(module)
    entries = "\n".join(line for name, value in names.items() for line in _entry(name, value))
    rst = f".. py:module:: {module}\n   :no-index-entry:\n\n{entries}"
    found = [f"# {module}\n", f"{_says(importlib.import_module(module))}.\n", *_left_out(module)]
    return "\n".join([*found, "````{eval-rst}", rst, "````", ""])


def _says(value: object) -> str:
    """The first sentence of a docstring, as Markdown."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".:").replace("``", "`").replace("|", "\\|")


def _left_out(module: str) -> Iterator[str]:
    """The names of JAX that will not come."""
    of_jax = module.removeprefix("xlascope").removeprefix(".")
    rows = [
        f"| `{name.rpartition('.')[2]}` | {said.reason} | {said.instead} |"
        for name, said in UNSUPPORTED_NAMES.items()
        if name.rpartition(".")[0] == of_jax
    ]
    if rows:
        yield "JAX has these, which are left out here:\n"
        yield "\n".join(["| name | why | instead |", "| --- | --- | --- |", *rows, ""])


def _entry(name: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _described("class", f"{name}{signature(value)}", value)
        for member, what in _members(value):
            yield from _indented(_described(_kind(what), _called(member, what), what))
    else:
        yield from _described("function", f"{name}{signature(value)}", value)


def _described(kind: str, called: str, value: object) -> Iterator[str]:
    yield f".. py:{kind}:: {called}"
    yield ""
    yield from _indented(_written(value))
    yield ""


def _written(value: object) -> Iterator[str]:
    """The lines of a docstring, where nothing but what is marked as code or as a name has a meaning for Sphinx."""
    text = inspect.getdoc(value) or ""
    owner = (getattr(value, "__module__", None) or "").partition(".")[0]
    if owner and not owner.startswith("xlascope"):  # what others say refers to pages of theirs
        text = "\n\n".join([*text.split("\n\n")[:1], f"As it is in {owner}."])
    example = False
    for line in text.splitlines():
        example = line.startswith(">>> ") or (example and line != "")
        yield line if example else _PROSE.sub(lambda found: found[1] or "\\" + found[0], line)


def _indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    return (textwrap.indent(line, "   ") for line in lines)


def _members(value: type) -> Iterator[tuple[str, object]]:
    for name, what in vars(value).items():
        is_one = isinstance(what, _MEMBERS) or inspect.isroutine(what)
        if not name.startswith("_") and is_one and inspect.getdoc(what):
            yield name, what


def _kind(member: object) -> str:
    return "property" if isinstance(member, property) else "method"


def _called(name: str, member: object) -> str:
    if isinstance(member, property):
        return name
    return f"{name}{signature(getattr(member, '__func__', member))}"
