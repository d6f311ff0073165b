"""Values of programs: sick ones found at their lines, healthy ones without a finding, through every kind of program."""

import linecache

import pytest

from xlascope import inspect

from .sick_values import HEALTHY, SICK, Program


def line_text(report_line: object) -> str:
    return linecache.getline(report_line.file, report_line.line)  # type: ignore[attr-defined]


@pytest.mark.parametrize("program", SICK, ids=lambda program: program.name)
def test_a_sick_program_is_found_at_its_line(program: Program) -> None:
    found = inspect.values(program.function, *program.arguments)
    finding = next((finding for finding in found.report.findings if finding.rule == program.rule), None)
    assert finding is not None, found.text
    assert program.words in finding.sentence
    assert finding.source is not None and program.line in line_text(finding.source), found.text


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.name)
def test_a_healthy_program_has_no_finding(program: Program) -> None:
    found = inspect.values(program.function, *program.arguments)
    assert not found.report.findings, found.text
    assert set(found.report.results) <= {"finite"}
