"""
Syntax trees of source code by tree-sitter, with offsets in code points.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from assembler.errors import InvalidRequest

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True, slots=True)
class Grammar:
    """
    Where a language's grammar is, and which of its nodes stand for what.

    Attributes:
        module: The package that carries it.
        function: Its function that returns it.
        holders: Nodes with definitions inside: classes, traits, namespaces.
        definitions: Nodes that are kept whole: functions and methods.
        imports: Nodes that name what other files define.
        wrappers: Nodes around a definition: decorators, exports, templates.
    """

    module: str
    holders: frozenset[str]
    definitions: frozenset[str]
    imports: frozenset[str]
    wrappers: frozenset[str] = field(default_factory=frozenset)
    function: str = "language"


_JAVASCRIPT = Grammar(
    "tree_sitter_javascript",
    frozenset(["class_declaration", "class"]),
    frozenset(
        [
            *("function_declaration", "generator_function_declaration", "method_definition"),
            *("lexical_declaration", "variable_declaration"),
        ]
    ),
    frozenset(["import_statement"]),
    frozenset(["export_statement"]),
)
_TYPESCRIPT = Grammar(
    "tree_sitter_typescript",
    _JAVASCRIPT.holders
    | {"abstract_class_declaration", "interface_declaration", "internal_module", "module"},
    _JAVASCRIPT.definitions | {"function_signature", "type_alias_declaration", "enum_declaration"},
    _JAVASCRIPT.imports,
    _JAVASCRIPT.wrappers,
    "language_typescript",
)
_TSX = Grammar(
    _TYPESCRIPT.module,
    _TYPESCRIPT.holders,
    _TYPESCRIPT.definitions,
    _TYPESCRIPT.imports,
    _TYPESCRIPT.wrappers,
    "language_tsx",
)
_PYTHON = Grammar(
    "tree_sitter_python",
    frozenset(["class_definition"]),
    frozenset(["function_definition"]),
    frozenset(["import_statement", "import_from_statement", "future_import_statement"]),
    frozenset(["decorated_definition"]),
)
_RUST = Grammar(
    "tree_sitter_rust",
    frozenset(["impl_item", "trait_item", "mod_item"]),
    frozenset(
        [
            *("function_item", "struct_item", "enum_item", "macro_definition", "union_item"),
            *("function_signature_item", "type_item", "const_item", "static_item"),
        ]
    ),
    frozenset(["use_declaration"]),
)
_GO = Grammar(
    "tree_sitter_go",
    frozenset(),
    frozenset(["function_declaration", "method_declaration", "type_declaration"]),
    frozenset(["import_declaration"]),
)
_JAVA = Grammar(
    "tree_sitter_java",
    frozenset(
        [
            *("class_declaration", "interface_declaration", "enum_declaration"),
            *("record_declaration", "annotation_type_declaration"),
        ]
    ),
    frozenset(["method_declaration", "constructor_declaration", "field_declaration"]),
    frozenset(["import_declaration"]),
)
_C = Grammar(
    "tree_sitter_c",
    frozenset(),
    frozenset(["function_definition", "struct_specifier", "type_definition", "declaration"]),
    frozenset(["preproc_include"]),
)
_CPP = Grammar(
    "tree_sitter_cpp",
    frozenset(["class_specifier", "struct_specifier", "namespace_definition"]),
    frozenset(["function_definition", "type_definition", "declaration", "field_declaration"]),
    frozenset(["preproc_include", "using_declaration"]),
    frozenset(["template_declaration"]),
)

GRAMMARS = {
    ".py": _PYTHON,
    ".pyi": _PYTHON,
    ".js": _JAVASCRIPT,
    ".mjs": _JAVASCRIPT,
    ".jsx": _JAVASCRIPT,
    ".ts": _TYPESCRIPT,
    ".tsx": _TSX,
    ".rs": _RUST,
    ".go": _GO,
    ".java": _JAVA,
    ".c": _C,
    ".h": _C,
    ".cc": _CPP,
    ".cpp": _CPP,
    ".hpp": _CPP,
}


def grammar_of(name: str) -> Grammar | None:
    """
    Return the grammar for a file's name, or None where there is none for its suffix.
    """
    return GRAMMARS.get(PurePosixPath(name).suffix.lower())


@functools.cache
def parser_of(grammar: Grammar) -> Parser:
    """
    Return a parser of the language.

    Raises:
        InvalidRequest: The optional dependencies are not installed.
    """
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        module = importlib.import_module(grammar.module)
    except ImportError as error:
        raise InvalidRequest(
            "strategy",
            f"code needs {grammar.module}, which is not installed; install "
            "'context-assembler[code]', or take another strategy",
        ) from error
    language = tree_sitter.Language(getattr(module, grammar.function)())
    parser: Parser = tree_sitter.Parser(language)
    return parser


class Tree:
    """
    A syntax tree whose nodes are asked for their ranges in code points.
    """

    def __init__(self, text: str, grammar: Grammar) -> None:
        content = text.encode("utf-8", "surrogatepass")
        self._tree = parser_of(grammar).parse(content)
        self._bytes: list[int] | None = None
        if len(content) != len(text):
            sizes = (len(one.encode("utf-8", "surrogatepass")) for one in text)
            self._bytes = [0, *itertools.accumulate(sizes)]

    @property
    def root(self) -> Node:
        """
        Return the node of the whole text.
        """
        return self._tree.root_node

    def start(self, node: Node) -> int:
        """
        Return the offset at which a node begins.
        """
        return self._offset(node.start_byte)

    def end(self, node: Node) -> int:
        """
        Return the offset at which a node ends.
        """
        return self._offset(node.end_byte)

    def _offset(self, place: int) -> int:
        if self._bytes is None:
            return place
        return max(bisect_right(self._bytes, place) - 1, 0)


def inside(node: Node) -> Iterator[Node]:
    """
    Yield the named nodes right inside a node, or inside its body where it has one.
    """
    body = node.child_by_field_name("body")
    yield from (node if body is None else body).named_children
