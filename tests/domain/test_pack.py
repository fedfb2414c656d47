from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.domain.pack import load_pack, load_packs
from orchestrator.errors import PackError
from orchestrator.settings import PathSettings

DOMAINS = PathSettings().domains


@pytest.fixture
def pack_folder(tmp_path: Path) -> Path:
    """A copy of the medical pack, to be broken."""
    return Path(shutil.copytree(DOMAINS / "medical_insurance", tmp_path / "medical_insurance"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


def test_the_packs_of_the_project_load() -> None:
    packs = load_packs(DOMAINS)
    assert set(packs) == {"general", "medical_insurance"}
    medical = packs["medical_insurance"]
    assert medical.labels("benefit.inpatient.rate") == ("待遇", "住院待遇", "住院报销比例")
    assert {"region", "hospital_grade", "population", "disease", "period"} <= set(medical.scope_dimensions)
    assert "date" not in medical.scope_dimensions
    assert medical.matters_by_name["报销比例"].kind == "ratio"
    assert medical.authority_weight("provincial") > medical.authority_weight("municipal")
    assert medical.authority_weight("no such level") == medical.authority_weight("unknown")


def test_every_leaf_has_examples_enough() -> None:
    for pack in load_packs(DOMAINS).values():
        for path in pack.intent_paths.values():
            if not path[-1].children:
                assert len(path[-1].examples) >= 6, path[-1].intent_id


def test_no_example_is_labelled_twice() -> None:
    for pack in load_packs(DOMAINS).values():
        seen: dict[str, str] = {}
        for intent_id, path in pack.intent_paths.items():
            for example in path[-1].examples:
                assert seen.setdefault(example.question, intent_id) == intent_id, example.question


def test_a_pack_is_immutable(pack_folder: Path) -> None:
    pack = load_pack(pack_folder)
    with pytest.raises(AttributeError):
        pack.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        pack.matters[0].name = "other"  # type: ignore[misc]


def test_the_fingerprint_follows_the_content(pack_folder: Path) -> None:
    before = load_pack(pack_folder).fingerprint
    assert load_pack(pack_folder).fingerprint == before
    change(pack_folder / "colloquial.yaml", "to: 怎么", "to: 如何")
    assert load_pack(pack_folder).fingerprint != before


@pytest.mark.parametrize("name", ["pack.yaml", "intents.yaml", "slots.yaml", "matters.yaml", "authority.yaml"])
def test_a_missing_file_is_named(pack_folder: Path, name: str) -> None:
    (pack_folder / name).unlink()
    with pytest.raises(PackError, match=f"{name}: the file is missing"):
        load_pack(pack_folder)


@pytest.mark.parametrize("name", ["synonyms.yaml", "colloquial.yaml", "faq.yaml", "questions.yaml", "overrides.json"])
def test_the_other_files_may_be_missing(pack_folder: Path, name: str) -> None:
    (pack_folder / name).unlink(missing_ok=True)
    assert load_pack(pack_folder).name == "medical_insurance"


def test_a_misspelt_file_is_not_passed_over(pack_folder: Path) -> None:
    (pack_folder / "synonyms.yaml").rename(pack_folder / "synonym.yaml")
    with pytest.raises(PackError, match=r"synonym\.yaml: a pack has no such file.*synonyms\.yaml"):
        load_pack(pack_folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("intents.yaml", "label: 住院报销比例", "lable: 住院报销比例", "label: Field required"),
        ("intents.yaml", "label: 住院报销比例", "label: 住院报销比例\n            weight: 3", "Extra inputs"),
        ("intents.yaml", "keywords: [日间手术]", "patterns: ['(日间']", "not a regular expression"),
        ("intents.yaml", "keywords: [日间手术]", "patterns: ['(日间)?']", "matches the empty text"),
        ("intents.yaml", "question_type: fact", "question_type: essay", "no question type 'essay'"),
        ("intents.yaml", "id: claim.time", "id: claim.appeal", "'claim.appeal' stands twice"),
        ("intents.yaml", "requires: [drug]", "requires: [medicine]", "slot type 'medicine'"),
        ("intents.yaml", "matters: [罚款]", "matters: [奖金]", "matter '奖金'"),
        ("intents.yaml", "hospital_grade: 三级,", "hospital_grade: 五级,", "'五级'"),
        ("slots.yaml", "parent: 青岚市", "parent: 青岛市", "unknown parent '青岛市'"),
        ("slots.yaml", "{value: 云川省, synonyms: [云川]}", "{value: 云川省, parent: 松坪县}", "its own ancestor"),
        ("slots.yaml", "synonyms: [东霖]", "synonyms: [云川]", "'云川' stands for both"),
        ("slots.yaml", "type: drug\n", "type: disease\n", "'disease' stands 2 times"),
        ("slots.yaml", r"value: '\g<1>年'", r"value: '\g<4>年'", "names a group that the pattern lacks"),
        ("matters.yaml", "kind: ratio", "kind: percent", "no quantity kind 'percent'"),
        ("authority.yaml", "provincial: 0.7", "provincial: 7", "less than or equal to 1"),
        ("authority.yaml", "provincial: 0.7", "regional: 0.7", "no authority level 'regional'"),
        ("authority.yaml", "unknown: 0.3", "# none", "'unknown' is missing"),
        ("colloquial.yaml", "phrase: 封顶线", "phrase: 封顶线, pattern: 封顶", "either phrase or pattern"),
        ("colloquial.yaml", "to: 怎么", r"to: '\1么'", "names a group that the pattern lacks"),
        ("faq.yaml", "intent: enrol.newborn", "intent: enrol.baby", "no intent 'enrol.baby'"),
        ("faq.yaml", "    evidence:\n", "    sources:\n", "evidence: Field required"),
        ("pack.yaml", "name: medical_insurance", "name: medical", "not the name of the folder"),
    ],
)
def test_an_error_names_file_line_and_field(pack_folder: Path, name: str, old: str, new: str, expected: str) -> None:
    change(pack_folder / name, old, new)
    with pytest.raises(PackError) as caught:
        load_pack(pack_folder)
    message = str(caught.value)
    assert str(pack_folder / name) in message
    assert expected in message
    assert "line " in message


def test_the_line_is_the_right_one(pack_folder: Path) -> None:
    path = pack_folder / "matters.yaml"
    change(path, "name: 罚款\n    kind: other", "name: 罚款\n    kind: percent")
    with pytest.raises(PackError, match=f"line {line_of(path, 'kind: percent')}, matters"):
        load_pack(pack_folder)


def overrides(edit: Callable[[dict[str, object]], None]) -> str:
    content = json.loads((DOMAINS / "medical_insurance" / "overrides.json").read_text("utf-8"))
    edit(content["overrides"][0])
    return json.dumps(content, ensure_ascii=False)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda item: item.update(matter="奖金"), "no matter '奖金'"),
        (lambda item: item.update(prevails={"scope": {"service": ["住院"]}}), "prevails names no document"),
        (lambda item: item.update(valid_from="2029-01-01"), "valid_to is before valid_from"),
        (lambda item: item.update(valid_from="soon"), "valid_from"),
        (lambda item: item.update(match={"scope": {"date": ["2024年"]}}), "'date' is no scope dimension"),
        (lambda item: item.update(match={"scope": {"service": ["理发"]}}), "'理发' is no canonical value"),
        (lambda item: item.update(id="referral-deductible-base"), "stands 2 times"),
    ],
)
def test_overrides_are_checked_against_the_pack(
    pack_folder: Path, edit: Callable[[dict[str, object]], None], expected: str
) -> None:
    (pack_folder / "overrides.json").write_text(overrides(edit), "utf-8")
    with pytest.raises(PackError, match=r"overrides\.json") as caught:
        load_pack(pack_folder)
    assert expected in str(caught.value)


def test_a_folder_without_packs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="does not exist"):
        load_packs(tmp_path / "none")
    (tmp_path / "note.txt").write_text("nothing")
    (tmp_path / ".hidden").mkdir()
    with pytest.raises(PackError, match="holds no domain pack"):
        load_packs(tmp_path)
    with pytest.raises(PackError, match="not a folder"):
        load_pack(tmp_path / "note.txt")
