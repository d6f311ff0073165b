"""Attributes of a virtual machine of Google Cloud, from its metadata server."""

from __future__ import annotations

import os
import urllib.request

_TIMEOUT_SECONDS = 10.0


def read_attribute(name: str) -> str:
    """Return an attribute of this machine as text; raises OSError if there is no metadata server."""
    server = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
    url = f"http://{server}/computeMetadata/v1/instance/attributes/{name}"
    request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        text: str = answer.read().decode()
    return text
