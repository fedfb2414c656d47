"""The values of a partition for the chart in ``deploy/helm/trias-triton``."""

from __future__ import annotations

from typing import Any

import yaml

from deploy.partition import Partition, Slice
from deploy.triton import EXIT_TIMEOUT_S, GRPC_PORT, HTTP_PORT, METRICS_PORT, REPOSITORY, container_of, service_name

__all__ = ["helm_values"]

HEADER = """\
# Rendered by `trias deploy render {name}`; change the partition file, not this one.
# {description}. Nodes run NVIDIA's device plugin{strategy}.
"""


def helm_values(partition: Partition) -> str:
    """The text of ``values.yaml``."""
    tree: dict[str, Any] = {
        "ports": {"grpc": GRPC_PORT, "http": HTTP_PORT, "metrics": METRICS_PORT},
        "repository": {"mountPath": REPOSITORY, "claimName": "trias-models"},
        "terminationGracePeriodSeconds": EXIT_TIMEOUT_S + 10,
        "slices": [_slice(partition, part) for part in partition.slices],
    }
    if any(part.gpu is not None for part in partition.slices):
        tree["watch"] = {"image": partition.images.trias}
    strategy = " with the mixed MIG strategy" if partition.mig else ""
    header = HEADER.format(name=partition.name, description=partition.description, strategy=strategy)
    return header + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120)


def _slice(partition: Partition, part: Slice) -> dict[str, Any]:
    container = container_of(partition, part)
    limits: dict[str, Any] = {"cpu": f"{part.cpus:g}", "memory": f"{part.memory_mb}Mi"}
    if part.gpu is not None:
        # One device, of one kind, a container: the plugin gives it, so no UUID is named here.
        limits[f"nvidia.com/mig-{part.profile}" if part.profile else "nvidia.com/gpu"] = 1
    return {
        "name": service_name(part),
        "image": container.image,
        "command": list(container.command),
        "environment": dict(container.environment),
        "livePath": container.live_path,
        "sharedMemory": f"{part.shm_mb}Mi",
        "models": sorted(spec.model for spec in part.specs.values()),
        "resources": {"limits": limits},
    }
