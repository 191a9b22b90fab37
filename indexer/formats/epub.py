"""
EPUB to the Markdown of its chapters, in reading order.
"""

from __future__ import annotations

import posixpath
import zipfile
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

from indexer.formats.converted import Converted, NotConverted, zipped
from indexer.formats.html import html_to_markdown

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
FONT_METHODS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def epub_to_markdown(content: bytes) -> Converted:
    """
    Return the chapters of a book.

    Raises:
        NotConverted: It is protected or damaged.
    """
    with zipped(content) as archive:
        if _is_encrypted(archive):
            raise NotConverted("is protected; only books without protection are read")
        chapters = [
            html_to_markdown(_read(archive, name).decode("utf-8", "replace"))
            for name in _spine(archive)
        ]
    return Converted(
        "\n".join(one.text for one in chapters if one.text.strip()),
        left_out=tuple(
            f"{told} (chapter {number})"
            for number, one in enumerate(chapters, start=1)
            for told in one.left_out
        ),
    )


def _spine(archive: zipfile.ZipFile) -> list[str]:
    container = BeautifulSoup(_read(archive, CONTAINER), "html.parser").find("rootfile")
    if not isinstance(container, Tag):
        raise NotConverted("is damaged: it names no package")
    package = str(container.get("full-path", ""))
    book = BeautifulSoup(_read(archive, package), "html.parser")
    files = {
        str(one.get("id")): str(one.get("href", ""))
        for one in book("item")
        if "html" in str(one.get("media-type", ""))
    }
    folder = posixpath.dirname(package)
    order = (str(one.get("idref")) for one in book("itemref"))
    return [
        posixpath.normpath(posixpath.join(folder, unquote(files[one])))
        for one in order
        if one in files
    ]


def _is_encrypted(archive: zipfile.ZipFile) -> bool:
    """
    Return whether anything but fonts is encrypted.
    """
    if ENCRYPTION not in archive.namelist():
        return False
    methods = BeautifulSoup(_read(archive, ENCRYPTION), "html.parser").find_all(
        lambda tag: tag.name.rpartition(":")[2] == "encryptionmethod"
    )
    return any(str(one.get("algorithm")) not in FONT_METHODS for one in methods)


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise NotConverted(f"is damaged: {name or 'a part'} cannot be read") from error
    except Exception as error:  # decompressors raise errors of their own
        raise NotConverted(f"is damaged: {error}") from error
