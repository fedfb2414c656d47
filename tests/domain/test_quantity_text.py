"""Quantities read from text: known answers, what is no quantity, and numbers written and read back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.numerals import parse_numeral
from orchestrator.domain.quantity import Bound, QuantityKind
from orchestrator.domain.quantity_text import label_spans, parse_quantities

Row = tuple[str, str, str, str, str]


def rows(text: str) -> list[Row]:
    return [(q.text, q.value_text, q.upper_text, q.unit, q.bound.value) for q in parse_quantities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三个工作日", ("三个工作日", "3", "", "workday", "exact")),
        ("百分之七十", ("百分之七十", "0.7", "", "1", "exact")),
        ("70%", ("70%", "0.7", "", "1", "exact")),
        ("百分之零点五", ("百分之零点五", "0.005", "", "1", "exact")),
        ("千分之三", ("千分之三", "0.003", "", "1", "exact")),
        ("万分之五的滞纳金", ("万分之五", "0.0005", "", "1", "exact")),
        ("七成五", ("七成五", "0.75", "", "1", "exact")),
        ("1.5万元", ("1.5万元", "15000", "", "CNY", "exact")),
        ("３０００元", ("３０００元", "3000", "", "CNY", "exact")),
        ("3,000元", ("3,000元", "3000", "", "CNY", "exact")),
        ("人民币五万元", ("五万元", "50000", "", "CNY", "exact")),
        ("3元5角", ("3元5角", "3.5", "", "CNY", "exact")),
        ("处五千元以上二万元以下罚款", ("五千元以上二万元以下", "5000", "20000", "CNY", "exact")),
        ("处五千元以上，二万元以下罚款", ("五千元以上，二万元以下", "5000", "20000", "CNY", "exact")),
        ("三至五万元", ("三至五万元", "30000", "50000", "CNY", "exact")),
        ("违法所得50%以上1倍以下", ("50%以上1倍以下", "0.5", "1", "1", "exact")),
        ("不低于5%且不超过10%", ("不低于5%且不超过10%", "0.05", "0.1", "1", "exact")),
        ("已满十四周岁不满十八周岁", ("已满十四周岁不满十八周岁", "14", "18", "age", "less_than")),
        ("六个月以上三年以下有期徒刑", ("六个月以上三年以下", "6", "36", "month", "exact")),
        ("半年", ("半年", "0.5", "", "year", "exact")),
        ("一年半", ("一年半", "1.5", "", "year", "exact")),
        ("两个半月", ("两个半月", "2.5", "", "month", "exact")),
        ("1年6个月以上", ("1年6个月", "1.5", "", "year", "at_least")),
        ("两三天", ("两三天", "2", "3", "day", "exact")),
        ("7 个工作日内", ("7 个工作日", "7", "", "workday", "at_most")),
        ("自收到之日起15日内", ("15日", "15", "", "day", "at_most")),
        ("有效期届满三十日前", ("三十日", "30", "", "day", "at_least")),
        ("不得超过十五个工作日", ("十五个工作日", "15", "", "workday", "at_most")),
        ("最长不超过180天", ("180天", "180", "", "day", "at_most")),
        ("不应当低于2人", ("2人", "2", "", "person", "at_least")),
        ("最高支付限额为15万元", ("15万元", "150000", "", "CNY", "exact")),
        ("最高15万元", ("15万元", "150000", "", "CNY", "at_most")),
        ("1万元以上（不含1万元）", ("1万元", "10000", "", "CNY", "more_than")),
        ("5000元（含）以下", ("5000元", "5000", "", "CNY", "at_most")),
        ("不足半年", ("半年", "0.5", "", "year", "less_than")),
        ("未满十八周岁", ("十八周岁", "18", "", "age", "less_than")),
        ("30日左右", ("30日", "30", "", "day", "about")),
        ("十余人", ("十余人", "10", "", "person", "about")),
        ("三分之二以上多数", ("三分之二", "0.6666666666666666666666666667", "", "1", "at_least")),
        ("过半数通过", ("过半数", "0.5", "", "1", "more_than")),
        ("提高5个百分点", ("5个百分点", "5", "", "percentage_point", "exact")),
        ("贮存于-18℃", ("18℃", "-18", "", "celsius", "exact")),
        ("记12分", ("12分", "12", "", "score", "exact")),
        ("2024年1月1日起", ("2024年1月1日", "2024-01-01", "", "date", "at_least")),
        ("自二〇二四年一月一日起施行", ("二〇二四年一月一日", "2024-01-01", "", "date", "at_least")),
        ("二○二四年二月二十九日", ("二○二四年二月二十九日", "2024-02-29", "", "date", "exact")),
        ("2024年底", ("2024年底", "2024-12-31", "", "date", "exact")),
        ("2024年2月", ("2024年2月", "2024-02-01", "2024-02-29", "date", "exact")),
        ("2024年9月1日至12月31日", ("2024年9月1日至12月31日", "2024-09-01", "2024-12-31", "date", "exact")),
        ("每月25日前", ("25日", "25", "", "day_of_month", "at_most")),
        ("每年3月31日前", ("3月31日", "03-31", "", "month_day", "at_most")),
    ],
)
def test_known_answers(text: str, expected: Row) -> None:
    assert rows(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "第十二条第3款",
        "第三、四项",
        "第二至第五条",
        "第十二条之一",
        "一、总则",
        "（一）申请书；",
        "2024年度",
        "医保发〔2024〕12号",
        "国务院令第735号",
        "三级医院与二级医院",
        "第三类医疗器械",
        "一般应当在一定期限内统一，万一十分重要，一律不得",
        "任何一方、同一、唯一、之一、进一步、一次性告知",
        "百元以上千元以下",
        "数十万元",
        "零件、零售",
        "GB 2760-2014",
        "六年级，二十世纪九十年代",
        "一个参保人",
        "",
    ],
)
def test_labels_and_idioms_are_no_quantities(text: str) -> None:
    assert rows(text) == []


def test_several_in_one_sentence_keep_their_places() -> None:
    sentence = "参保人在三级医院住院报销70%，在二级医院报销80%，起付线为1000元。"
    quantities = parse_quantities(sentence)
    assert [q.text for q in quantities] == ["70%", "80%", "1000元"]
    assert all(sentence[q.start : q.end] == q.text for q in quantities)
    assert [q.kind for q in quantities] == [QuantityKind.RATIO, QuantityKind.RATIO, QuantityKind.MONEY]


def test_words_that_bound_are_part_of_the_phrase() -> None:
    sentence = "期限不得超过十五日。"
    (quantity,) = parse_quantities(sentence)
    assert sentence[quantity.phrase_start : quantity.phrase_end] == "不得超过十五日"


@pytest.mark.parametrize(
    ("text", "per"),
    [
        ("每人每月50元", "month/person"),
        ("50元/人·月", "month/person"),
        ("每年不超过400元", "year"),
        ("每年召开一次", "year"),
        ("400元", ""),
        ("每年体检，费用400元", ""),
    ],
)
def test_what_it_is_counted_by(text: str, per: str) -> None:
    assert parse_quantities(text)[-1].per == per


def test_days_and_months_without_a_common_base_stay_two() -> None:
    assert [row[4] for row in rows("处15日以上1个月以下")] == ["at_least", "at_most"]


def test_impossible_dates_are_not_dates() -> None:
    assert all(q.unit != "date" for q in parse_quantities("2023年2月30日"))


def test_label_spans() -> None:
    text = "依照第十二条和〔2024〕12号文"
    assert [text[start:end] for start, end in label_spans(text)] == ["第十二条", "〔2024〕12号"]


_DIGITS = "零一二三四五六七八九"


def chinese(number: int) -> str:
    """The standard writing of a number below 10^12, made by place, independently of the reader."""
    if number >= 10**8:
        return _joined(number, 10**8, "亿")
    if number >= 10**4:
        return _joined(number, 10**4, "万")
    text, rest, gap = "", number, False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, rest = divmod(rest, unit)
        if digit:
            text += ("零" if gap and text else "") + _DIGITS[digit] + name
            gap = False
        else:
            gap = bool(text)
    return text or "零"


def _joined(number: int, unit: int, name: str) -> str:
    high, low = divmod(number, unit)
    zero = "零" if low and low < unit // 10 else ""
    return chinese(high) + name + (zero + chinese(low) if low else "")


@settings(deadline=None)
@given(st.integers(1, 10**12 - 1))
def test_chinese_numerals_round_trip(number: int) -> None:
    assert parse_numeral(chinese(number)) == number


@settings(deadline=None)
@given(
    st.integers(1, 10**9), st.sampled_from([("元", "CNY"), ("日", "day"), ("个工作日", "workday"), ("人", "person")])
)
def test_amounts_round_trip(number: int, unit: tuple[str, str]) -> None:
    for written in (str(number), f"{number:,}", chinese(number)):
        (quantity,) = parse_quantities(f"标准为{written}{unit[0]}。")
        assert (quantity.value, quantity.unit, quantity.bound) == (Decimal(number), unit[1], Bound.EXACT)


@settings(deadline=None)
@given(st.decimals(min_value=Decimal("0.01"), max_value=Decimal(100), places=2))
def test_percentages_round_trip(percent: Decimal) -> None:
    text = format(percent.normalize(), "f")
    whole, _, fraction = text.partition(".")
    spoken = chinese(int(whole)) + ("点" + "".join(_DIGITS[int(digit)] for digit in fraction) if fraction else "")
    for written in (f"{text}%", f"{text}％", f"百分之{spoken}"):
        (quantity,) = parse_quantities(f"比例为{written}。")
        assert quantity.value == percent / 100


@settings(deadline=None)
@given(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)))
def test_dates_round_trip(day: dt.date) -> None:
    year = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(day.year))
    for written in (
        day.isoformat(),
        f"{day.year}年{day.month}月{day.day}日",
        f"{year}年{_ordinal(day.month)}月{_ordinal(day.day)}日",
    ):
        (quantity,) = parse_quantities(f"自{written}起施行")
        assert quantity.value_text == day.isoformat()


def _ordinal(number: int) -> str:
    text = chinese(number)
    return text.removeprefix("一") if text.startswith("一十") else text


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_error(text: str) -> None:
    for quantity in parse_quantities(text):
        assert text[quantity.start : quantity.end] == quantity.text


@settings(deadline=None)
@given(st.text(alphabet="零一二两三十百千万亿半年月日元%第条不超过以上下至个人0123456789.,，分之点成倍", max_size=40))
def test_number_like_text_is_read_without_error(text: str) -> None:
    for quantity in parse_quantities(text):
        assert text[quantity.start : quantity.end] == quantity.text
        assert quantity.upper is None or quantity.upper >= quantity.value
