"""What a document says of itself, and where it says so."""

from __future__ import annotations

import pytest

from ingest.authority import authority_in, authority_of_number, authority_of_title, level_of, region_of
from ingest.dates import end_of_term, find_dates, parse_date
from ingest.metadata import read_metadata
from ingest.outline import read_outline
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from ingest.title import name_of_file, version_marker
from orchestrator.knowledge.clause import AuthorityLevel, Document, DocumentStatus, Provenance


def read(*paragraphs: str, source: str = "甲.docx", sidecar: dict[str, str] | None = None) -> Document:
    blocks = tuple(Block(BlockKind.PARAGRAPH, text, index) for index, text in enumerate(paragraphs))
    parsed = ParsedDocument(source=source, media_type="text/plain", blocks=blocks)
    return read_metadata(
        parsed, read_outline(blocks), document_id="d", doc_source=source, content_hash="h", sidecar=sidecar
    )


def origin(document: Document, field: str) -> Provenance:
    return next(found for found in document.provenance if found.field == field)


def test_a_notice() -> None:
    document = read(
        "云川省医疗保障局文件",
        "云医保发〔2024〕12号",
        "云川省医疗保障局关于提高",
        "职工医保住院待遇的通知",
        "各市医疗保障局：",
        "现将有关事项通知如下：",
        "一、三级医院支付比例为75%。",
        "二、本通知自2024年5月1日起施行，有效期五年。《旧通知》（云医保发〔2020〕3号，自2020年1月1日起施行）同时废止。",
        "云川省医疗保障局",
        "2024年3月15日",
    )
    assert document.title == "云川省医疗保障局关于提高职工医保住院待遇的通知"
    assert document.doc_number == "云医保发〔2024〕12号"
    assert document.publish_date == "2024-03-15"
    assert document.effective_date == "2024-05-01"
    assert document.expiry_date == "2029-04-30"
    assert document.authority == "云川省医疗保障局"
    assert document.authority_level is AuthorityLevel.PROVINCIAL
    assert document.region == "云川省"
    assert document.status is DocumentStatus.IN_FORCE
    assert origin(document, "doc_number") == Provenance("doc_number", "body:1", "云医保发〔2024〕12号")
    assert origin(document, "publish_date").origin == "body:9"
    assert origin(document, "effective_date").excerpt == "自2024年5月1日起施行"


def test_an_amended_regulation() -> None:
    document = read(
        "专利代理条例",
        "（1991年3月4日中华人民共和国国务院令第76号发布　根据2012年11月9日《关于修改部分行政法规的决定》第一次修订"
        "　2018年9月6日国务院第23次常务会议修订通过）",
        "第一条　为了规范专利代理行为，制定本条例。",
        "第二条　本条例自2019年3月1日起施行。",
        source="专利代理条例.docx",
    )
    assert document.doc_number == "中华人民共和国国务院令第76号"
    # The text at hand is that of the last revision.
    assert document.publish_date == "2018-09-06"
    assert document.version == "2018-09-06修订"
    assert document.effective_date == "2019-03-01"
    assert (document.authority, document.authority_level) == ("国务院", AuthorityLevel.ADMINISTRATIVE_REGULATION)
    assert document.region == ""


def test_in_force_from_its_publication() -> None:
    document = read(
        "甲办法", "（2020年6月1日国家医疗保障局令第2号公布）", "第一条 甲。", "第二条 本办法自公布之日起30日后施行。"
    )
    assert document.effective_date == "2020-07-01"
    document = read(
        "甲办法", "（2020年6月1日国家医疗保障局令第2号公布）", "第一条 甲。", "第二条 本办法自公布之日起施行。"
    )
    assert document.effective_date == "2020-06-01"


def test_a_history_cut_over_two_paragraphs() -> None:
    document = read(
        "甲法",
        "（2019年3月15日第十三届全国人民代表大会第二次",
        "会议通过）",
        "第一条 甲。",
        source="中华人民共和国甲法.docx",
    )
    assert document.publish_date == "2019-03-15"
    assert document.authority == "全国人民代表大会"
    assert document.authority_level is AuthorityLevel.LAW


def test_what_is_said_of_others_is_not_taken() -> None:
    document = read(
        "甲办法",
        "第一条 根据《乙条例》（国务院令第5号，自2001年1月1日起施行）制定本办法。",
        "第二条 许可证有效期为5年。",
        "第三条 《丙办法》自2003年5月1日起施行的部分不变。",
    )
    assert (document.doc_number, document.effective_date, document.expiry_date) == ("", "", "")


def test_a_sidecar_prevails_and_says_so() -> None:
    document = read("甲办法", "第一条 甲。", sidecar={"region": "江城市", "status": "repealed", "title": "乙办法"})
    assert (document.title, document.region, document.status) == ("乙办法", "江城市", DocumentStatus.REPEALED)
    assert {found.field for found in document.provenance if found.origin == "sidecar"} == {"title", "region", "status"}


def test_without_a_title_the_file_names_it() -> None:
    document = read("参保人员应当如实申报，不得隐瞒。", source="/tmp/办事指南(2024-03-01).txt")
    assert (document.title, document.publish_date) == ("办事指南", "2024-03-01")
    assert origin(document, "title").origin == "filename"


