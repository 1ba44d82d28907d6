"""What is generated in pages: results of studies, the HTTP API; and folded solutions."""

import json
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

from regard.config.schema import Option, Range
from regard.config.settings import choices_of, setting_options

LOGGER = getLogger(__name__)
ROOT = Path(__file__).parent.parent
STUDIES = ROOT / "studies"
WORDS = {
    "solution": ("Solution", "参考答案"),
    "body": ("Request", "请求"),
    "answer": ("Answer", "响应"),
    "field": ("Field", "字段"),
    "type": ("Type", "类型"),
    "about": ("About", "说明"),
    "option": ("Setting", "设置"),
    "range": ("Range", "范围"),
    "default": ("Default", "默认值"),
    "required": ("required", "必填"),
    "claimed": ("Claimed: ", "说法："),
    "measured": ("Measured: ", "测量结果："),
    "holds": ("It holds.", "成立。"),
    "fails": ("It does not hold.", "不成立。"),
    "run": ("Figure and table:", "图与表："),
}


class MarkdownDirective(SphinxDirective):
    """A directive whose content is Markdown, written by `lines`."""

    def run(self) -> list[nodes.Node]:
        """Parse the lines as if they stood in the page."""
        container = nodes.container()
        container.document = self.state.document
        source = StringList(list(self.lines()), self.get_source_info()[0])
        self.state.nested_parse(source, self.content_offset, container)
        return container.children

    @property
    def chinese(self) -> bool:
        """Whether the page is one of the Chinese ones."""
        return self.env.config.language == "zh_CN"

    def say(self, name: str) -> str:
        """One of WORDS in the page's language."""
        return WORDS[name][self.chinese]

    def lines(self) -> Iterator[str]:
        """The Markdown."""
        raise NotImplementedError


class StudyDirective(MarkdownDirective):
    """`{study} NAME`: the claims of a study, with its figure, as its last full run found them."""

    required_arguments = 1

    def lines(self) -> Iterator[str]:
        name = self.arguments[0]
        folder = STUDIES / name
        self.env.note_dependency(str(folder / f"{name}.json"))
        stem = f"{name}.zh" if self.chinese else name
        page = (folder / f"{stem}.md").read_text("utf-8").splitlines()
        root = "../" * (self.env.docname.count("/") + self.chinese)
        for line in page[1:]:
            if line.startswith("!["):
                words = line[2 : line.index("](")]
                for suffix, look in (("", "light"), ("-dark", "dark")):
                    yield f"{{.only-{look}}}"
                    yield f"![{words}]({root}studies/{name}/{stem}{suffix}.png)"
                    yield ""
            else:
                yield line


class ClaimsDirective(MarkdownDirective):
    """`{claims} NAME 1 3`: the first and third claim of a study (all by default), and a link."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def lines(self) -> Iterator[str]:
        name, *numbers = " ".join(self.arguments).split()
        path = STUDIES / name / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            LOGGER.warning(f"{path} is missing: run `regard study {name} --out docs/studies`.")
            return
        study = json.loads(path.read_text("utf-8"))
        chosen = [int(number) - 1 for number in numbers] or range(len(study["claims"]))
        for number in chosen:
            claim = study["claims"][number]
            verdict = self.say("holds" if claim["holds"] else "fails")
            yield f"- {self.say('claimed')}{claim['claimed'][self.chinese]}"
            yield f"  {self.say('measured')}{claim['measured'][self.chinese]} **{verdict}**"
        root = "../" * self.env.docname.count("/")
        yield ""
        yield f"{self.say('run')} [`{study['command']}`]({root}studies/{name}.md)"


class SolutionDirective(SphinxDirective):
    """`{solution}`: folded until the reader opens it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        words = WORDS["solution"][self.env.config.language == "zh_CN"]
        opened = f'<details class="solution"><summary>{words}</summary>'
        inside = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inside)
        return [
            nodes.raw("", opened, format="html"),
            *inside.children,
            nodes.raw("", "</details>", format="html"),
        ]


