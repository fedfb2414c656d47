"""The model repository on disk: which models it can serve, and each one's configuration as Triton shall load it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from orchestrator.errors import ConfigurationError, ModelNotFoundError
from orchestrator.inference.manifest import MANIFEST_FILE

__all__ = ["CONFIG_FILE", "fingerprint_parameter", "renewed_config", "servable_models", "served_config", "versions_of"]

CONFIG_FILE = "config.pbtxt"
RENEWAL = "renewal"


def fingerprint_parameter(version: str) -> str:
    """The name of the config parameter that tells a version's fingerprint."""
    return f"fingerprint.{version}"


def versions_of(repository: Path, model: str) -> tuple[str, ...]:
    """The versions that hold at least one file, oldest first."""
    folder = repository / model
    if not folder.is_dir():
        return ()
    found = [path.name for path in folder.iterdir() if path.is_dir() and path.name.isdigit() and any(path.iterdir())]
    return tuple(sorted(found, key=int))


def servable_models(repository: Path) -> tuple[str, ...]:
    """The models that have both a configuration and a built version.

    Raises:
        ConfigurationError: the repository is not there.
    """
    if not repository.is_dir():
        raise ConfigurationError(
            f"The model repository {repository.absolute()} does not exist.", hint="Check paths.model_repository."
        )
    folders = sorted(path.name for path in repository.iterdir() if (path / CONFIG_FILE).is_file())
    return tuple(name for name in folders if versions_of(repository, name))


def served_config(repository: Path, model: str) -> dict[str, Any]:
    """The model's committed ``config.pbtxt`` and, as parameters, the fingerprint of every version that has one.

    Returns:
        The mapping that Triton's load call takes as its ``config`` override.

    Raises:
        ModelNotFoundError: the model or its configuration is not there.
        ConfigurationError: the configuration does not parse, or names another model; says where.
    """
    path = repository / model / CONFIG_FILE
    config = model_config_pb2.ModelConfig()
    try:
        text_format.Parse(path.read_text("utf-8"), config)
    except OSError as error:
        raise ModelNotFoundError(
            f"Model '{model}': {path} cannot be read ({error.strerror}).", hint="Check paths.model_repository."
        ) from None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not a valid model configuration: {error}.") from None
    if config.name and config.name != model:
        raise ConfigurationError(f"{path} names the model '{config.name}', but its folder is '{model}'.")
    config.name = model
    for version in versions_of(repository, model):
        fingerprint = _fingerprint(repository / model / version / MANIFEST_FILE)
        if fingerprint:
            config.parameters[fingerprint_parameter(version)].string_value = fingerprint
    override: dict[str, Any] = json_format.MessageToDict(config, preserving_proto_field_name=True)
    return override


def renewed_config(repository: Path, model: str) -> dict[str, Any]:
    """`served_config` with a parameter that no load had before.

    Triton loads a model that counts as ready only if its configuration differs; then the new instances start beside
    the old ones, and those of them that still live go on answering until the new ones do.
    """
    config = served_config(repository, model)
    config.setdefault("parameters", {})[RENEWAL] = {"string_value": str(time.time_ns())}
    return config


def _fingerprint(path: Path) -> str:
    # Not every model has a manifest (a reasoner served as text needs none): then there is nothing to expose.
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return ""
    return str(manifest.get("fingerprint", "")) if isinstance(manifest, dict) else ""
