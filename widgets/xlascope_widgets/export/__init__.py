"""Drawing of records to files: a page that needs no network, pictures, Graphviz graphs and charts.

``save`` writes records or a comparison of records (:class:`xlascope.analysis.diff.Diff`) in the format of the
suffix. Charts are in :mod:`.charts`, which is not imported here because importing matplotlib is slow.
"""

from .files import SUFFIXES, save

__all__ = ["SUFFIXES", "save"]
