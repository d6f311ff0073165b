"""Days: what is tested on one day of several follows from their numbers."""

import datetime
import zlib


def number_of(day: str) -> int:
    """Return a day's number: days since 1970 for a date; the same number each time for any other text.

    >>> number_of("1970-01-08"), number_of("a seed") == number_of("a seed")
    (7, True)
    """
    try:
        return (datetime.date.fromisoformat(day) - datetime.date(1970, 1, 1)).days
    except ValueError:
        return zlib.crc32(day.encode())
