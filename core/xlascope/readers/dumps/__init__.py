"""Readers of what XLA writes about its decisions: fusion dumps in every format there is, its log, and pass snapshots.

All of it is somebody's file: damaged, cut off, huge or hostile ones give a FormatError or a partial result that says
so. Of a dump only the labels are read. Its pictures are never looked at, and nothing in it is ever run.
"""

from .any_format import read_fusion_dump as read_fusion_dump
from .dump import Dump as Dump
from .frames import read_fusion_archive as read_fusion_archive
from .frames import read_fusion_page as read_fusion_page
from .log import read_fusion_log as read_fusion_log
from .priority_fusion import read_fusion_process as read_fusion_process
from .priority_fusion import with_estimates as with_estimates
from .reasons import plain as plain
from .snapshots import ReadPasses as ReadPasses
from .snapshots import Snapshot as Snapshot
from .snapshots import list_snapshots as list_snapshots
from .snapshots import read_passes as read_passes
