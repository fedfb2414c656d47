"""Splits a compound question into questions that are complete by themselves.

Three kinds are split, one after the other: several sentences or clauses that each ask (…？…？; …，…), coordinated
conditions (职工和居民的…), and coordinated matters (起付标准和报销比例分别…). What
the parts share is carried into each.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.pack import DomainPack
from orchestrator.router.normalise import MARKED_TITLE
from orchestrator.router.question_type import INTERROGATIVE

__all__ = ["QuestionSplitter"]

_SENTENCE_END = re.compile(r"(?<=[？?；;。！!\n])")
_CLAUSE_END = re.compile(r"(?<=[，,])")
_AND = r"(?:以及|还有|或者|或是|[、和与及跟同或])"
_CONNECTIVE = re.compile(rf"\s*[、，]?\s*{_AND}\s*(?:在|是)?")
# What may stand between two conditions of one group: 职工(在)三级医院(的)住院.
_GLUE = re.compile(r"(?:在|的|参加|于|是)?")
_RESPECTIVELY = re.compile(r"(?:各自|各|分别)(?=是|为|有|怎么|如何|多少|要|需|能|可|报|$)|分别")
# A part of a comparison asks for its own side: 三级医院住院报销比例(一样吗).
_COMPARED = re.compile(
    r"(?:是不是|是否|都)?(?:一样|相同|有(?:什么|哪些|何)?(?:区别|不同|差别|差异))(?:多|高)?(?:吗|么)?(?=[？?。]?$)"
)
# A clause before a comma asks where its question word comes near its end; else it names a case: 什么情形下, ….
_ASKS = re.compile(
    r"(?:多少|多久|多长|几|什么|哪|怎么|怎样|如何|为什么|吗|是否|能否|可否|有没有|能不能|要不要|是不是|谁)[^，,]{0,7}[，,？?。]?$"
)
_CASE = re.compile(r"(?:时|下|的|后|前|中|里|期间|情况|情形|情况下)[，,]?$")
# A part that opens like this means nothing without the one before.
_DEPENDENT = re.compile(r"^(?:它|其|该|此|这|如果|若|有的话|可以的话|是的话|没有的话|否则|不然)")
# What follows the last of several matters that are asked for.
_MATTER_TAIL = re.compile(r"(?:各自|各|分别|都|是|为|有|怎么|如何|多少|哪些|什么|呢|[？?。；]|$)")
# Words between a connective and the matter that it joins: 和(职工)支付比例.
MOST_BETWEEN = 8
_LEAD_IN = re.compile(r"^(?:那么?|另外|还有|以及|然后|再(?:问|请问)|并且|同时|此外)[，,]?")
_WHAT_ABOUT = re.compile(r"^(?:那么?|要是|如果是?|换成)?(?P<subject>[^？?，,]{1,16}?)呢[？?。]?$")
# A part this short asks nothing by itself.
SHORTEST_PART = 3
# A longer list is no question with a part for each member.
LONGEST_LIST = 8
# A matter stands close before the question word: further text means that the connective joins something else.
_TAIL = "，。；？！,;?!"
_END = "？?。；;！!"


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


class QuestionSplitter:
    """Splits the questions of one pack.

    Args:
        pack: names the matters that can be coordinated.
        find_slots: the slots of a text.
        limit: the most parts that a question is split into.
    """

    def __init__(self, pack: DomainPack, find_slots: Callable[[str], Sequence[SlotMatch]], limit: int) -> None:
        terms = sorted({term for matter in pack.matters for term in matter.all_terms if len(term) >= 2}, key=len)
        self._matter = re.compile("|".join(re.escape(term) for term in reversed(terms)) or r"(?!)")
        self._find_slots = find_slots
        self._separable = frozenset(name for name, slot in pack.slot_types.items() if slot.separable)
        self._limit = limit

    def split(self, text: str) -> list[str]:
        """The parts of a normalised question, each complete; one part where it is not compound.

        More parts than the limit are not dropped: the last one keeps the rest together.
        """
        if self._limit == 1:
            return [text]
        pieces = self._complete(_asking_pieces(text))
        parts: list[str] = []
        for piece in pieces:
            # What the last part keeps together need not be taken apart first.
            parts.extend(self._parts_of(piece) if len(parts) < self._limit else [piece])
        unique = list(dict.fromkeys(_alone(part) for part in parts))
        if len(unique) > self._limit:
            unique = [*unique[: self._limit - 1], "".join(_as_sentence(part) for part in unique[self._limit - 1 :])]
        return unique if len(unique) > 1 else [text]

    def _parts_of(self, piece: str) -> list[str]:
        return [
            part
            for by_document in _by_documents(piece)
            for by_condition in self._by_conditions(by_document)
            for part in self._by_matters(by_condition)
        ]

    def _complete(self, pieces: Sequence[str]) -> list[str]:
        """Give each piece what it leaves unsaid of the one before."""
        done: list[str] = []
        for piece in pieces:
            bare = _LEAD_IN.sub("", piece).strip()
            if not 0 < len(done) < self._limit:
                done.append(bare)
                continue
            whole = self._with_context(bare, done[-1])
            if whole == bare and not self._names_something(bare):
                # Nothing to carry over and no subject of its own: apart it would be a riddle.
                done[-1] += bare if done[-1][-1] in _END else f"，{bare}"
            else:
                done.append(whole)
        return done

    def _names_something(self, piece: str) -> bool:
        return bool(self._matter.search(piece) or MARKED_TITLE.search(piece) or self._find_slots(piece))

    def _with_context(self, piece: str, before: str) -> str:
        own = self._find_slots(piece)
        earlier = self._find_slots(before)
        about = _WHAT_ABOUT.match(piece)
        if about:
            replaced = _replace_slot(about["subject"], own, before, earlier)
            if replaced:
                return replaced
        if own and not about:
            return piece
        have = {match.slot_type for match in own}
        carried = "".join(dict.fromkeys(match.text for match in earlier if match.slot_type not in have))
        titles = "".join(match[0] for match in MARKED_TITLE.finditer(before)) if not MARKED_TITLE.search(piece) else ""
        return f"{titles}{carried}{piece}"

    def _by_conditions(self, text: str) -> list[str]:
        slots = _outside_titles(text, self._find_slots(text))
        for place, (first, second) in enumerate(itertools.pairwise(slots)):
            if not {first.slot_type, second.slot_type} <= self._separable:
                continue
            if not _CONNECTIVE.fullmatch(text[first.end : second.start]):
                continue
            groups = _coordinated(text, slots, place)
            if groups:
                head, tail = text[: groups[0].start], text[groups[-1].end :]
                return [f"{head}{text[group.start : group.end]}{tail}" for group in groups]
        return [text]

    def _by_matters(self, text: str) -> list[str]:
        titles = [match.span() for match in MARKED_TITLE.finditer(text)]
        found = [
            _Span(*match.span())
            for match in self._matter.finditer(text)
            if not any(match.start() < end and start < match.end() for start, end in titles)
        ]
        for place, first in enumerate(found):
            chain = self._matter_chain(text, found[place : place + LONGEST_LIST + 1])
            head, tail = text[: first.start], text[chain[-1].end :]
            if 1 < len(chain) <= LONGEST_LIST and _MATTER_TAIL.match(tail):
                return [f"{head}{text[span.start : span.end]}{tail}" for span in chain]
        return [text]

    def _matter_chain(self, text: str, found: Sequence[_Span]) -> list[_Span]:
        """Matters joined by connectives; words between the connective and the matter belong to the matter."""
        chain = [found[0]]
        for following in found[1:]:
            gap = text[chain[-1].end : following.start]
            joined = _CONNECTIVE.match(gap)
            if joined is None or len(gap) - joined.end() > MOST_BETWEEN or INTERROGATIVE.search(gap):
                break
            if any(mark in gap[joined.end() :] for mark in _TAIL):
                break
            chain.append(_Span(chain[-1].end + joined.end(), following.end))
        return chain


def _by_documents(text: str) -> list[str]:
    """《甲》和《乙》什么时候施行: one question a document."""
    titles = [_Span(*match.span()) for match in MARKED_TITLE.finditer(text)]
    for place, first in enumerate(titles):
        chain = [first]
        for following in titles[place + 1 : place + 1 + LONGEST_LIST]:
            if not _CONNECTIVE.fullmatch(text[chain[-1].end : following.start]):
                break
            chain.append(following)
        if 1 < len(chain) <= LONGEST_LIST:
            head, tail = text[: first.start], text[chain[-1].end :]
            return [f"{head}{text[span.start : span.end]}{tail}" for span in chain]
    return [text]


def _alone(part: str) -> str:
    """A part without the words that only make sense beside the others."""
    return _COMPARED.sub("", _RESPECTIVELY.sub("", part)).strip() or part


def _asking_pieces(text: str) -> list[str]:
    """Sentences, then clauses, that ask; what only states a condition stays with the question that follows it."""
    sentences = _attach(_cut(text, _SENTENCE_END))
    pieces: list[str] = []
    for sentence in sentences:
        clauses = _cut(sentence, _CLAUSE_END)
        asking = [place for place, clause in enumerate(clauses) if _asks(clause)]
        # What comes after the last question word belongs to no question of its own.
        if len(asking) < 2 or asking[-1] != len(clauses) - 1:
            pieces.append(sentence)
            continue
        shared = "".join(clauses[: asking[0]])
        pieces.extend(shared + clause.rstrip("，,") for clause in _attach(clauses[asking[0] :], _asks))
    kept = [piece for piece in (piece.strip(" ，,") for piece in pieces) if len(piece) >= SHORTEST_PART]
    return _with_dependents(kept)


def _asks(clause: str) -> bool:
    return _ASKS.search(clause) is not None and not _CASE.search(clause)


def _with_dependents(pieces: Sequence[str]) -> list[str]:
    """Join a piece that leans on the one before to it."""
    joined: list[str] = []
    for piece in pieces:
        if joined and _DEPENDENT.match(piece):
            joined[-1] += piece if joined[-1][-1] in _END else f"，{piece}"
        else:
            joined.append(piece)
    return joined


def _cut(text: str, border: re.Pattern[str]) -> list[str]:
    """Cut at each border outside 《》."""
    titles = [match.span() for match in MARKED_TITLE.finditer(text)]
    parts, start = [], 0
    for match in border.finditer(text):
        if match.start() > start and not any(left < match.start() < right for left, right in titles):
            parts.append(text[start : match.start()])
            start = match.start()
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _attach(parts: Sequence[str], asks: Callable[[str], object] = INTERROGATIVE.search) -> list[str]:
    """Join a part that does not ask to the next one that does, and a last one to the one before."""
    joined: list[str] = []
    waiting = ""
    for part in parts:
        waiting += part
        if asks(part):
            joined.append(waiting)
            waiting = ""
    if waiting and joined:
        joined[-1] += waiting
    elif waiting:
        joined.append(waiting)
    return joined


def _replace_slot(subject: str, own: Sequence[SlotMatch], before: str, earlier: Sequence[SlotMatch]) -> str:
    """那居民呢？ after 职工住院能报多少？: the earlier question with 居民 in the place of 职工."""
    for match in own:
        if match.text not in subject:
            continue
        for other in earlier:
            if other.slot_type == match.slot_type and other.value != match.value:
                return before[: other.start] + match.text + before[other.end :]
    return ""


def _outside_titles(text: str, slots: Sequence[SlotMatch]) -> list[SlotMatch]:
    titles = [match.span() for match in MARKED_TITLE.finditer(text)]
    kept: list[SlotMatch] = []
    for slot in slots:
        hidden = any(slot.start < end and start < slot.end for start, end in titles)
        # One span may hold values of two types; one of them is enough to split at.
        if not hidden and not (kept and slot.start < kept[-1].end):
            kept.append(slot)
    return kept


def _coordinated(text: str, slots: Sequence[SlotMatch], place: int) -> list[_Span]:
    """The spans joined by the connective behind ``slots[place]``.

    Single values of one type, else groups of the same types in the same order.
    """
    first, second = slots[place], slots[place + 1]
    if first.slot_type == second.slot_type:
        chain = _chain(text, slots, place)
        distinct = {text[span.start : span.end] for span in chain}
        return chain if len(distinct) > 1 and len(chain) <= LONGEST_LIST else []
    left, right = _group_ending(text, slots, place), _group_starting(text, slots, place + 1)
    size = min(len(left), len(right))
    left, right = left[-size:], right[:size]
    if size < 2 or [slot.slot_type for slot in left] != [slot.slot_type for slot in right]:
        return []
    return [_Span(left[0].start, left[-1].end), _Span(right[0].start, right[-1].end)]


def _chain(text: str, slots: Sequence[SlotMatch], place: int) -> list[_Span]:
    first = slots[place]
    chain = [_Span(first.start, first.end)]
    for slot in itertools.islice(slots, place + 1, place + 1 + LONGEST_LIST):
        if slot.slot_type != first.slot_type or not _CONNECTIVE.fullmatch(text[chain[-1].end : slot.start]):
            break
        chain.append(_Span(slot.start, slot.end))
    return chain


def _group_ending(text: str, slots: Sequence[SlotMatch], place: int) -> list[SlotMatch]:
    start = place
    while start and place - start < LONGEST_LIST and _GLUE.fullmatch(text[slots[start - 1].end : slots[start].start]):
        start -= 1
    return list(slots[start : place + 1])


def _group_starting(text: str, slots: Sequence[SlotMatch], place: int) -> list[SlotMatch]:
    group = [slots[place]]
    for slot in itertools.islice(slots, place + 1, place + 1 + LONGEST_LIST):
        if not _GLUE.fullmatch(text[group[-1].end : slot.start]):
            break
        group.append(slot)
    return group


def _as_sentence(part: str) -> str:
    return part if part[-1] in _END else f"{part}；"
