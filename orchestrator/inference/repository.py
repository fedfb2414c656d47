"""The model repository on disk: which models it can serve, and each one's configuration as Triton shall load it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tritonclient.grpc import model_config_pb2

from orchestrator.errors import ConfigurationError, ModelNotFoundError
from orchestrator.inference.manifest import MANIFEST_FILE

__all__ = [
    "CONFIG_FILE",
    "LIVE_FILE",
    "LIVE_PARAMETER",
    "LivePointer",
    "fingerprint_parameter",
    "live_version",
    "parameter_of",
    "read_live_pointer",
    "renewed_config",
    "servable_models",
    "served_config",
    "versions_of",
]

log = logging.getLogger(__name__)

CONFIG_FILE = "config.pbtxt"
LIVE_FILE = "live.json"
# The config parameter that tells callers which of the loaded versions to call.
LIVE_PARAMETER = "live"
RENEWAL = "renewal"


class LivePointer(BaseModel):
    """What serving needs of ``<model>/live.json``, which `trias publish` writes.

    Attributes:
        live: the version that callers are to use.
        candidate: one that is served beside it to whoever asks for its fingerprint; empty where there is none.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    live: str = Field(pattern=r"^[1-9][0-9]*$")
    candidate: str = Field("", pattern=r"^([1-9][0-9]*)?$")


def read_live_pointer(repository: Path, model: str) -> LivePointer | None:
    """The pointer of a model; None where nothing was ever published, and its newest version is live.

    Raises:
        ConfigurationError: the file is there but says nothing that can be relied on.
    """
    path = repository / model / LIVE_FILE
    try:
        return LivePointer.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else _fields(error)
        raise ConfigurationError(
            f"{path} does not tell which version is live: {reason}.",
            hint=f"`trias rollback {model} --to N` writes it anew; `trias models list` shows the versions.",
        ) from None


def live_version(repository: Path, model: str) -> str:
    """The version that callers are to use; empty for a model without any.

    Raises:
        ConfigurationError: ``live.json`` is damaged, or the version that it names is not there.
    """
    versions = versions_of(repository, model)
    pointer = read_live_pointer(repository, model)
    if pointer is None:
        return versions[-1] if versions else ""
    if pointer.live not in versions:
        raise ConfigurationError(
            f"{repository / model / LIVE_FILE} names version {pointer.live}, which is not there.",
            hint=f"`trias rollback {model} --to N` makes another one live; there are: {', '.join(versions) or 'none'}.",
        )
    return pointer.live


def fingerprint_parameter(version: str) -> str:
    """The name of the config parameter that tells a version's fingerprint."""
    return f"fingerprint.{version}"


def parameter_of(config: Any, name: str) -> str:
    """The value of a parameter of an ``inference.ModelConfig``; empty where it has none of that name."""
    return str(config.parameters[name].string_value) if name in config.parameters else ""


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


def served_config(
    repository: Path, model: str, *, beside: Sequence[str] = (), live: str | None = None
) -> dict[str, Any]:
    """The model's committed ``config.pbtxt``, told which versions to serve and, as parameters, what they are.

    Served are the live version, the candidate of ``live.json`` and those ``beside``; the parameter ``live`` names the
    first, and ``fingerprint.<version>`` tells each one's fingerprint.

    Args:
        repository: the model repository.
        model: its name.
        beside: more versions to serve.
        live: another version than `live_version` gives.

    Returns:
        The mapping that Triton's load call takes as its ``config`` override.

    Raises:
        ModelNotFoundError: the model or its configuration is not there.
        ConfigurationError: the configuration or ``live.json`` is not valid, or names something else; says where.
    """
    config = _committed_config(repository, model)
    chosen = live_version(repository, model) if live is None else live
    if chosen:
        served = sorted({chosen, *_candidate(repository, model), *beside}, key=int)
        config.version_policy.specific.versions[:] = map(int, served)
        config.parameters[LIVE_PARAMETER].string_value = chosen
        for version in served:
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


def _committed_config(repository: Path, model: str) -> Any:
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
    return config


def _candidate(repository: Path, model: str) -> tuple[str, ...]:
    pointer = read_live_pointer(repository, model)
    if pointer is None or not pointer.candidate:
        return ()
    if pointer.candidate not in versions_of(repository, model):
        # Nobody meets it unless they ask for it: no reason to keep the live version from being served.
        log.warning("model %s: the candidate, version %s, is not there and not served", model, pointer.candidate)
        return ()
    return (pointer.candidate,)


def _fields(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors())


def _fingerprint(path: Path) -> str:
    # Not every model has a manifest (a reasoner served as text needs none): then there is nothing to expose.
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return ""
    return str(manifest.get("fingerprint", "")) if isinstance(manifest, dict) else ""
