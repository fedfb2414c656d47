from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.budget import check_budgets, reckon
from deploy.devices import COMPUTE_SLICES, GPUS, MEMORY_SLICES
from deploy.partition import Partition, known_partitions, load_partition, parse_partition
from export.spec import AnySpec, EncoderSpec, GenerativeSpec, load_spec
from orchestrator.errors import ConfigurationError, NotFoundError

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "partitions"


def tree_of(name: str) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return tree


def parsed(tree: Any) -> Partition:
    return parse_partition(yaml.safe_dump(tree), name="mine.yaml")


def with_spec(monkeypatch: pytest.MonkeyPatch, name: str, changed: AnySpec) -> None:
    monkeypatch.setattr("deploy.partition.load_spec", lambda wanted: changed if wanted == name else load_spec(wanted))


@pytest.mark.parametrize("name", known_partitions())
def test_each_partition_is_named_after_its_file_and_fits(name: str) -> None:
    partition = load_partition(name)
    assert partition.name == name
    for budget in check_budgets(partition):
        assert not budget.problems
        assert 0 < budget.needed_mb <= budget.memory_mb
        assert budget.needed_mb == sum(line.mb for line in budget.lines)


def test_one_of_the_callers_own_is_taken_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(tree_of("a10x2") | {"name": "mine"}), encoding="utf-8")
    assert load_partition(str(path)).name == "mine"
    with pytest.raises(NotFoundError, match="a100-40, a100-80, a10x2, cpu"):
        load_partition("a100")


def change(tree: dict[str, Any], **slices: dict[str, Any]) -> dict[str, Any]:
    return tree | {"slices": [part | slices.get(part["name"], {}) for part in tree["slices"]]}


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (change(tree_of("a10x2"), encode={"profile": "1g.10gb"}), "a10 has no profile 1g.10gb.*it has no MIG"),
        (tree_of("a10x2") | {"gpus": ["a10"]}, "slice reason is on GPU 1, but there are 1"),
        (change(tree_of("a10x2"), reason={"gpu": 0}), "GPU 0 has no MIG slices, and 2 slices want it"),
        (change(tree_of("a100-80"), embed={"profile": None}), "needs a profile"),
        (change(tree_of("a100-80"), embed={"profile": "1g.5gb"}), "a100-80 has no profile 1g.5gb"),
        (change(tree_of("a100-80"), embed={"profile": "3g.40gb"}), "take 9 of 7 compute and 10 of 8 memory"),
        (change(tree_of("a100-80"), embed={"grpc_port": 8102}), "gRPC port 8102 is there twice"),
        (change(tree_of("a100-80"), rerank={"name": "embed"}), "slice embed is there twice"),
        (change(tree_of("a100-80"), rerank={"models": ["embedder"]}), "served model embedder is there twice"),
        (
            change(tree_of("a100-80"), reason={"models": ["gpu/gemma-3", "reranker"]}),
            "there twice|no other",
        ),
        (change(tree_of("a100-80"), rerank={"models": ["gpu/bge"]}), "model spec 'gpu/bge', which is unknown"),
        (change(tree_of("cpu"), all={"models": ["gpu/bge-m3"]}), "is on the CPU, but asks for"),
        (tree_of("cpu") | {"images": {"trias": "trias"}}, r"images\.trias"),
        (tree_of("a10x2") | {"images": {"trias": "trias:1"}}, "needs images.triton, which is empty"),
        (tree_of("cpu") | {"slices": []}, "slices"),
        (tree_of("cpu") | {"sauce": 1}, "sauce"),
        ([], "mine.yaml is not valid"),
        ({"slices": [3]}, "mine.yaml is not valid"),
    ],
)
def test_what_cannot_be_is_refused_and_named(tree: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parsed(tree)


def test_what_is_no_yaml_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"mine\.yaml is not YAML"):
        parse_partition("{", name="mine.yaml")


def test_a_slice_of_tensorrt_llm_is_shared_with_no_other_model() -> None:
    tree = change(tree_of("a10x2"), reason={"models": ["gpu/gemma-3", "gpu/phi-3-mini"]})
    with pytest.raises(ConfigurationError, match="shares its slice with no other"):
        parsed(tree)


