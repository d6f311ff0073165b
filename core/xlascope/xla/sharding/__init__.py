"""How arrays lie over devices: meshes, shardings, partitions."""
