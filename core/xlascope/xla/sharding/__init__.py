"""Shardings of arrays over devices: meshes, shardings, partitions."""
