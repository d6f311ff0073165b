"""Programs that each of several devices runs on its shard of the data: ``shard_map`` and ``pmap``."""
