"""Training pairs for the reasoner: prompts and the claims, or formal questions, that complete them."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from finetune.card import DataCard
from orchestrator.domain.claim_prompt import number_prompt, pieces_of, rewrite_prompt, rule_prompt
from orchestrator.errors import ConfigurationError

__all__ = ["CLAIM_CHARACTERS", "ClaimWordings", "Pair", "read_wordings", "synthesise_pairs"]

CLAIM_CHARACTERS = 15
# A wording with few places yields few different pairs; after this many repeats it has given what it has.
ATTEMPTS_PER_PAIR, LEAST_ATTEMPTS = 20, 60
# What things and times are counted in.
UNITS = "次名家分个"
_PLACE = re.compile(r"\{([a-z])(\d*)\}")
_NUMBER_PLACES = "pmdytnxa"
_DIGITS = "零一二三四五六七八九"
# Where a clause can be begun differently, so that a claim is not learnt by its place.
_OPENINGS = ("", "", "", "第{n}条　", "（{c}）", "按照规定，", "自本办法施行之日起，", "对符合条件的，", "{n}．")

Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Pair:
    """What the model is asked and what it shall answer.

    Attributes:
        wording: what it was made of: pairs of one wording are kept on one side of a split.
    """

    task: Literal["claim", "rule", "rewrite"]
    prompt: str
    answer: str
    wording: str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NumberWording(_Part):
    """A clause with numbers, and the claim about each of them."""

    text: Text
    claims: dict[str, Text]
    negated: bool = False


class RuleWording(_Part):
    """A clause without a number, and what it says to certain questions."""

    text: Text
    asks: tuple[tuple[Text, Text], ...]


class RewriteWording(_Part):
    """A formal question and how people ask it."""

    formal: Text
    said: tuple[Text, ...] = Field(min_length=1)


class ClaimWordings(_Part):
    """A domain pack's ``claims.yaml``."""

    values: dict[str, tuple[Text, ...]]
    numbers: tuple[NumberWording, ...]
    rules: tuple[RuleWording, ...]
    rewrites: tuple[RewriteWording, ...] = ()


def read_wordings(path: Path) -> tuple[ClaimWordings, DataCard]:
    """Read ``claims.yaml``.

    Raises:
        ConfigurationError: it is missing or malformed; names each field.
    """
    try:
        text = path.read_bytes()
        wordings = ClaimWordings.model_validate(yaml.safe_load(text))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.") from None
    except ValidationError as error:
        lines = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigurationError(f"{path} is not valid: {lines}.") from None
    rows = len(wordings.numbers) + len(wordings.rules) + len(wordings.rewrites)
    card = DataCard(name=path.name, sha256=hashlib.sha256(text).hexdigest(), rows=rows, licence="Apache-2.0")
    return wordings, card


def synthesise_pairs(wordings: ClaimWordings, *, seed: int, per_claim: int, per_rewrite: int = 1) -> list[Pair]:
    """Make pairs, in a random order; the same arguments make the same ones.

    Args:
        wordings: what to make them of.
        seed: of the fillings.
        per_claim: pairs of each claim, at most.
        per_rewrite: pairs of each way of asking, at most.

    Raises:
        ConfigurationError: a wording can't be filled: an unknown place, or no short claim made of its clause.
    """
    chance = random.Random(seed)  # noqa: S311 (training data, no secret)
    pairs: list[Pair] = []
    for number in wordings.numbers:
        for place, claim in number.claims.items():
            makers = (_number_pair(number.text, place, claim, wordings.values, chance) for _ in _forever())
            pairs += _distinct(makers, per_claim, number.text)
    for rule in wordings.rules:
        for question, claim in rule.asks:
            makers = (_rule_pair(rule.text, question, claim, wordings.values, chance) for _ in _forever())
            pairs += _distinct(makers, per_claim, rule.text)
    for rewrite in wordings.rewrites:
        for said in rewrite.said:
            makers = (_rewrite_pair(rewrite.formal, said, wordings.values, chance) for _ in _forever())
            pairs += _distinct(makers, per_rewrite, rewrite.formal)
    chance.shuffle(pairs)
    return pairs


def _forever() -> Iterator[None]:
    while True:
        yield None


def _distinct(made: Iterator[Pair | None], wanted: int, wording: str) -> list[Pair]:
    found: dict[str, Pair] = {}
    for _, pair in zip(range(max(LEAST_ATTEMPTS, wanted * ATTEMPTS_PER_PAIR)), made, strict=False):
        if pair is not None:
            found.setdefault(pair.prompt, pair)
        if len(found) == wanted:
            break
    if not found:
        raise ConfigurationError(
            f"No filling of {wording!r} makes a claim of at most {CLAIM_CHARACTERS} characters out of its own pieces."
        )
    return list(found.values())


