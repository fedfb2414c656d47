"""Text without articles: numbered items (一、（一）1.) as a tree, cut into units of a useful size; else paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.drafts import Draft
from ingest.labels import Label, read_item
from ingest.lines import Line, Role
from ingest.outline import is_heading_text
from orchestrator.knowledge.clause import ClauseType, PathElement, Position

__all__ = ["ItemCutter", "count_leading_lines", "has_items"]

# An item this long stands alone; shorter ones are joined with their neighbours up to the target: a clause of a few
# words answers no question, one of many hundred hides the sentence that does. 一、二、 of a document without articles
# are what others refer to as 第一条, so they stand alone much earlier.
_ALONE_CHARS = 80
_OUTERMOST_ALONE_CHARS = 15
_TARGET_CHARS = 400
# A lead sentence this short (…有下列情形之一的：) names its item in the path of the items below it.
_LEAD_CHARS = 60


@dataclass(slots=True)
class _Node:
    label: Label | None = None
    lines: list[Line] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)

    def all_lines(self) -> Iterator[Line]:
        yield from self.lines
        for child in self.children:
            yield from child.all_lines()

    def size(self) -> int:
        return sum(len(line.text) for line in self.all_lines())

    def has_table(self) -> bool:
        return any(line.role is Role.TABLE for line in self.all_lines())


def has_items(lines: list[Line]) -> bool:
    """Whether any of the lines starts a numbered item."""
    return bool(_tree(lines).children)


def count_leading_lines(lines: list[Line]) -> int:
    """How many lines stand above the first item."""
    return len(_tree(lines).lines)


class ItemCutter:
    """Cuts one stretch of lines, all under the same headings.

    Args:
        path: the headings above.
        position: body or appendix.
        max_chars: the longest that a clause may be.
    """

    def __init__(self, path: tuple[PathElement, ...], position: Position, max_chars: int) -> None:
        self._path = path
        self._position = position
        self._target = min(_TARGET_CHARS, max_chars)
        self._drafts: list[Draft] = []

    def cut(self, lines: list[Line]) -> list[Draft]:
        """The drafts, in order. Lines that became headings of their items have ``Role.HEADING`` afterwards."""
        root = _tree(lines)
        self._pack(root, self._path, "")
        return self._drafts

    def _emit(self, node: _Node, path: tuple[PathElement, ...]) -> None:
        assert node.label is not None
        first = node.lines[0]
        rest = first.text[node.label.end :].strip()
        goes_on = len(node.lines) > 1 or bool(node.children)
        named = is_heading_text(rest) or (rest.endswith(("：", ":")) and len(rest) <= _LEAD_CHARS)
        heading = rest if goes_on and named else ""
        path = (*path, PathElement(node.label.level, node.label.text, heading))
        if node.size() <= self._target and not node.has_table():
            self._draft(list(node.all_lines()), path, node.label.canonical)
            return
        if goes_on and is_heading_text(first.text):
            first.role = Role.HEADING
        self._pack(node, path, node.label.canonical)

    def _pack(self, node: _Node, path: tuple[PathElement, ...], label: str) -> None:
        """A node's own paragraphs and its items: long items alone, the rest joined up to the target."""
        group: list[_Node] = []
        paragraphs = [_Node(None, [line]) for line in node.lines if line.role is not Role.HEADING]
        for part in (*paragraphs, *node.children):
            if part.has_table() or (part.label and part.size() >= _alone_chars(part.label)):
                self._flush(group, path, label)
                self._table_or_item(part, path)
                continue
            if group and sum(member.size() for member in group) + part.size() > self._target:
                self._flush(group, path, label)
            group.append(part)
        self._flush(group, path, label)

    def _table_or_item(self, part: _Node, path: tuple[PathElement, ...]) -> None:
        if part.label is not None:
            self._emit(part, path)
            return
        line = part.lines[0]
        self._drafts.append(Draft([line], path, ClauseType.TABLE, self._position, table=line.block.table))

    def _flush(self, group: list[_Node], path: tuple[PathElement, ...], label: str) -> None:
        if len(group) == 1 and group[0].label is not None:
            self._emit(group[0], path)
        elif group:
            self._draft([line for part in group for line in part.all_lines()], path, label)
        group.clear()

    def _draft(self, lines: list[Line], path: tuple[PathElement, ...], label: str) -> None:
        is_item = any(step.level == "项" for step in path)
        kind = ClauseType.ITEM if is_item else ClauseType.TEXT
        self._drafts.append(Draft(lines, path, kind, self._position, label=label))


def _alone_chars(label: Label) -> int:
    return _OUTERMOST_ALONE_CHARS if label.style == "一、" else _ALONE_CHARS


def _tree(lines: list[Line]) -> _Node:
    root = _Node()
    open_nodes = [root]
    for line in lines:
        label = read_item(line.text) if line.role is Role.TEXT and not line.quoted else None
        depth = _depth(open_nodes, label, line) if label else None
        if label is None or depth is None:
            open_nodes[-1].lines.append(line) if not open_nodes[-1].children else open_nodes[-1].children.append(
                _Node(None, [line])
            )
            continue
        del open_nodes[depth:]
        node = _Node(label, [line])
        open_nodes[-1].children.append(node)
        open_nodes.append(node)
    return root


def _depth(open_nodes: list[_Node], label: Label, line: Line) -> int | None:
    """How deep an item stands among the open ones; None where the number doesn't fit, so that it is mere text."""
    if label.style == "1 " and not is_heading_text(line.text):
        return None
    for depth, node in enumerate(open_nodes):
        if node.label is not None and node.label.style == label.style:
            before = node.label.number
            fits = label.number[-1] == 1 or label.number > before
            return depth if fits else None
    return len(open_nodes) if label.number[-1] == 1 else None
