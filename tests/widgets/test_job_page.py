"""The page of a job: it runs and loads nothing, untrusted texts stay texts, and its size is bounded."""

import dataclasses
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.core.analysis.job import synthetic_jobs as synthetic
from tests.widgets.test_hostile import HOSTILE

from xlascope import records
from xlascope.analysis.job.join import join_records
from xlascope_widgets.export import save
from xlascope_widgets.job_page import job_page_html
from xlascope_widgets.job_picture import draw_job, draw_lanes


def report(count=2, **options):
    job = synthetic.job(tuple(map(float, range(count))), late=(0.0,) * (count - 1) + (0.03,), **options)
    devices = [f"cpu:{2048 * number}" for number in range(count)]
    for number, listed in enumerate(job):
        listed.append(synthetic.executed(devices[number], 0.002 + 0.001 * number, 0.01 - 0.001 * number))
    return join_records(job)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_page_shows_who_waits_for_whom():
    page = Elements(job_page_html(report()))
    text = " ".join(page.texts)
    assert "a job of 2 processes" in text and "the others wait for process 1, last in 50 of them" in text
    assert "reduce_sum at train.py:22" in text and "1 s ± " in text and "process 1, cpu:2048" in text
    assert "waits 30" in text and "call 49 in process 0" in text


def test_a_page_runs_and_loads_nothing():
    page = job_page_html(report())
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "http" not in page.replace("http-equiv", "").replace('xmlns="http://www.w3.org/2000/svg"', "")
    elements = Elements(page)
    assert not elements.tags & {"script", "img", "link", "iframe", "a"}
    assert not {name for name in elements.attributes if name.startswith("on")} and "href" not in elements.attributes


def with_texts(value, text):
    """The record with another text in every place of it but names of kinds."""
    if isinstance(value, str):
        return text
    if isinstance(value, tuple):
        return tuple(with_texts(item, text) for item in value)
    if dataclasses.is_dataclass(value):
        changes = {
            field.name: with_texts(getattr(value, field.name), text)
            for field in dataclasses.fields(value)
            if not (isinstance(value, records.JobDifference) and field.name == "kind")
        }
        return dataclasses.replace(value, **changes)
    return value


@pytest.mark.parametrize("name", HOSTILE)
def test_untrusted_texts_stay_texts(name):
    plain = report()
    difference = records.JobDifference("failure", "f", (1,), "raised", synthetic.LINE)
    plain = dataclasses.replace(plain, differences=(difference,), notes=("a note",))
    hostile = with_texts(plain, HOSTILE[name])
    page = job_page_html(hostile)
    expected, elements = Elements(job_page_html(plain)), Elements(page)
    assert elements.tags <= expected.tags and elements.attributes <= expected.attributes
    assert len(page) < 400_000 and not any(ord(c) < 32 and c not in "\n" for c in page)
    for picture in (draw_job(hostile), draw_lanes(hostile.programs[0])):
        ElementTree.fromstring(picture)


def test_a_page_is_bounded_and_saved(tmp_path):
    large = report(40)
    for suffix in ("html", "svg", "png"):
        save([large], tmp_path / f"job.{suffix}")
        assert 0 < (tmp_path / f"job.{suffix}").stat().st_size < 1_500_000
    assert (tmp_path / "job.html").read_text(encoding="utf-8") == job_page_html(large)


def test_a_job_without_shared_programs_is_drawn():
    empty = join_records([[synthetic.run(number, 2)] for number in range(2)])
    ElementTree.fromstring(draw_job(empty))
    assert "not aligned" in job_page_html(empty)
