"""How a slice's Triton is started: image, command line, environment, ports; the same for Compose and Kubernetes."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.partition import Partition, Slice

__all__ = ["GRPC_PORT", "HTTP_PORT", "METRICS_PORT", "REPOSITORY", "Container", "container_of", "service_name"]

# Inside a container; every slice has a container, so an address, of its own.
GRPC_PORT, HTTP_PORT, METRICS_PORT = 8001, 8000, 8002
REPOSITORY = "/models"
EXIT_TIMEOUT_S = 30
CPU_BACKENDS = "/var/lib/trias"


@dataclass(frozen=True, slots=True)
class Container:
    """What runs for one slice."""

    image: str
    command: tuple[str, ...]
    environment: dict[str, str]
    live_path: str = "/v2/health/live"


def service_name(part: Slice) -> str:
    """The name under which other containers reach the slice."""
    return f"triton-{part.name}"


def container_of(partition: Partition, part: Slice, *, device_variable: str = "") -> Container:
    """The container of a slice.

    Args:
        partition: the slice's.
        part: the slice.
        device_variable: what stands for the device's UUID, in MIG mode; empty where something else gives the device.
    """
    if part.gpu is None:
        return Container(partition.images.trias, _cpu_command(), {"TRIAS_PATHS__MODEL_REPOSITORY": REPOSITORY})
    image = partition.images.trtllm if part.needs_trtllm else partition.images.triton
    # A CUDA process sees one MIG instance, and it is told which.
    environment = {"CUDA_VISIBLE_DEVICES": device_variable} if partition.mig and device_variable else {}
    return Container(image, _gpu_command(partition, part), environment)


def _gpu_command(partition: Partition, part: Slice) -> tuple[str, ...]:
    command = [
        "tritonserver",
        f"--model-repository={REPOSITORY}",
        # `trias deploy watch` loads the models, each with its live version and fingerprints; nothing loads by itself.
        "--model-control-mode=explicit",
        "--strict-readiness=false",
        f"--exit-timeout-secs={EXIT_TIMEOUT_S}",
        f"--grpc-port={GRPC_PORT}",
        f"--http-port={HTTP_PORT}",
        f"--metrics-port={METRICS_PORT}",
    ]
    if not part.needs_trtllm:
        # llmapi's model.py completes its own configuration, so there it must stay on.
        command.append("--disable-auto-complete-config")
    if partition.mig:
        # DCGM has no figures of a MIG instance, and fails to give them.
        command.append("--allow-gpu-metrics=false")
    return tuple(command)


def _cpu_command() -> tuple[str, ...]:
    return (
        *("trias", "--set", f"paths.data={CPU_BACKENDS}", "--set", "launcher.host=0.0.0.0"),
        *("--set", f"launcher.grpc_port={GRPC_PORT}", "--set", f"launcher.http_port={HTTP_PORT}"),
        *("--set", f"launcher.metrics_port={METRICS_PORT}", "triton", "start"),
    )
