"""Readers of what XLA writes about its decisions: fusion dumps in every format there is, its log, and pass snapshots.

All of it is somebody's file: damaged, cut off, huge or hostile ones give a ValueError or a partial result that says so.
Of a dump only the labels are read. Its pictures are never looked at, and nothing in it is ever run.
"""

from .any_format import read_fusion_dump
from .dump import Dump
from .edges import Verdict, instructions_of, verdict_on
from .frames import read_fusion_archive, read_fusion_page
from .log import read_fusion_log
from .priority_fusion import read_fusion_process, with_estimates
from .reasons import plain
from .snapshots import Snapshot, list_snapshots, read_passes

__all__ = [
    "Dump",
    "Snapshot",
    "Verdict",
    "instructions_of",
    "list_snapshots",
    "plain",
    "read_fusion_archive",
    "read_fusion_dump",
    "read_fusion_log",
    "read_fusion_page",
    "read_fusion_process",
    "read_passes",
    "verdict_on",
    "with_estimates",
]
