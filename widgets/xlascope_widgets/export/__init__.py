"""What is drawn, as files: one page that needs no network, pictures, graphs for Graphviz, and charts.

``save`` writes records or a comparison of records (:class:`xlascope.analysis.diff.Diff`); the suffix says in which
form.
Charts are made by :mod:`.charts`, which is not imported here: matplotlib takes longer than everything else.
"""

from .files import SUFFIXES, save

__all__ = ["SUFFIXES", "save"]
