"""Sharding of arrays over devices: meshes, specs and shardings."""

from abc import ABC

from .api.explicit_sharding import auto_axes, explicit_axes, reshard
from .names import explain_missing as _explain_missing
from .xla.sharding.meshes import (
    AbstractMesh,
    AxisType,
    Mesh,
    PartitionSpec,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_mesh,
)
from .xla.sharding.named_shardings import MultiDeviceSharding, NamedSharding
from .xla.sharding.single_device import SingleDeviceSharding

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "reshard",
    "set_mesh",
    "use_mesh",
]


class Sharding(ABC):  # noqa: B024  (abstract base of registered classes)
    """Base class of ``x.sharding``, on one device or on several. For ``isinstance``."""


Sharding.register(SingleDeviceSharding)
Sharding.register(MultiDeviceSharding)
_explain_missing(__name__)
