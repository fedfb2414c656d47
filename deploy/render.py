"""Writes everything that follows from a partition into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deploy.budget import Budget, check_budgets
from deploy.compose_file import compose_file, device_variable
from deploy.helm_values import helm_values
from deploy.partition import Partition
from deploy.triton import GRPC_PORT, REPOSITORY, service_name
from export.config import CONFIG, render_config
from orchestrator.errors import ConfigurationError

__all__ = ["endpoint_map", "files_of", "render"]

HEADER = "# Rendered by `trias deploy render {name}`; change the partition file, not this one.\n"


def endpoint_map(partition: Partition, *, inside: bool) -> dict[str, str]:
    """Model → gRPC address: inside the containers' network, or from the machine that runs them."""
    return {
        spec.model: f"{service_name(part)}:{GRPC_PORT}" if inside else f"127.0.0.1:{part.grpc_port}"
        for part in partition.slices
        for spec in part.specs.values()
    }


def render(partition: Partition, folder: Path) -> tuple[Path, ...]:
    """Write the files into ``folder``; what else lies there is left alone.

    Raises:
        ConfigurationError: a slice's memory does not suffice, with the figures; nothing is written.
    """
    files = files_of(partition)
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}.", hint="Check --out.") from None
    return tuple(folder / name for name in files)


def files_of(partition: Partition) -> Mapping[str, str]:
    """Name → text of every file of the partition.

    Raises:
        ConfigurationError: a slice's memory does not suffice, with the figures.
    """
    budgets = check_budgets(partition)
    header = HEADER.format(name=partition.name)
    files = {
        "compose.yaml": compose_file(partition),
        "values.yaml": helm_values(partition),
        "trias.yaml": header + _settings(partition, inside=True),
        "trias.host.yaml": header + _settings(partition, inside=False),
        "budget.md": _budget_page(partition, budgets),
    }
    if budgets:
        files[".env.example"] = "".join(
            f"{device_variable(part)}={'MIG-' if part.profile else 'GPU-'}<uuid>\n"
            for part in partition.slices
            if part.gpu is not None
        )
    for part in partition.slices:
        for name, spec in part.specs.items():
            files[f"models/{spec.model}/{CONFIG}"] = render_config(spec, source=name)
    return files


def _settings(partition: Partition, *, inside: bool) -> str:
    inference: dict[str, Any] = {"endpoints": endpoint_map(partition, inside=inside)}
    inference |= {
        name: list(value) if isinstance(value, tuple) else value for name, value in partition.inference.items()
    }
    tree: dict[str, Any] = {"inference": inference}
    if inside:
        tree = {"paths": {"model_repository": REPOSITORY}, **tree}
    return yaml.safe_dump(tree, sort_keys=False, width=120)


def _budget_page(partition: Partition, budgets: tuple[Budget, ...]) -> str:
    text = f"# Memory of the partition {partition.name}\n\n{partition.description}. MiB, reckoned, not measured.\n"
    if not budgets:
        return text + "\nNo slice is on a GPU.\n"
    for budget in budgets:
        text += f"\n## {budget.slice}: {budget.device}\n\n| item | reckoned as | MiB |\n|---|---|---|\n"
        text += "".join(f"| {line.item} | {line.arithmetic} | {line.mb} |\n" for line in budget.lines)
        text += f"| **needed** | of {budget.memory_mb} | **{budget.needed_mb}** |\n"
        if budget.details:
            text += "\nWithin these:\n\n| item | reckoned as | MiB |\n|---|---|---|\n"
            text += "".join(f"| {line.item} | {line.arithmetic} | {line.mb} |\n" for line in budget.details)
    return text
