"""Readers of XLA's fusion dumps in every format, of its fusion log, and of HLO snapshots after each pass.

The files are untrusted: damaged, truncated, huge or hostile ones raise a FormatError or give a partial result
that is marked as such. Of a dump only the labels are read. Its pictures are never parsed, and nothing in it
is ever executed.
"""

from .dump import Dump as Dump
from .frames import read_fusion_archive as read_fusion_archive
from .frames import read_fusion_page as read_fusion_page
from .fusion_dump import read_fusion_dump as read_fusion_dump
from .fusion_log import read_fusion_log as read_fusion_log
from .priority_fusion import read_fusion_process as read_fusion_process
from .priority_fusion import with_estimates as with_estimates
from .reasons import explain_reason as explain_reason
from .snapshots import ReadPasses as ReadPasses
from .snapshots import Snapshot as Snapshot
from .snapshots import list_snapshots as list_snapshots
from .snapshots import read_passes as read_passes