def http_api(chinese: bool) -> Iterator[str]:
    """Every operation of the server's OpenAPI document, as Markdown."""
    document = openapi()
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"## `{method.upper()} {path}`"
            yield ""
            yield operation.get("description") or operation.get("summary", "")
            yield ""
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = _resolved(content["schema"], schemas)
                yield from _fields(WORDS["body"][chinese], schema, chinese)
                break
            answer = operation["responses"].get("200", {}).get("content", {})
            schema = _resolved(answer.get("application/json", {}).get("schema", {}), schemas)
            if schema.get("properties"):
                yield from _fields(WORDS["answer"][chinese], schema, chinese)


def settings(chinese: bool) -> Iterator[str]:
    """Every option of every dataclass, as Markdown."""
    from regard.config.settings import SECTIONS
    from regard.server.http.settings import ServerSettings
    from regard.tasks import KINDS

    kinds = {f"model (`--model.kind {name}`)": kind.settings for name, kind in KINDS.items()}
    for title, section in {**SECTIONS, **kinds, "regard serve": ServerSettings}.items():
        yield f"## {title}"
        yield ""
        yield " ".join((section.__doc__ or "").split())
        yield ""
        head = ("option", "range", "default", "about")
        yield f"| {' | '.join(WORDS[name][chinese] for name in head)} |"
        yield "|---|---|---|---|"
        for name, option in setting_options(section).items():
            yield "| " + " | ".join(_option_cells(name, option)) + " |"
        yield ""


def _option_cells(name: str, option: Option) -> Iterator[str]:
    yield f"`{name}`"
    yield ", ".join(choices_of(option)) or str(option.mark(Range) or "")
    default = getattr(option.default, "name", option.default)
    yield "" if default is MISSING or default is None else f"`{default}`"
    yield option.help.replace("|", "\\|").replace("<", "&lt;")


def _fields(title: str, schema: dict[str, Any], chinese: bool) -> Iterator[str]:
    yield f"**{title}**"
    yield ""
    yield f"| {' | '.join(WORDS[name][chinese] for name in ('field', 'type', 'about'))} |"
    yield "|---|---|---|"
    for name, field in schema.get("properties", {}).items():
        needed = f"{WORDS['required'][chinese]}. " if name in schema.get("required", ()) else ""
        about = needed + str(field.get("description", "")).replace("\n", " ").replace("|", "\\|")
        yield f"| `{name}` | {_type(field)} | {about} |"
    yield ""


def openapi() -> dict[str, Any]:
    """The server's OpenAPI document, of a server without models."""
    from regard.server.http.app import create_app
    from regard.server.http.settings import ServerSettings
    from regard.server.queue.catalogue import Catalogue
    from regard.server.queue.service import Service

    service = Service(Catalogue([], threads=1), ServerSettings())
    try:
        return json.loads(json.dumps(create_app(service).openapi()))
    finally:
        service.batcher.close()
        service.background.close()


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    return schema


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        return ", ".join(dict.fromkeys(_type(each) for each in field["anyOf"]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", ""))


def write_into_page(app: Sphinx, name: str, lines: Callable[[bool], Iterator[str]]) -> None:
    """Replace the empty block `name` of the page `reference/name` by Markdown.

    So its headings are the page's own. The page is read again in every build, since what it is
    made of stands elsewhere.
    """
    page, block = f"reference/{name}", f"```{{{name}}}\n```\n"

    def replace(app: Sphinx, docname: str, source: list[str]) -> None:
        if docname == page:
            text = "\n".join(lines(app.config.language == "zh_CN"))
            source[0] = source[0].replace(block, text + "\n")

    app.connect("source-read", replace)
    app.connect("env-get-outdated", lambda *_: [page])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("study", StudyDirective)
    app.add_directive("claims", ClaimsDirective)
    app.add_directive("solution", SolutionDirective)
    write_into_page(app, "http-api", http_api)
    write_into_page(app, "settings", settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
