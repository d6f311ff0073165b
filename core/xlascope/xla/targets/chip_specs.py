"""Published specifications of a chip, each with the document that it was taken from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """Number from a specification, with its source or what it was derived from."""

    value: float
    source: str


@dataclass(frozen=True, slots=True)
class ChipSpecs:
    """Specifications of a chip that a roofline model needs.

    ``bandwidth`` is that of its main memory in bytes per second, ``memory`` its size in bytes; ``peaks`` are dense
    floating-point operations per second by the type of the factors of a matrix product (``float32`` is what XLA does
    with such factors unless asked for more precision), and ``vector`` those outside of matrix products. ``links`` are
    the bytes per second that it can send to other chips over all its links at once, to at most ``max_linked_chips``
    chips (None: no limit). ``network`` is what it can send to chips of other hosts, and ``network_latency`` the seconds
    until a message arrives there; None where no system is published that joins them.
    """

    name: str
    bandwidth: Figure
    memory: Figure
    peaks: dict[str, Figure]
    vector: Figure | None = None
    links: Figure | None = None
    max_linked_chips: int | None = None
    network: Figure | None = None
    network_latency: Figure | None = None
