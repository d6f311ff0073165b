"""What the site holds, in the order in which it is read."""

from __future__ import annotations

from pathlib import Path

from notebooks.making.address import ROOT, notebook_files

#: Headings of the site's side bar, and the files under each, by their names in the repository.
SECTIONS: dict[str, list[str]] = {
    "Start": [
        "docs/installing.md",
        "docs/getting_started.md",
        "docs/coming_from_jax.md",
        "docs/hardware.md",
    ],
    "Notebooks": [
        "notebooks/README.md",
        *(path.relative_to(ROOT).as_posix() for path in notebook_files()),
    ],
    "Seeing": [
        "docs/panel.md",
        "docs/doctor.md",
        "docs/targets.md",
        "docs/watch_a_script.md",
        "docs/watch_your_jax_program.md",
        "docs/beside_jax.md",
    ],
    "Writing programs": [
        "docs/control_flow.md",
        "docs/custom_derivatives.md",
        "docs/parallel.md",
        "docs/several_processes.md",
        "docs/callbacks.md",
        "docs/checks.md",
        "docs/compilation_cache.md",
        "docs/settings.md",
        "docs/interpreters.md",
        "docs/own_operation.md",
    ],
    "What XLA does": [
        "docs/fusion.md",
        "docs/values.md",
        "docs/what_xla_recomputes.md",
        "docs/repeats.md",
        "docs/reproduced.md",
        "bench/RESULTS.md",
        "bench/REPORTS.md",
    ],
    "Reference": [
        "reference/index.md",
        "docs/errors.md",
        "docs/names.md",
        "CHANGELOG.md",
    ],
    "Inside": [
        "core/xlascope/ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *(f"docs/contributing/{path.name}" for path in sorted((ROOT / "docs/contributing").glob("*.md"))),
    ],
}
#: Pages that are reached from another one, which lists them.
BELOW = {
    "docs/errors.md": sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "core/xlascope/errors/pages").glob("*.md")
    )
}
#: The page that the site opens with, and the list of pages in the repository, whose part it takes.
FRONT, LIST = "README.md", "docs/index.md"
#: Folders whose files pages show.
PICTURES = ("docs/images",)


def pages() -> list[Path]:
    """Every file of the repository that becomes a page, but for the front one.

    >>> ROOT / "docs/panel.md" in pages()
    True
    """
    named = [name for names in SECTIONS.values() for name in names]
    below = [name for names in BELOW.values() for name in names]
    return [ROOT / name for name in [*named, *below] if not name.startswith("reference/")]


def tables_of_contents() -> str:
    """Sphinx's lists of the pages, for the foot of the front page."""
    return "\n".join(_table(names, f":caption: {heading}\n") for heading, names in SECTIONS.items())


def table_below(path: Path) -> str:
    """The same for a page that lists others; nothing for one that does not."""
    names = BELOW.get(path.relative_to(ROOT).as_posix())
    return _table([f"/{name}" for name in names]) if names else ""


def _table(names: list[str], caption: str = "") -> str:
    return f"```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(names) + "\n```\n"
