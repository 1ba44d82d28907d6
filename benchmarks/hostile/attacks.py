"""The worst requests known, each as large as the limits of a server allow."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

ROOM = 19_900
"""Characters of a request's text, of the 20,000 that a server takes."""
BOUNDARY = "----------------regard"
PARAGRAPH = "<w:p><w:r><w:t>one </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>two</w:t></w:r></w:p>"
MARKED = "**One** [two](three) `four` _five_ <b>six</b> &amp; {n} of %s files at https://a.b/c.\n\n"


class Requests:
    """Makes requests to a server that translates from one language to another."""

    def __init__(self, host: str, port: int, source: str, target: str) -> None:
        self.host = f"{host}:{port}"
        self.languages = {"source": source, "target": target}

    def post(self, path: str, body: bytes, kind: str = "application/json") -> bytes:
        """A request with a body; the server closes the connection after the response."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def json(self, path: str, q: str | list[str], **fields: Any) -> bytes:
        """A request with a text and other fields."""
        return self.post(path, json.dumps({"q": q, **self.languages, **fields}).encode())

    def file(self, name: str, content: str | bytes) -> bytes:
        """The upload of a file."""
        data = content.encode() if isinstance(content, str) else content
        parts = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in self.languages.items()
        ]
        parts.append(
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="{name}"\r\n\r\n'
        )
        body = "".join(parts).encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode()
        return self.post("/translate_file", body, f"multipart/form-data; boundary={BOUNDARY}")

    def get(self, path: str) -> bytes:
        """A request without a body, on a connection that stays open."""
        return f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()


def filled(unit: str, before: str = "", after: str = "") -> str:
    """A unit as often as it fits into a request.

    >>> len(filled("{} "))
    19899
    """
    return before + unit * ((ROOM - len(before) - len(after)) // len(unit)) + after


def worst_requests(make: Requests, words: str) -> dict[str, bytes]:
    """Requests by name; `words` is an ordinary sentence."""
    return dict([*_texts(make, words), *_files(make), *_inside(make, words)])


def ordinary_requests(make: Requests, words: str) -> dict[str, bytes]:
    """One small request of each kind, after which a server has loaded all that it needs."""
    return {
        "text": make.json("/translate", words),
        "alternatives": make.json("/translate", words, alternatives=2),
        "glossary": make.json("/translate", words, glossary={"one": "un"}),
        "html": make.json("/translate", f"<p>{words} <b>one</b></p>", format="html"),
        "detection": make.json("/detect", words),
        "markdown": make.file("a.md", MARKED),
        "docx": make.file("a.docx", office_file(PARAGRAPH)),
        "yaml": make.file("a.yaml", "a: b c\n"),
        "maps": make.json("/v1/translate", words, maps=[{}]),
        "view": make.json("/v1/view", words),
        "stream": make.json("/v1/stream", words),
        "edits": make.json("/v1/intervene", words, edits=[{"type": "switch_off"}], maps=[{}]),
    }


def _texts(make: Requests, words: str) -> Iterator[tuple[str, bytes]]:
    """Texts that once took a server minutes, or that are only long."""
    terms = {f"term {n}": f"terme {n}" for n in range(800)}
    texts = {
        "a brace and spaces": filled(" ", "a {", "!! }"),
        "empty braces": filled("{} "),
        "open braces": filled("{"),
        "one word": filled("a"),
        "printf": filled("%s "),
        "tags": filled("<a "),
        "paths": filled("/a++++--a"),
        "sentences": filled(f"{words} "),
    }
    for name, text in texts.items():
        yield name, make.json("/translate", text)
    yield "500 texts", make.json("/translate", [words[:39]] * 500)
    yield "alternatives", make.json("/translate", filled(f"{words} "), alternatives=10)
    yield "detection", make.json("/translate", filled("ab cde "), source="auto")
    yield "glossary of 22 kB", make.json("/translate", words * 5, glossary=terms)
    yield "comments as html", make.json("/translate", filled("<!--"), format="html")
    yield "elements as html", make.json("/translate", filled("<b>"), format="html")
    yield "markup as html", make.json("/translate", filled("<i>a</i> <b>b</b> "), format="html")
    yield "nested JSON", make.post("/translate", b"[" * 250_000)
    yield "a wrong key", make.json("/translate", words, api_key="x" * 40)


def _files(make: Requests) -> Iterator[tuple[str, bytes]]:
    """Documents that once took a server minutes, and large ones."""
    comments = filled("<!--")
    documents = {
        "front matter.md": filled("a\r\n", "---\r\n"),
        "heading.md": filled(" ", "# a", "b"),
        "lists.md": filled("- "),
        "images.md": filled("![a"),
        "open tag.md": filled(" ", "x <a"),
        "table.md": filled("` ", "a | b\n--|--\na ", "\\"),
        "quotes.md": filled("> "),
        "marked.md": filled(MARKED),
        "brackets.yaml": "[" * 100_000,
        "list.yaml": filled("- a\n"),
        "comments.json": json.dumps({"a": comments}),
        "comments.po": f'msgid "{comments}"\nmsgstr ""\n',
        "messages.po": "".join(f'msgid "a {n}"\nmsgstr ""\n\n' for n in range(1500)),
        "comments.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{comments}\n",
        "comments.vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n{comments}\n",
        "comments.html": f"<p>{comments}",
        "units.xliff": "<xliff><file>" + "<trans-unit><source>a" * 4000,
    }
    for name, content in documents.items():
        yield name, make.file(name, content)
    yield "bomb.docx", make.file("bomb.docx", office_file(" " * 9_000_000))
    yield "paragraphs.docx", make.file("a.docx", office_file(PARAGRAPH * 2800))


def _inside(make: Requests, words: str) -> Iterator[tuple[str, bytes]]:
    """Maps, edits and streams, within the limits and beyond them."""
    many = " ".join(["word"] * 2000)
    edits = [{"type": "switch_off", "kind": "cross", "heads": [0]}] * 100
    forbidden = [f"mot {n}" for n in range(100)]
    yield "maps of 2,000 words", make.json("/v1/translate", many, split=False, maps=[{}])
    yield "maps of sentences", make.json("/v1/translate", f"{words} " * 8, maps=[{}])
    yield "a view", make.json("/v1/view", f"{words} " * 8)
    yield "100 edits", make.json("/v1/intervene", words, edits=edits, maps=[{}])
    yield "forbidden words", make.json("/v1/translate", f"{words} " * 20, forbid=forbidden)
    yield "a long stream", make.json("/v1/stream", filled(f"{words} "))


def office_file(paragraphs: str) -> bytes:
    """A DOCX file."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    text = f"<w:document {space}><w:body>{paragraphs}</w:body></w:document>"
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", text)
    return output.getvalue()
