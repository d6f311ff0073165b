"""What a release asks first, and that its workflow does nothing where there is no account."""

import re
from pathlib import Path

import pytest
from tests import release
from tests.release import ROOT

import xlascope as xs
from xlascope.runtime import supported_jaxlibs

GOOD = {
    "pyproject.toml": '[project]\nversion = "1.2.3"\n',
    "core/xlascope/__init__.py": 'import sys\n\n__version__ = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n\n- all of it\n",
}


@pytest.mark.parametrize(
    ("file", "text", "tag", "words"),
    [
        ("CHANGELOG.md", GOOD["CHANGELOG.md"], "v1.2.3", ""),
        ("CHANGELOG.md", GOOD["CHANGELOG.md"], "1.2.3", "the tag '1.2.3' is no version"),
        ("CHANGELOG.md", GOOD["CHANGELOG.md"], "v1.2.4", "pyproject.toml has version 1.2.3"),
        (
            "CHANGELOG.md",
            "## [Unreleased]\n\n- more\n\n## [1.2.3]\n\n- it\n",
            "v1.2.3",
            "has changes under [Unreleased]",
        ),
        ("CHANGELOG.md", "## [Unreleased]\n\n## [1.2.2]\n\n- it\n", "v1.2.3", "has nothing under [1.2.3]"),
        ("core/xlascope/__init__.py", '__version__ = "1.2.2"\n', "v1.2.3", "xlascope.__version__ is 1.2.2"),
        ("core/xlascope/__init__.py", "", "v1.2.3", "xlascope.__version__ is not there"),
    ],
)
def test_a_tag_is_released_when_all_say_the_same(tmp_path: Path, file: str, text: str, tag: str, words: str) -> None:
    for name, content in (GOOD | {file: text}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = release.complaints(tag, tmp_path)
    assert words in "\n".join(found) and bool(found) == bool(words)


def test_the_files_here_can_be_read() -> None:
    assert not [each for each in release.complaints(f"v{xs.__version__}") if "CHANGELOG.md" not in each]


def test_the_workflow_publishes_where_that_was_said_alone() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    publish = text[text.index("  publish:") :]
    assert "    if: vars.PUBLISH == 'yes'\n" in publish and "needs: [build, try]" in publish
    assert text.count("id-token: write") == publish.count("id-token: write") == 1
    pythons = re.findall(r'"(3\.\d+)"', text[text.index("matrix:") : text.index("steps:", text.index("matrix:"))])
    assert set(pythons) >= {python for each in supported_jaxlibs.TESTED for python in each.pythons}
