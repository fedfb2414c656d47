"""The project's own embedder through Triton, where it is built."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from orchestrator.inference.embedder import TritonEmbedder

pytestmark = pytest.mark.triton

PASSAGES = [
    "第十二条 在职职工在三级医院住院，起付线以上的医疗费用由统筹基金支付百分之八十。",
    "第三条 参保人员跨省异地就医，应当先办理备案手续。",
    "本办法自2024年1月1日起施行。",
    "",
    "第二十条 " + "门诊慢性病的认定由二级以上定点医疗机构负责；" * 40,
]


async def test_a_text_s_vector_is_the_same_whatever_it_travels_with(embedder: TritonEmbedder) -> None:
    together = await embedder.embed(PASSAGES, kind="passage")
    alone = await asyncio.gather(*(embedder.embed([text], kind="passage") for text in PASSAGES))
    assert np.array_equal(together.vectors, np.concatenate([item.vectors for item in alone]))
    np.testing.assert_allclose(np.linalg.norm(together.vectors, axis=1), 1, atol=1e-5)


async def test_a_question_is_nearest_to_its_clause(embedder: TritonEmbedder) -> None:
    questions = ["住院费用报销多少？", "去外省看病要备案吗？", "什么时候开始施行？"]
    asked = await embedder.embed(questions, kind="query")
    clauses = await embedder.embed(PASSAGES[:3], kind="passage")
    assert (asked.vectors @ clauses.vectors.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert asked.fingerprint == clauses.fingerprint == await embedder.fingerprint()
