"""A partition file: which model lives on which slice."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from deploy.devices import COMPUTE_SLICES, GPUS, MEMORY_SLICES, GpuName
from export.spec import AnySpec, GenerativeSpec, known_specs, load_spec
from orchestrator.errors import ConfigurationError, NotFoundError

__all__ = ["Images", "Partition", "Slice", "known_partitions", "load_partition", "parse_partition"]

SUFFIX = ".yaml"
# A name with a tag: without one, what runs is whatever is newest.
IMAGE = r"^$|^[^\s@]+:[A-Za-z0-9._-]+(@sha256:[0-9a-f]{64})?$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Images(_Part):
    """Whole image names, tags included: what is pinned is what runs."""

    triton: str = Field("", pattern=IMAGE, description="for onnxruntime models on a GPU")
    trtllm: str = Field("", pattern=IMAGE, description="for TensorRT-LLM's models")
    trias: str = Field(min_length=1, pattern=IMAGE, description="Trias itself, with its `local` extra")


class Slice(_Part):
    """One Triton: a process sees one device, so a slice, a whole GPU or the CPU."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")
    gpu: int | None = Field(None, ge=0, description="which of `gpus`; None: on the CPU")
    profile: str | None = Field(None, description="MIG profile; None: the whole GPU")
    models: tuple[str, ...] = Field(min_length=1, description="specs under export/specs")
    two_versions: bool = Field(
        True, description="room for a new version beside the live one, as publishing without a gap needs"
    )
    grpc_port: int = Field(ge=1, le=65535)
    cpus: float = Field(2, gt=0)
    memory_mb: int = Field(8192, ge=512, description="of the host, for the container")
    shm_mb: int = Field(256, ge=64, description="of /dev/shm, through which Python processes are fed")

    @property
    def specs(self) -> dict[str, AnySpec]:
        """The specs of its models, by spec name."""
        return {name: load_spec(name) for name in self.models}

    @property
    def needs_trtllm(self) -> bool:
        """Whether it serves a model of TensorRT-LLM's, whose image is another."""
        return any(isinstance(spec, GenerativeSpec) and spec.build is not None for spec in self.specs.values())


class Partition(_Part):
    """All slices of one machine."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    description: str = Field(min_length=1)
    gpus: tuple[GpuName, ...] = ()
    mig: bool = Field(False, description="the GPUs are in MIG mode, mixed strategy")
    images: Images
    # What NVIDIA's driver and libraries take for a process before any model: measured by others at 300–500 MB on
    # Ampere; cuBLAS and cuDNN workspaces come on top.
    context_mb: int = Field(768, ge=0, description="CUDA context and library workspaces of one Triton process")
    python_context_mb: int = Field(
        512, ge=0, description="a further CUDA context: TensorRT-LLM has a process of its own"
    )
    slices: tuple[Slice, ...] = Field(min_length=1)
    inference: dict[str, int | tuple[int, ...]] = Field(
        default_factory=dict, description="Trias's inference settings that a GPU wants otherwise"
    )

    @model_validator(mode="after")
    def _names_differ(self) -> Partition:
        for what, values in {
            "slice": [part.name for part in self.slices],
            "gRPC port": [str(part.grpc_port) for part in self.slices],
            "served model": [spec.model for part in self.slices for spec in part.specs.values()],
        }.items():
            twice = sorted(value for value, count in Counter(values).items() if count > 1)
            if twice:
                raise ValueError(f"{what} {', '.join(twice)} is there twice")
        return self

    @model_validator(mode="after")
    def _slices_exist(self) -> Partition:
        for part in self.slices:
            if part.gpu is None:
                if part.profile is not None or any(name.startswith("gpu/") for name in part.models):
                    raise ValueError(f"slice {part.name} is on the CPU, but asks for a profile or for models of a GPU")
                continue
            if part.gpu >= len(self.gpus):
                raise ValueError(f"slice {part.name} is on GPU {part.gpu}, but there are {len(self.gpus)}")
            profiles = GPUS[self.gpus[part.gpu]].profiles
            if self.mig and part.profile is None:
                raise ValueError(f"slice {part.name} needs a profile: in MIG mode a whole GPU cannot be used")
            if part.profile is not None and not (self.mig and part.profile in profiles):
                known = ", ".join(profiles) or "none: it has no MIG"
                raise ValueError(f"slice {part.name}: {self.gpus[part.gpu]} has no profile {part.profile} ({known})")
            image = "trtllm" if part.needs_trtllm else "triton"
            if not getattr(self.images, image):
                raise ValueError(f"slice {part.name} needs images.{image}, which is empty")
            if part.needs_trtllm and len(part.models) > 1:
                # The engine takes a share of all that is free: what else lives there would be squeezed, or squeeze.
                raise ValueError(f"slice {part.name}: a model of TensorRT-LLM's shares its slice with no other")
        return self

    @model_validator(mode="after")
    def _gpus_hold_their_slices(self) -> Partition:
        for place, name in enumerate(self.gpus):
            here = [part for part in self.slices if part.gpu == place]
            if not self.mig:
                if len(here) > 1:
                    raise ValueError(f"GPU {place} has no MIG slices, and {len(here)} slices want it")
                continue
            profiles = [GPUS[name].profiles[part.profile] for part in here if part.profile is not None]
            compute, memory = sum(item.compute for item in profiles), sum(item.memory for item in profiles)
            if compute > COMPUTE_SLICES or memory > MEMORY_SLICES:
                raise ValueError(
                    f"the slices of GPU {place} take {compute} of {COMPUTE_SLICES} compute and {memory} of "
                    f"{MEMORY_SLICES} memory slices"
                )
        return self


def known_partitions() -> tuple[str, ...]:
    """The names of the partitions that Trias comes with."""
    folder = resources.files("deploy") / "partitions"
    return tuple(sorted(entry.name[: -len(SUFFIX)] for entry in folder.iterdir() if entry.name.endswith(SUFFIX)))


def load_partition(name: str) -> Partition:
    """A partition that Trias comes with, by name, or one of the caller's, by path.

    Raises:
        NotFoundError: there is none.
        ConfigurationError: it is malformed; names each field.
    """
    path = Path(name)
    if path.suffix == SUFFIX and path.is_file():
        return parse_partition(path.read_text(encoding="utf-8"), name=name)
    if name not in known_partitions():
        raise NotFoundError(
            f"There is no partition {name!r}.", hint=f"Known: {', '.join(known_partitions())}; or name a .yaml file."
        )
    text = (resources.files("deploy") / "partitions" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return parse_partition(text, name=f"deploy/partitions/{name}{SUFFIX}")


def parse_partition(text: str, *, name: str) -> Partition:
    """A partition from YAML text; ``name`` is how errors call it.

    Raises:
        ConfigurationError: it is no valid partition; names each field.
    """
    try:
        tree = yaml.safe_load(text)
        for part in (tree.get("slices") or ()) if isinstance(tree, dict) else ():
            for model in (part.get("models") or ()) if isinstance(part, dict) else ():
                if model not in known_specs():
                    raise ConfigurationError(f"The partition {name} names the model spec {model!r}, which is unknown.")
        return Partition.model_validate(tree)
    except ValidationError as error:
        lines = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'as a whole'}: {item['msg']}" for item in error.errors()
        )
        raise ConfigurationError(f"The partition {name} is not valid: {lines}.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"The partition {name} is not YAML: {error}.") from None
