"""The GPUs that partitions are written for: what memory they have, and into which MIG slices they can be cut.

Memory is what `nvidia-smi mig -lgip` and `nvidia-smi` list as usable, in MiB, the lower figure where drivers differ. A
MIG profile takes compute slices (7 a GPU) and memory slices (8 a GPU), see NVIDIA's MIG user guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["COMPUTE_SLICES", "GPUS", "MEMORY_SLICES", "Gpu", "GpuName", "Profile"]

GpuName = Literal["a100-80", "a100-40", "a10"]
COMPUTE_SLICES, MEMORY_SLICES = 7, 8
MIB_IN_GIB = 1024


@dataclass(frozen=True, slots=True)
class Profile:
    """A MIG profile: its share of the GPU's slices, and its usable memory in MiB."""

    compute: int
    memory: int
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """A kind of GPU; without profiles it has no MIG."""

    product: str
    memory_mb: int
    profiles: dict[str, Profile]


def _mb(gib: float) -> int:
    return int(gib * MIB_IN_GIB)


GPUS: dict[GpuName, Gpu] = {
    "a100-80": Gpu(
        "NVIDIA A100 80GB",
        _mb(79.15),
        {
            "1g.10gb": Profile(1, 1, _mb(9.5)),
            "1g.20gb": Profile(1, 2, _mb(19.5)),
            "2g.20gb": Profile(2, 2, _mb(19.5)),
            "3g.40gb": Profile(3, 4, _mb(39.25)),
            "4g.40gb": Profile(4, 4, _mb(39.25)),
            "7g.80gb": Profile(7, 8, _mb(79.0)),
        },
    ),
    "a100-40": Gpu(
        "NVIDIA A100 40GB",
        _mb(39.5),
        {
            "1g.5gb": Profile(1, 1, _mb(4.75)),
            "1g.10gb": Profile(1, 2, _mb(9.75)),
            "2g.10gb": Profile(2, 2, _mb(9.75)),
            "3g.20gb": Profile(3, 4, _mb(19.62)),
            "4g.20gb": Profile(4, 4, _mb(19.62)),
            "7g.40gb": Profile(7, 8, _mb(39.38)),
        },
    ),
    # With ECC on, which is how the card comes.
    "a10": Gpu("NVIDIA A10", 22731, {}),
}