def _number_pair(
    text: str, place: str, claim: str, values: Mapping[str, Sequence[str]], chance: random.Random
) -> Pair | None:
    filling = _filling(text, values, chance)
    opening = chance.choice(_OPENINGS).format(n=chance.randint(2, 60), c=chance.choice(_DIGITS[1:]))
    sentence = opening + _fill(text, filling)
    prefix = opening + _fill(text[: text.index(f"{{{place}}}")], filling)
    number, answer = filling[place], _fill(claim, filling)
    # The words that bound a number belong to it: 不超过, 以上.
    if len(answer) > CLAIM_CHARACTERS or pieces_of(answer, sentence, _wordings_of(number, sentence, answer)) is None:
        return None
    start = len(prefix)
    return Pair("claim", number_prompt(sentence, start, start + len(number)), answer, text)


def _wordings_of(number: str, sentence: str, answer: str) -> list[str]:
    """The number as it may stand in a claim: bare, or with what bounds it in both clause and claim."""
    at = answer.index(number)
    found = [number]
    for size in (1, 2, 3):
        before, after = answer[max(0, at - size) : at] + number, number + answer[at + len(number) :][:size]
        found += [wording for wording in (before, after) if wording in sentence]
    return found


def _rule_pair(
    text: str, question: str, claim: str, values: Mapping[str, Sequence[str]], chance: random.Random
) -> Pair | None:
    filling = _filling(text, values, chance)
    sentence, answer = _fill(text, filling), _fill(claim, filling)
    if len(answer) > CLAIM_CHARACTERS or pieces_of(answer, sentence, ()) is None:
        return None
    return Pair("rule", rule_prompt(sentence, _fill(question, filling)), answer, text)


def _rewrite_pair(formal: str, said: str, values: Mapping[str, Sequence[str]], chance: random.Random) -> Pair:
    filling = _filling(formal + said, values, chance)
    return Pair("rewrite", rewrite_prompt(_fill(said, filling)), _fill(formal, filling), formal)


def _filling(text: str, values: Mapping[str, Sequence[str]], chance: random.Random) -> dict[str, str]:
    filling: dict[str, str] = {}
    for kind, index in dict.fromkeys(_PLACE.findall(text)):
        for _ in range(ATTEMPTS_PER_PAIR):
            filling[kind + index] = _number(kind, chance) if kind in _NUMBER_PLACES else _value(kind, values, chance)
            # Places of a clause hold different things, else nothing tells its numbers apart.
            if len(set(filling.values())) == len(filling):
                break
    return filling


def _fill(text: str, filling: Mapping[str, str]) -> str:
    def put(match: re.Match[str]) -> str:
        try:
            return filling[match[1] + match[2]]
        except KeyError:
            raise ConfigurationError(f"{text!r}: {match[0]} is in the claim, but not in the clause.") from None

    return _PLACE.sub(put, text)


def _value(kind: str, values: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    if kind not in values:
        raise ConfigurationError(f"There are no values for {{{kind}}}.", hint="Add them under `values`.")
    return chance.choice(values[kind])


def _number(kind: str, chance: random.Random) -> str:
    """A number with its unit, as regulations write it."""
    makers = {
        "p": lambda: chance.choice(
            [
                f"{_tens(chance)}%",
                f"{chance.randint(1, 99)}%",
                f"百分之{_chinese(_tens(chance))}",
                f"{chance.randint(1, 20) / 2:g}个百分点",
            ]
        ),
        "m": lambda: chance.choice(
            [
                f"{_tens(chance) * 10}元",
                f"{chance.randint(1, 40)}万元",
                f"{chance.randint(11, 99) / 10:g}万元",
                f"{_chinese(chance.randint(2, 9))}千元",
                f"{_tens(chance) * 100}元",
            ]
        ),
        "d": lambda: chance.choice(
            [
                f"{chance.randint(2, 60)}日",
                f"{chance.randint(1, 30)}个工作日",
                f"{_chinese(chance.randint(2, 60))}日",
                f"{chance.randint(2, 90)}天",
                f"{chance.choice([12, 24, 48, 72])}小时",
            ]
        ),
        "t": lambda: chance.choice(
            [
                f"{chance.randint(1, 24)}个月",
                f"{_chinese(chance.randint(2, 12))}个月",
                f"{chance.randint(1, 6)}年",
                f"{_chinese(chance.randint(3, 9))}年",
            ]
        ),
        "y": lambda: chance.choice([f"{chance.randint(1, 35)}年", f"{_chinese(chance.randint(2, 30))}年"]),
        "n": lambda: f"{chance.choice([chance.randint(2, 12), _chinese(chance.randint(2, 12))])}{chance.choice(UNITS)}",
        "x": lambda: f"{chance.choice([chance.randint(2, 6), _chinese(chance.randint(2, 6)), 1.5, 2.5])}倍",
        "a": lambda: f"{chance.choice([chance.randint(3, 70), _chinese(chance.randint(16, 70))])}周岁",
    }
    return makers[kind]()


def _tens(chance: random.Random) -> int:
    return chance.randint(2, 19) * 5


def _chinese(number: int) -> str:
    """A number below 100 in Chinese numerals."""
    tens, ones = divmod(number, 10)
    return ("" if tens < 2 else _DIGITS[tens]) + ("十" if tens else "") + (_DIGITS[ones] if ones else "")
