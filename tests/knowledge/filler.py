"""A process of its own that fills a library and is killed while it does: see test_recovery.py.

    python filler.py DATA_FOLDER SEED

Applies the same documents in an order of its own, with changes and deletes between, and says how far it came.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

import numpy as np

from orchestrator.knowledge.clause import (
    Clause,
    ClauseType,
    Document,
    IndexedDocument,
    PathElement,
    Reference,
    ReferenceType,
    document_id_for,
    source_id_for,
)
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import PathSettings, Settings

DOCUMENTS = 24


def make(number: int, version: int = 0) -> IndexedDocument:
    """Document ``number``; it cites the next one. Version 0 is the one that stays."""
    source = f"{number}.docx"
    document_id = document_id_for(source)
    document = Document(document_id, source, f"第{number}号办法", f"hash {number} {version}")
    clauses = []
    for ordinal in range(5 + number % 7):
        path = (PathElement("条", f"第{ordinal + 1}条"),)
        text = f"第{number}号办法第{ordinal + 1}条，第{version}版。"
        source_id = source_id_for(document_id, path, text)
        clauses.append(Clause(source_id, document_id, text, ordinal, path[0].label, path, ClauseType.ARTICLE))
    title = f"第{(number + 1) % DOCUMENTS}号办法"
    reference = Reference(clauses[0].source_id, ReferenceType.CITES, f"《{title}》第二条", 0, 9, title, "第二条")
    vectors = np.random.default_rng([number, version]).normal(size=(len(clauses), 16)).astype(np.float32)
    return IndexedDocument(document, tuple(clauses), (reference,), vectors, "embedder")


async def fill(data: Path, seed: int) -> None:
    """Apply everything, by a detour that depends on ``seed``; ends in the same state whatever the seed."""
    chance = random.Random(seed)
    library = await open_library(Settings(paths=PathSettings(data=data)))
    _say("open")
    order = list(range(DOCUMENTS))
    chance.shuffle(order)
    if seed:
        await library.apply_many(make(number, 1) for number in order[:8])
        await asyncio.gather(*(library.delete(make(number).document.document_id) for number in order[:3]))
    for start in range(0, DOCUMENTS, 6):
        await library.apply_many(make(number) for number in order[start : start + 6])
        _say(f"applied {start}")
    _say(f"digest {await library.digest()}")
    await library.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1]), int(sys.argv[2])))
