"""A model that writes text is judged and timed in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.canary import CanaryLimits, Version
from export.serving import Counts, Tensors
from export.text_canary import TextReport, TextRequest, run_text_canary
from orchestrator.errors import GateError, ModelError

LIMITS = CanaryLimits(p95_ratio=1000)


class FakeServing:
    """Writes in this process: a function a version."""

    address = "here"
    private = True

    def __init__(self, writers: Mapping[str, Callable[[str], str]]) -> None:
        self.writers = writers

    async def load(self, beside: Sequence[str] = ()) -> None:
        raise NotImplementedError

    async def unload(self) -> None:
        raise NotImplementedError

    async def ready(self) -> tuple[str, ...]:
        raise NotImplementedError

    async def counts(self, version: str) -> Counts:
        raise NotImplementedError

    async def infer(self, version: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        text = np.empty(1, dtype=np.object_)
        text[0] = self.writers[version](inputs["text_input"][0].decode()).encode()
        return {"text_output": text}


def requests(*prompts: str) -> list[TextRequest]:
    found = []
    for prompt in prompts:
        tensor = np.empty(1, dtype=np.object_)
        tensor[0] = prompt.encode()

        def judge(text: str, prompt: str = prompt) -> dict[str, bool]:
            return {"right": text == prompt, "short": len(text) < 3}

        found.append(TextRequest({"text_input": tensor}, judge))
    return found


async def run(new: Callable[[str], str], old: Callable[[str], str] | None = None) -> TextReport:
    writers: dict[str, Any] = {"2": new} | ({"1": old} if old else {})
    live = Version("1", Path()) if old else None
    asked = requests("甲", "乙", "丙丙丙", "丁")
    return await run_text_canary(FakeServing(writers), Version("2", Path()), live, asked, real=False, limits=LIMITS)


async def test_both_versions_are_judged() -> None:
    report = await run(lambda prompt: prompt, lambda prompt: prompt[:1])
    assert report.quality == {"right": 1, "short": 0.75}
    assert report.live_quality == {"right": 0.75, "short": 1}
    assert report.canary.agreement == {"distinct": 1, "equal_texts": 0.75}
    assert report.canary.live_p95_ms is not None
    alone = await run(lambda prompt: prompt)
    assert alone.live_quality is None
    assert alone.canary.live_p95_ms is None


async def test_one_text_for_all_prompts_is_a_collapse() -> None:
    with pytest.raises(GateError, match=r"canary\.distinct"):
        await run(lambda _: "甲", lambda prompt: prompt)


async def test_whose_error_it_is() -> None:
    def fail(_: str) -> str:
        raise ModelError("too long.")

    with pytest.raises(GateError, match=r"canary\.errors.*too long"):
        await run(fail, lambda prompt: prompt)
    with pytest.raises(ModelError, match="too long") as caught:
        await run(lambda prompt: prompt, fail)
    assert not isinstance(caught.value, GateError)
