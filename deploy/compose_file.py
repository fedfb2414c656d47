"""The Compose file of a partition: one Triton a slice, and one container that loads and watches their models."""

from __future__ import annotations

from typing import Any

import yaml

from deploy.partition import Partition, Slice
from deploy.triton import EXIT_TIMEOUT_S, GRPC_PORT, HTTP_PORT, METRICS_PORT, REPOSITORY, container_of, service_name
from export.config import ENGINE_CACHE

__all__ = ["compose_file", "device_variable"]

# Longer than Triton gives its requests, or Docker kills what is finishing.
GRACE_S = EXIT_TIMEOUT_S + 10
SETTINGS = "/etc/trias/trias.yaml"
HEADER = """\
# Rendered by `trias deploy render {name}`; change the partition file, not this one.
# {description}.
# MODELS is the model repository; GPU devices are named by UUID (nvidia-smi -L), in .env or the environment.
"""


def device_variable(part: Slice) -> str:
    """The environment variable that holds the UUID of a slice's device."""
    return f"TRIAS_DEVICE_{part.name.upper().replace('-', '_')}"


def compose_file(partition: Partition) -> str:
    """The text of ``compose.yaml``."""
    services: dict[str, Any] = {service_name(part): _triton(partition, part) for part in partition.slices}
    remote = [service_name(part) for part in partition.slices if part.gpu is not None]
    if remote:
        services["watch"] = _watch(partition, remote)
    tree: dict[str, Any] = {"name": f"trias-{partition.name}", "services": services}
    if any(part.gpu is not None for part in partition.slices):
        tree["volumes"] = {"tensorrt-cache": {}}
    header = HEADER.format(name=partition.name, description=partition.description)
    return header + yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120)


def _triton(partition: Partition, part: Slice) -> dict[str, Any]:
    wanted = f"${{{device_variable(part)}:?the UUID of the {part.profile or 'GPU'} of slice {part.name}}}"
    container = container_of(partition, part, device_variable=wanted)
    resources: dict[str, Any] = {"limits": {"cpus": f"{part.cpus:g}", "memory": f"{part.memory_mb}M"}}
    mounts = [f"${{MODELS:?the model repository}}:{REPOSITORY}:ro"]
    if part.gpu is not None:
        # A device each: MIG instances are named by UUID, and so are whole GPUs, whose numbers change with the driver.
        device = {"driver": "nvidia", "device_ids": [wanted], "capabilities": ["gpu"]}
        resources["reservations"] = {"devices": [device]}
        mounts.append(f"tensorrt-cache:{ENGINE_CACHE}")
    service: dict[str, Any] = {"image": container.image, "command": list(container.command)}
    if container.environment:
        service["environment"] = container.environment
    probe = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{HTTP_PORT}{container.live_path}', timeout=5)"
    return service | {
        "volumes": mounts,
        "ports": [f"127.0.0.1:{part.grpc_port}:{GRPC_PORT}"],
        "expose": [str(METRICS_PORT)],
        "shm_size": f"{part.shm_mb}m",
        "ulimits": {"memlock": -1},
        "deploy": {"resources": resources},
        "healthcheck": {
            "test": ["CMD", "python3", "-c", probe],
            "interval": "10s",
            "timeout": "10s",
            "retries": 6,
            "start_period": "60s",
        },
        "stop_grace_period": f"{GRACE_S}s",
        "restart": "unless-stopped",
    }


def _watch(partition: Partition, services: list[str]) -> dict[str, Any]:
    return {
        "image": partition.images.trias,
        "command": ["trias", "--config", SETTINGS, "deploy", "watch"],
        "volumes": [f"${{MODELS:?the model repository}}:{REPOSITORY}:ro", f"./trias.yaml:{SETTINGS}:ro"],
        "depends_on": {name: {"condition": "service_healthy"} for name in services},
        "restart": "unless-stopped",
    }
