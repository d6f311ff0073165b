"""Programs that several devices run, each on its part of the data: ``shard_map`` and ``pmap``."""