def test_profiles_are_shares_of_their_gpu() -> None:
    for gpu in GPUS.values():
        for profile in gpu.profiles.values():
            assert profile.compute <= COMPUTE_SLICES
            assert profile.memory <= MEMORY_SLICES
            # No more than its share, and most of it: the rest is the driver's.
            share = gpu.memory_mb * profile.memory / MEMORY_SLICES
            assert 0.93 * share < profile.memory_mb <= share * 1.01


def test_the_arithmetic_is_that_of_the_architectures() -> None:
    """Against what is published: 568 M and 118 M parameters, 1.0 B, 3.8 B; two bytes each."""
    lines = {
        line.item: line.mb for budget in reckon(load_partition("a100-80")) for line in (*budget.lines, *budget.details)
    }
    mib = 1024 * 1024
    assert lines["gpu/bge-m3: weights"] == pytest.approx(568e6 * 2 / mib, rel=0.01)
    assert lines["gpu/router: weights"] == pytest.approx(118e6 * 2 / mib, rel=0.01)
    assert lines["gpu/gemma-3: weights"] == pytest.approx(1.0e9 * 2 / mib, rel=0.01)
    assert lines["gpu/phi-3-mini: weights"] == pytest.approx(3.82e9 * 2 / mib, rel=0.01)
    # Phi-3-mini keeps 393,216 bytes a token: 2 × 32 layers × 32 heads × 96 × 2.
    assert lines["gpu/phi-3-mini: KV cache of 8 sequences"] == 8 * 2048 * 393_216 // mib
    # Gemma 3: of 26 layers 22 keep 512 tokens, 4 all 2,176; 1,024 bytes each.
    assert lines["gpu/gemma-3: KV cache of 16 sequences"] == 16 * (22 * 512 + 4 * 2176) * 1024 // mib


def test_a_model_that_does_not_fit_is_refused_with_the_figures() -> None:
    tree = change(tree_of("a100-40"), reason={"models": ["gpu/phi-3-mini"], "profile": "2g.10gb"})
    with pytest.raises(ConfigurationError, match=r"slice reason: .*phi-3-mini.* MiB for its KV cache .* need 6144 MiB"):
        check_budgets(parsed(tree))
    tree = change(tree_of("a100-40"), embed={"profile": "1g.10gb"})
    with pytest.raises(ConfigurationError, match=r"slice embed: 14080 MiB are needed .* 9984 .* 4096 too few"):
        check_budgets(parsed(tree))


def test_room_for_a_new_version_beside_the_live_one_counts() -> None:
    def needed(two: bool) -> int:
        budgets = reckon(parsed(change(tree_of("a100-80"), embed={"two_versions": two})))
        return next(item.needed_mb for item in budgets if item.slice == "embed")

    assert needed(True) - needed(False) == 3 * (2560 + 768)
    both = parsed(change(tree_of("a100-80"), route={"two_versions": True}))
    with pytest.raises(ConfigurationError, match=r"phi-3-mini \(copy 2\) has 0 MiB"):
        check_budgets(both)


def test_a_batch_that_its_cap_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec("gpu/bge-m3")
    assert isinstance(spec, EncoderSpec)
    large = spec.model_copy(update={"serving": spec.serving.model_copy(update={"max_batch_size": 64})})
    with_spec(monkeypatch, "gpu/bge-m3", large)
    with pytest.raises(ConfigurationError, match=r"1081 MiB of weights and 5248 MiB for its largest batch.* is 2560"):
        check_budgets(load_partition("a100-80"))


def test_a_model_that_nothing_caps_or_whose_size_is_unknown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"embedder has no `gpu` part.*Add gpu\.memory_mb"):
        check_budgets(parsed(change(tree_of("a10x2"), encode={"models": ["embedder"]})))
    spec = load_spec("gpu/gemma-3")
    assert isinstance(spec, GenerativeSpec)
    with_spec(monkeypatch, "gpu/gemma-3", spec.model_copy(update={"sizes": None}))
    with pytest.raises(ConfigurationError, match="gemma-3 tells no sizes"):
        check_budgets(load_partition("a10x2"))
