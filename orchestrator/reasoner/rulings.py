"""Which claims stand, and why: every conflict is decided pairwise, then the whole set is settled.

Sets of more than two are settled as in abstract argumentation (the grounded labelling of P. M. Dung, 1995): a claim
stands when all that prevail over it are beaten; it is beaten when one that stands prevails over it; what neither can be
said of (no rule decides, or the rules go round in a circle) is undecided, and shown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orchestrator.domain.pack import DomainPack
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.conflicts import Conflict
from orchestrator.reasoner.precedence import Precedence, Verdict, named
from orchestrator.settings import ReasonerSettings
from trias.v1 import reasoning_pb2

__all__ = ["Ruling", "rule"]


class Ruling(NamedTuple):
    """A claim that stands.

    Attributes:
        ruling_id: "r1", "r2", … within one answer.
        beaten: the claims that it beat; those of an undecided conflict beat nothing.
        score: what the authority rule makes of its document, in [0,1].
    """

    ruling_id: str
    claim: Claim
    reason: reasoning_pb2.RulingReason
    explanation: str
    beaten: tuple[Claim, ...] = ()
    conflict_id: str = ""
    override_id: str = ""
    score: float = 0.0


def rule(
    claims: Sequence[Claim],
    conflicts: Sequence[Conflict],
    pack: DomainPack,
    settings: ReasonerSettings,
    as_of: dt.date,
) -> list[Ruling]:
    """A ruling for every claim that stands or is undecided, in the order of the claims; beaten ones have none.

    Args:
        claims: of one answer.
        conflicts: between them.
        pack: its overrides and authority weights.
        settings: by how many days a newer document prevails.
        as_of: the day that ages are counted to.
    """
    precedence = Precedence(pack, settings, as_of)
    verdicts = {conflict.conflict_id: precedence.between(conflict.first, conflict.second) for conflict in conflicts}
    standing, beaten = _settle(claims, conflicts, verdicts)
    rulings: list[Ruling] = []
    for claim in claims:
        if claim.claim_id in beaten:
            continue
        own = [conflict for conflict in conflicts if claim.claim_id in _ids(conflict)] if conflicts else []
        number, score = f"r{len(rulings) + 1}", precedence.score(claim)
        if not own:
            rulings.append(_uncontested(number, claim, score))
        elif claim.claim_id in standing:
            rulings.append(_stands(number, claim, own, verdicts, score))
        else:
            rulings.append(_undecided(number, claim, own, score))
    return rulings


def _ids(conflict: Conflict) -> tuple[str, str]:
    return conflict.first.claim_id, conflict.second.claim_id


def _settle(
    claims: Sequence[Claim], conflicts: Sequence[Conflict], verdicts: Mapping[str, Verdict | None]
) -> tuple[set[str], set[str]]:
    """The ids of the claims that stand, and of those that are beaten; the rest are undecided."""
    attackers: dict[str, set[str]] = {claim.claim_id: set() for claim in claims}
    for conflict in conflicts:
        verdict = verdicts[conflict.conflict_id]
        first, second = _ids(conflict)
        if verdict is None:
            attackers[first].add(second)
            attackers[second].add(first)
        else:
            attackers[verdict.loser.claim_id].add(verdict.winner.claim_id)
    standing: set[str] = set()
    beaten: set[str] = set()
    while True:
        risen = {name for name, rivals in attackers.items() if name not in standing | beaten and rivals <= beaten}
        fallen = {name for name, rivals in attackers.items() if name not in beaten and rivals & (standing | risen)}
        if not risen and not fallen:
            return standing, beaten
        standing |= risen
        beaten |= fallen


def _uncontested(number: str, claim: Claim, score: float) -> Ruling:
    return Ruling(number, claim, reasoning_pb2.RULING_REASON_UNCONTESTED, "资料中没有与之冲突的规定。", score=score)


def _stands(
    number: str, claim: Claim, own: Sequence[Conflict], verdicts: Mapping[str, Verdict | None], score: float
) -> Ruling:
    won = [
        (conflict, verdict)
        for conflict in own
        if (verdict := verdicts[conflict.conflict_id]) is not None and verdict.winner.claim_id == claim.claim_id
    ]
    rivals = [conflict.second if conflict.first.claim_id == claim.claim_id else conflict.first for conflict in own]
    if not won:
        # All that prevail over it are beaten by others: it says what those say that stand.
        names = "、".join(dict.fromkeys(named(rival) for rival in rivals))
        text = f"与之冲突的{names}另有规定优先，本规定与裁定成立的规定一致。"
        reason = next(
            (verdict.reason for verdict in verdicts.values() if verdict and verdict.loser in rivals),
            reasoning_pb2.RULING_REASON_UNDECIDED,
        )
        return Ruling(number, claim, reason, text, (), own[0].conflict_id, score=score)
    # The strongest rule that it won by speaks for the ruling: the reasons are numbered in their order.
    conflict, verdict = min(won, key=lambda pair: pair[1].reason)
    explanation = "".join(dict.fromkeys(item.explanation for _, item in won))
    losers = tuple(item.loser for _, item in won)
    return Ruling(number, claim, verdict.reason, explanation, losers, conflict.conflict_id, verdict.override_id, score)


def _undecided(number: str, claim: Claim, own: Sequence[Conflict], score: float) -> Ruling:
    names = "、".join(dict.fromkeys(named(item) for conflict in own for item in (conflict.first, conflict.second)))
    text = f"{names}的规定不一致，依次适用法务意见、修订废止、新旧和效力层级规则仍无法裁定，一并列出。"
    return Ruling(number, claim, reasoning_pb2.RULING_REASON_UNDECIDED, text, (), own[0].conflict_id, score=score)
