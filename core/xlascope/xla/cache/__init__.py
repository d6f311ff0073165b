"""Caches of compilations: the persistent cache on disk, and compilations that outlive an interrupted call."""