def test_the_file_name_tells_where_a_broken_title_ends() -> None:
    document = read(
        "甲省医疗保障局、甲省财政厅关于做好",
        "2024年度居民参保工作的",
        "通知",
        "第一条 甲。",
        source="甲省医疗保障局、甲省财政厅关于做好2024年度居民参保工作的通知.docx",
    )
    assert document.title == "甲省医疗保障局、甲省财政厅关于做好2024年度居民参保工作的通知"


@pytest.mark.parametrize(
    ("title", "marker"),
    [
        ("甲办法（试行）", "试行"),
        ("甲细则（2023年版）", "2023年版"),
        ("甲办法（征求意见稿）", "征求意见稿"),
        ("甲办法", ""),
        ("甲（乙）办法", ""),
    ],
)
def test_the_version_in_a_title(title: str, marker: str) -> None:
    assert version_marker(title) == marker


def test_a_draft_is_pending_and_a_repealed_one_repealed() -> None:
    assert read("甲办法（征求意见稿）", "第一条 甲。").status is DocumentStatus.PENDING
    assert read("甲办法", "第一条 甲。", source="甲办法（已废止）.docx").status is DocumentStatus.REPEALED
    assert read("甲办法", "第一条 甲。").status is DocumentStatus.UNKNOWN


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024年1月5日", "2024-01-05"),
        ("二〇二四年一月五日", "2024-01-05"),
        ("二○二四年十二月三十一日", "2024-12-31"),
        ("２０２４年１月５日", "2024-01-05"),
        ("发于2024-03-01", "2024-03-01"),
        ("2024年2月30日", ""),
        ("2024年", ""),
    ],
)
def test_dates(text: str, iso: str) -> None:
    assert parse_date(text) == iso


def test_dates_have_their_place() -> None:
    text = "自2024年1月1日起至二〇二五年一月一日止"
    assert [text[found.start : found.end] for found in find_dates(text)] == ["2024年1月1日", "二〇二五年一月一日"]


def test_a_term_ends_the_day_before_its_anniversary() -> None:
    assert end_of_term("2024-05-01", years=5) == "2029-04-30"
    assert end_of_term("2024-02-29", years=1) == "2025-02-27"


@pytest.mark.parametrize(
    ("text", "region", "level"),
    [
        ("云岭省医疗保障局", "云岭省", AuthorityLevel.PROVINCIAL),
        ("云岭省江城市医疗保障局", "云岭省江城市", AuthorityLevel.MUNICIPAL),
        ("江城市人民政府", "江城市", AuthorityLevel.MUNICIPAL),
        ("上海市人民代表大会常务委员会", "上海市", AuthorityLevel.PROVINCIAL),
        ("内蒙古自治区人民政府", "内蒙古自治区", AuthorityLevel.PROVINCIAL),
        ("青石县医疗保障局", "青石县", AuthorityLevel.COUNTY),
        ("北京市朝阳区人民政府", "北京市朝阳区", AuthorityLevel.COUNTY),
        ("国家医疗保障局", "", AuthorityLevel.DEPARTMENT_RULE),
        ("国家市场监督管理总局", "", AuthorityLevel.DEPARTMENT_RULE),
        ("公安部、财政部", "", AuthorityLevel.DEPARTMENT_RULE),
        ("国务院", "", AuthorityLevel.ADMINISTRATIVE_REGULATION),
        ("国务院、中央军事委员会", "", AuthorityLevel.ADMINISTRATIVE_REGULATION),
        ("市十二届人民代表大会", "", AuthorityLevel.UNKNOWN),
        ("全国人民代表大会常务委员会", "", AuthorityLevel.LAW),
        ("最高人民法院", "", AuthorityLevel.INTERPRETATION),
        ("市场监督管理所", "", AuthorityLevel.UNKNOWN),
        ("城市房地产协会", "", AuthorityLevel.UNKNOWN),
        ("各省、自治区、直辖市", "", AuthorityLevel.UNKNOWN),
    ],
)
def test_regions_and_ranks(text: str, region: str, level: AuthorityLevel) -> None:
    assert region_of(text) == region
    assert level_of(text, "") is level


def test_authorities_in_numbers_titles_and_histories() -> None:
    assert authority_of_number("医保发〔2024〕12号") == "国家医疗保障局"
    assert authority_of_number("中华人民共和国国务院令第362号") == "国务院"
    assert authority_of_number("某某〔2024〕1号") == ""
    assert authority_of_title("国务院办公厅关于印发甲的通知") == "国务院办公厅"
    assert authority_of_title("加强管理关于甲的通知") == ""
    assert authority_in("第七届全国人民代表大会常务委员会第十四次会议通过") == "全国人民代表大会常务委员会"
    assert authority_in("国家知识产权局令第40号公布") == "国家知识产权局"


def test_names_of_files() -> None:
    assert name_of_file("a/医疗事故处理条例(2002-04-04).md") == ("医疗事故处理条例", "2002-04-04")
    assert name_of_file("甲办法20240105.docx") == ("甲办法", "2024-01-05")
    assert name_of_file("2024.txt") == ("2024", "")
