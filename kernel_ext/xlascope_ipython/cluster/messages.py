"""Messages between a notebook and its engines: records and answers as JSON, never pickled.

They travel on the channels of ipyparallel: a request is code to execute, with metadata; what comes back is a message
on the channel of outputs, of a type of its own, with the JSON in a buffer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from xlascope.records import Continued, Executed, JobProcess, Record, SharedCalls, Started
from xlascope.records.store import document, parse_document, text_of

#: Types of the messages with records of a cell, and with the answer to a call.
RECORDS_TYPE, ANSWER_TYPE = "xlascope_records", "xlascope_answer"
#: The key of xlascope's part in the metadata of a request.
METADATA_KEY = "xlascope"

JSON = dict[str, Any]


def encode_records(records: Iterable[Record]) -> bytes:
    """Return records as the content of a file of records.

    >>> decode_records(encode_records([]))
    ()
    """
    return document(map(text_of, records))


def decode_records(data: bytes) -> tuple[Record, ...]:
    """Return the records that :func:`encode_records` encoded; raise ValueError for other data."""
    return parse_document(data)


def replacement_key(record: Record) -> object:
    """Return a key that is equal for records of which only the latest counts."""
    if isinstance(record, Executed | Started | Continued):
        return type(record), record.program
    if isinstance(record, SharedCalls):
        return SharedCalls, record.digest
    return JobProcess if isinstance(record, JobProcess) else id(record)


def make_call(name: str, arguments: JSON) -> str:
    """Return the code by which an engine calls a function of ``engine_calls`` and sends its result; it binds no name.

    >>> make_call("describe", {})
    '__import__("xlascope_ipython.cluster.engine_calls", fromlist=["x"]).answer("describe", "{}")'
    """
    module = '__import__("xlascope_ipython.cluster.engine_calls", fromlist=["x"])'
    return f"{module}.answer({json.dumps(name)}, {json.dumps(json.dumps(arguments))})"
