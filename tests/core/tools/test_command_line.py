"""``python -m xlascope``: the commands that there are, and what a mistake says."""

import pytest

import xlascope
from xlascope.__main__ import main


def test_without_a_command_it_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert all(f"\n    {name} " in shown for name in ("doctor", "port", "show", "targets", "watch"))


MISTAKES = {
    "nonsense": ("usage: python -m xlascope [-h]", "invalid choice: 'nonsense' (choose from "),
    "--nonsense": ("usage: python -m xlascope [-h]", "unrecognized arguments: --nonsense"),
    "watch --nonsense a.py": ("usage: python -m xlascope watch [options] ", "unrecognized arguments: --nonsense"),
    "show": ("usage: python -m xlascope show ", "the following arguments are required: FILE.json"),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_shows_the_usage_of_its_command(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(words.split())
    assert raised.value.code == 2
    shown = capsys.readouterr().err
    assert all(part in shown for part in MISTAKES[words])


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--version"])
    assert raised.value.code == 0 and capsys.readouterr().out == f"xlascope {xlascope.__version__}\n"
