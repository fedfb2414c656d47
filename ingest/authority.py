"""Who issued a document, how high that authority ranks, and for which region it speaks."""

from __future__ import annotations

import re

from orchestrator.knowledge.clause import AuthorityLevel

__all__ = ["authority_in", "authority_of_number", "authority_of_title", "level_of", "region_of"]

# Agency words of document numbers (国办发〔2024〕3号) whose authority the number alone tells.
_NUMBER_AUTHORITIES = {
    "国发": "国务院",
    "国函": "国务院",
    "国办发": "国务院办公厅",
    "国办函": "国务院办公厅",
    "医保发": "国家医疗保障局",
    "医保函": "国家医疗保障局",
    "医保办发": "国家医疗保障局办公室",
    "医保办函": "国家医疗保障局办公室",
    "国卫": "国家卫生健康委员会",
    "国药监": "国家药品监督管理局",
    "人社部发": "人力资源和社会保障部",
    "财社": "财政部",
    "银发": "中国人民银行",
    "法释": "最高人民法院",
    "高检发": "最高人民检察院",
}
_CONGRESS = re.compile(r"^(?:中华人民共和国)?全国人民代表大会")
_STATE_COUNCIL = re.compile(r"^(?:中华人民共和国)?国务院(?:办公厅)?(?:令|第|$|关于|、中)")
_JUDICIARY = re.compile(r"^最高人民(?:法院|检察院)")
_INTERPRETATION = re.compile(r"(?:解释|批复|答复|会议纪要)(?:[（(].{1,12}[）)])?$")
_NATIONAL = re.compile(
    r"^(?:原)?(?:国家|全国|中国|中华|中共中央|中央|海关总署|最高|公安部|财政部|商务部|司法部|民政部|教育部|审计署|[一-鿿]{2,16}总局|[一-鿿]{2,12}部(?:、|$|令|办公厅))"
)
_LAW_TITLE = re.compile(r"^中华人民共和国[^关]{1,30}法(?:典)?(?:[（(].{1,12}[）)])?$")

_MUNICIPALITIES = ("北京市", "天津市", "上海市", "重庆市")
_REGIONS = (
    "香港特别行政区",
    "澳门特别行政区",
    "内蒙古自治区",
    "广西壮族自治区",
    "西藏自治区",
    "宁夏回族自治区",
    "新疆维吾尔自治区",
)
_NOT_A_NAME = "全各本该跨大中小和与及的由为在对关"
_PROVINCE = re.compile(rf"(?:{'|'.join(_REGIONS)}|{'|'.join(_MUNICIPALITIES)}|[一-鿿]{{2,4}}省|[一-鿿]{{2,8}}?自治区)")
_CITY = re.compile(r"(?:[一-鿿]{2,5}?(?:市(?!场|政|县|级)|地区|盟(?!约))|[一-鿿]{2,10}?自治州)")
# A county is taken for one only where an office of it or an act follows: 区 and 县 are in too many other words.
_COUNTY = re.compile(
    r"[一-鿿]{1,6}?(?:自治县|县(?!级)|区(?!域|分|别)|旗)(?=人民|医疗|卫生|财政|关于|第[一二三四五六七八九十]+届|$)"
)

# Some orders name a dozen ministries.
_BODY = r"[一-鿿、（）() ]{2,300}?"
_BEFORE_ACT = re.compile(
    rf"\s*({_BODY})(?=第[一二三四五六七八九十百\d]+(?:届|次)|\d{{4}}年第|令\s*\d{{4}}|令?\s*第?\s*[\d一二三四五六七八九十]+\s*号|"
    r"(?:公布|发布|颁布|通过|批准|制定|印发|修订|修正|令))"
)
_OF_TITLE = re.compile(r"^([一-鿿、]{3,40}?)(?:关于|印发)")
_MEETING = re.compile(r"^(?:第?[一二三四五六七八九十百\d]+届)?(.*?)(?:常务会议|局务会议|部务会议|委务会议|署务会议)?$")


def authority_of_number(doc_number: str) -> str:
    """The authority whose document number it is; empty where the number alone doesn't tell."""
    named = re.match(r"\s*([一-鿿、]{2,60}?)令", doc_number)
    if named:
        return named[1].removeprefix("中华人民共和国") if "国务院" in named[1] else named[1]
    word = re.match(r"[一-鿿]+", doc_number)
    prefixes = sorted(_NUMBER_AUTHORITIES, key=len, reverse=True)
    return next((_NUMBER_AUTHORITIES[prefix] for prefix in prefixes if word and word[0].startswith(prefix)), "")


def authority_in(text: str) -> str:
    """The authority named behind a date in a legislative history: 国务院 in 国务院第55次常务会议通过."""
    congress = re.match(
        r"\s*(?:第[一二三四五六七八九十]+届)?((?:[一-鿿]{0,12}?(?:省|市|自治区|州|县))?(?:全国|第[一二三四五六七八九十]+届)?.{0,12}?人民代表大会)(常务委员会)?",
        text,
    )
    if congress:
        place = re.sub(r"第[一二三四五六七八九十]+届", "", congress[1])
        place = "全国人民代表大会" if place == "人民代表大会" else place
        return place + (congress[2] or "")
    found = _BEFORE_ACT.match(text)
    name = found[1].strip() if found else ""
    meeting = _MEETING.match(name)
    name = meeting[1] if meeting else name
    return name.removeprefix("中华人民共和国") if "国务院" in name else name


def authority_of_title(title: str) -> str:
    """The authority at the head of a title (国务院关于…); empty where none stands there."""
    match = _OF_TITLE.match(title)
    return match[1] if match and level_of(match[1], "") is not AuthorityLevel.UNKNOWN else ""


def level_of(authority: str, title: str) -> AuthorityLevel:
    """The rank of an authority; the title decides where it says more (中华人民共和国…法, …的解释)."""
    if _INTERPRETATION.search(title) or _JUDICIARY.match(authority):
        return AuthorityLevel.INTERPRETATION
    region = region_of(authority)
    if not region and (_LAW_TITLE.match(title) or _CONGRESS.search(authority)):
        return AuthorityLevel.LAW
    if _STATE_COUNCIL.match(authority):
        return AuthorityLevel.ADMINISTRATIVE_REGULATION
    if region:
        return _regional_level(region)
    return AuthorityLevel.DEPARTMENT_RULE if _NATIONAL.match(authority) else AuthorityLevel.UNKNOWN


def region_of(text: str) -> str:
    """The region that a title or an authority starts with: 云岭省, 云岭省江城市, 上海市; empty where it names none."""
    text = text.removeprefix("中共").strip()
    found = ""
    for pattern in (_PROVINCE, _CITY, _COUNTY):
        match = pattern.match(text, len(found))
        if match and match[0][0] not in _NOT_A_NAME:
            found += match[0]
    return found


def _regional_level(region: str) -> AuthorityLevel:
    if region in _MUNICIPALITIES or _PROVINCE.fullmatch(region):
        return AuthorityLevel.PROVINCIAL
    if region.endswith(("县", "旗", "区")) and not region.endswith(("自治区", "地区")):
        return AuthorityLevel.COUNTY
    return AuthorityLevel.MUNICIPAL
