"""
`code`: functions and classes whole where they fit, cut along the syntax tree where they do not.

What a chunk uses of the file's imports, and the signatures it stands in, stand before it in what is
embedded; the text itself is neither changed nor repeated.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assembler.span import Span
from indexer.cut import Cutter
from indexer.sections import Part
from indexer.strategies.fit import PREFIX_SHARE, pieces_of
from indexer.strategies.grammars import Grammar, Tree, grammar_of, inside
from indexer.strategies.pieces import Cut, CutPart, Piece, SourceToCut, Values
from indexer.strategies.structure import cut_by_structure

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = re.compile(r"[^\W\d]\w+")
WORDS = frozenset(
    ("import", "from", "as", "use", "using", "include", "static", "crate", "self", "super", "type")
)
"""What imports are written with; names nothing."""

DEEPEST = 12
"""Definitions nested deeper are not looked into."""


@dataclass(frozen=True, slots=True)
class Unit:
    """
    A run of lines that belong together.

    Attributes:
        signatures: Those that it stands in, outermost first.
        opens: The signature that it begins with, where what follows stands in it; else "".
    """

    span: Span
    signatures: tuple[str, ...] = ()
    opens: str = ""

    @property
    def inner(self) -> tuple[str, ...]:
        """
        Return the signatures that what follows its first lines stands in.
        """
        return (*self.signatures, self.opens) if self.opens else self.signatures


@dataclass(frozen=True, slots=True)
class Import:
    """
    An import on one line, where it stands, and the names that no other import has.
    """

    text: str
    span: Span
    names: frozenset[str]


def cut_by_syntax(source: SourceToCut, values: Values, fallback: Values) -> Cut:
    """
    Return sections of whole definitions, and chunks of whole definitions inside them.

    Args:
        source: The text.
        values: Settings.
        fallback: Settings of `structure`, which cuts code of a language without a grammar.

    Raises:
        InvalidRequest: The grammar is not installed.
    """
    grammar = grammar_of(source.name)
    if grammar is None:
        cut = cut_by_structure(source, fallback)
        return Cut(cut.parts, cut.cutter, "structure: no grammar for this suffix")
    size = min(int(values["size"]), source.room_tokens)
    cutter = source.cutter(size)
    tree = Tree(source.text, grammar)
    imports = _imports(source.text, tree, grammar)
    outline = _Outline(source, tree, grammar, size)
    groups = _grouped(source, outline.units(tree.root, source.whole, ()), size)
    most = max(int(values["section_tokens"]), size)
    units = (part for unit in groups for part in _parts(cutter, unit, most))
    parts = [
        CutPart(Part(_span(section), ()), _pieces(source, cutter, section, imports, size))
        for section in _sections(source, units, most)
    ]
    return Cut(tuple(parts), cutter, "code: syntax tree")


class _Outline:
    """
    Walks a tree down to units of at most so many tokens, where definitions allow it.
    """

    def __init__(self, source: SourceToCut, tree: Tree, grammar: Grammar, size: int) -> None:
        self._source = source
        self._tree = tree
        self._grammar = grammar
        self._size = size

    def units(self, node: Node, span: Span, signatures: tuple[str, ...]) -> list[Unit]:
        """
        Return units that partition a range, one definition of the node in each.
        """
        text = self._source.text
        found: list[tuple[int, Node | None]] = [(span.start, None)]
        reached, remark = span.start, -1
        for child in inside(node):
            start = self._tree.start(child)
            line = max(text.rfind("\n", 0, start) + 1, span.start)
            is_own_line = line >= reached and not text[line:start].strip()
            if child.type.endswith("comment"):
                remark = line if remark < 0 and is_own_line else remark
                continue
            first = line if remark < 0 else remark
            is_definition = self._definition(child) is not None
            if not is_own_line:
                found[-1] = (found[-1][0], None)  # it shares a line with what stands before
            elif first == span.start:
                found[-1] = (first, child if is_definition else None)
            elif is_definition or found[-1][1] is not None:
                found.append((first, child if is_definition else None))
            reached, remark = self._tree.end(child), -1
        ends = [*(start for start, _ in found[1:]), span.end]
        return [
            unit
            for (start, child), end in zip(found, ends, strict=True)
            for unit in self._unit(child, Span(start, end), signatures)
        ]

    def _unit(self, node: Node | None, span: Span, signatures: tuple[str, ...]) -> list[Unit]:
        whole = Unit(span, signatures)
        if node is None or self._source.ruler.tokens(span) <= self._size:
            return [whole]
        definition = self._definition(node)
        if definition is None or len(signatures) >= DEEPEST:
            return [whole]
        opens = self._signature(definition)
        if definition.type not in self._grammar.holders:
            return [Unit(span, signatures, opens)]
        head, *rest = self.units(definition, span, (*signatures, opens))
        return [Unit(head.span, signatures, opens), *rest]

    def _definition(self, node: Node) -> Node | None:
        if node.type in self._grammar.holders or node.type in self._grammar.definitions:
            return node
        if node.type in self._grammar.wrappers:
            found = (self._definition(child) for child in node.named_children)
            return next((one for one in found if one is not None), None)
        return None

    def _signature(self, node: Node) -> str:
        body = node.child_by_field_name("body")
        end = self._tree.end(node) if body is None else self._tree.start(body)
        head = self._source.text[self._tree.start(node) : end]
        return " ".join(head.split()).rstrip("{ ")


def _imports(text: str, tree: Tree, grammar: Grammar) -> list[Import]:
    nodes = [node for node in tree.root.named_children if node.type in grammar.imports]
    spans = [Span(tree.start(node), tree.end(node)) for node in nodes]
    texts = [" ".join(span.slice(text).split()) for span in spans]
    names = [frozenset(_NAME.findall(one)) - WORDS for one in texts]
    counts = Counter(itertools.chain.from_iterable(names))
    return [
        Import(one, span, frozenset(name for name in own if counts[name] == 1))
        for one, span, own in zip(texts, spans, names, strict=True)
    ]


def _grouped(source: SourceToCut, units: Sequence[Unit], size: int) -> Iterator[Unit]:
    """
    Yield neighbouring units joined up to the size: of the same signatures, or what opens one with
    what stands in it.
    """
    held: Unit | None = None
    for unit in units:
        if held is not None and unit.signatures in (held.signatures, held.inner):
            whole = held.span.union(unit.span)
            if source.ruler.tokens(whole) <= size or not held.span.slice(source.text).strip():
                opens = held.opens if unit.signatures == held.inner else unit.opens
                held = Unit(whole, held.signatures, opens)
                continue
        if held is not None:
            yield held
        held = unit
    if held is not None:
        yield held


def _parts(cutter: Cutter, unit: Unit, most_tokens: int) -> Iterator[Unit]:
    """
    Yield the unit, or parts of one that is longer than a section.
    """
    first, *rest = cutter.cut(unit.span, most_tokens)
    yield Unit(first, unit.signatures, unit.opens)
    for span in rest:
        yield Unit(span, unit.inner)


def _sections(source: SourceToCut, units: Iterator[Unit], most_tokens: int) -> Iterator[list[Unit]]:
    """
    Yield neighbouring units together up to so many tokens; a top-level definition begins anew where
    the section before is half full.
    """
    section: list[Unit] = []
    for unit in units:
        if section:
            tokens = source.ruler.tokens(Span(section[0].span.start, unit.span.end))
            is_half_full = source.ruler.tokens(_span(section)) > most_tokens // 2
            if tokens > most_tokens or (is_half_full and not unit.signatures):
                yield section
                section = []
        section.append(unit)
    if section:
        yield section


def _pieces(
    source: SourceToCut, cutter: Cutter, units: Sequence[Unit], imports: Sequence[Import], size: int
) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for unit in units:
        for number, span in enumerate(cutter.cut(unit.span, size)):
            signatures = unit.inner if number else unit.signatures
            prefix = _prefix(source, signatures, span, imports, size)
            found += pieces_of(source, cutter, [span], prefix=prefix, size=size)
    return tuple(found)


def _prefix(
    source: SourceToCut,
    signatures: Sequence[str],
    span: Span,
    imports: Sequence[Import],
    size: int,
) -> str:
    """
    Return the imports that a piece uses and its signatures, the innermost kept where room is short.
    """
    names = frozenset(_NAME.findall(span.slice(source.text)))
    used = [one.text for one in imports if names & one.names]
    if any(one.span.overlaps(span) for one in imports):
        used = []
    special = source.embedder.count("")
    room = min(source.room_tokens - size, source.most_tokens // PREFIX_SHARE)
    kept: set[str] = set()
    for line in (*reversed(signatures), *used):
        tokens = source.embedder.count(line) - special + 1
        if tokens <= room:
            kept.add(line)
            room -= tokens
    return "\n".join(line for line in (*used, *signatures) if line in kept)


def _span(units: Sequence[Unit]) -> Span:
    return Span(units[0].span.start, units[-1].span.end)
