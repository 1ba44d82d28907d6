"""LibreTranslate's API: what its clients send, and what they expect."""

import asyncio
import html
import inspect
import json
import sys
import time
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard.server
from regard.server.http.app import create_app
from regard.server.http.settings import ServerSettings
from regard.server.queue.service import Service
from servers import serving
from trained import taught

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]


def translated(client, **fields):
    answer = client.post("/translate", json={"source": "en", "target": "fr", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_json_form_multipart_and_query_say_the_same(client):
    fields = {"q": SOURCE, "source": "en", "target": "fr"}
    for answer in (
        client.post("/translate", json=fields),
        client.post("/translate", data=fields),
        client.post("/translate", files={name: (None, text) for name, text in fields.items()}),
        client.post("/translate", params=fields),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"translatedText": TARGET}


def test_a_list_comes_back_in_its_order(client):
    found = translated(client, q=[source for source, _ in FRENCH[:5]] + ["", SOURCE])
    assert found["translatedText"] == [*(target for _, target in FRENCH[:5]), "", TARGET]
    form = client.post("/translate", data={"q": [SOURCE, SOURCE], "source": "en", "target": "fr"})
    assert form.json()["translatedText"] == [TARGET, TARGET]


def test_several_sentences_and_lines(client):
    found = translated(client, q=f"{SOURCE} {FRENCH[1][0]}\n\n{SOURCE}")
    assert found["translatedText"] == f"{TARGET} {FRENCH[1][1]}\n\n{TARGET}"


def test_auto_tells_what_it_found(client):
    text = " ".join(source for source, _ in FRENCH[:4])
    found = translated(client, q=text, source="auto")
    assert found["detectedLanguage"]["language"] == "en"
    assert found["detectedLanguage"]["confidence"] > 90
    several = translated(client, q=[text, SOURCE], source="auto")
    assert [one["language"] for one in several["detectedLanguage"]] == ["en", "en"]


def test_auto_leaves_the_targets_language_as_it_is(client):
    text = "Bonjour, comment allez-vous ce matin ? "
    found = translated(client, q=text, source="auto")
    assert found["detectedLanguage"]["language"] == "fr"
    assert found["detectedLanguage"]["confidence"] > 50
    assert found["translatedText"] == text
    page = f"<p title='Le chat'>{text}</p >"
    assert translated(client, q=page, source="auto", format="html")["translatedText"] == page
    english = " ".join(source for source, _ in FRENCH[:4])
    several = translated(client, q=[2 * text, english], source="auto")
    assert [one["language"] for one in several["detectedLanguage"]] == ["fr", "en"]
    assert several["translatedText"][0] == 2 * text


def test_alternatives_are_others(client):
    found = translated(client, q=SOURCE, alternatives=3)
    assert found["translatedText"] == TARGET
    assert len(set(found["alternatives"])) == 3 and TARGET not in found["alternatives"]
    several = translated(client, q=[SOURCE, f"{SOURCE} {FRENCH[1][0]}"], alternatives=2)
    assert [len(one) for one in several["alternatives"]] == [2, 2]
    assert "alternatives" not in translated(client, q=SOURCE, alternatives=0)


def test_alternatives_of_html_keep_their_markup(client):
    word, rest = SOURCE.split(" ", 1)
    page = f"<p title='{SOURCE}'><b>{word}</b> {rest}</p>\n<p>{FRENCH[1][0]}</p>"
    found = translated(client, q=page, format="html", alternatives=3)
    assert len(set(found["alternatives"])) == 3
    plain = translated(client, q=[SOURCE, FRENCH[1][0]], alternatives=3)["alternatives"]
    for rank, one in enumerate(found["alternatives"]):
        assert [one.count(tag) for tag in ("<b>", "</b>", "<p title='", "</p>\n<p>")] == [1] * 4
        text = one.replace("<b>", "").replace("</b>", "")
        assert html.unescape(text).endswith(f"'>{plain[0][rank]}</p>\n<p>{plain[1][rank]}</p>")
    several = translated(client, q=[page, "<i></i>"], format="html", alternatives=1)
    assert [len(one) for one in several["alternatives"]] == [1, 0]


def test_line_breaks_at_both_ends_stay(client):
    found = translated(client, q=f"\n\n{SOURCE}\n{SOURCE} \n\n")["translatedText"]
    assert found == f"\n\n{TARGET}\n{TARGET}\n\n"


@pytest.mark.parametrize("end", ["\n", "\n\n", " \n"])
def test_a_long_text_keeps_all_its_line_breaks(client, end):
    rows = [FRENCH[n % len(FRENCH)] for n in range(200)]
    found = translated(client, q=end.join(source for source, _ in rows))["translatedText"]
    assert found == end.strip(" ").join(target for _, target in rows)


def test_the_same_language_stays_as_it_is(client):
    assert translated(client, q=" Ça va ? ", source="fr")["translatedText"] == " Ça va ? "


def test_other_spellings_of_a_language(client):
    one, two = (
        translated(client, q=SOURCE, source=source, target=target)
        for source, target in (("en", "zh"), ("EN-us", "zh-Hans"))
    )
    assert one == two and one["translatedText"]


def test_html_keeps_its_markup(client):
    first, *rest = SOURCE.split(" ", 1)
    found = translated(client, q=f"<p class=x>{SOURCE}</p><script>a<b</script>", format="html")[
        "translatedText"
    ]
    assert found == f"<p class=x>{TARGET}</p><script>a<b</script>"
    bold = translated(client, q=f"<b>{first}</b> {rest[0]}", format="html")["translatedText"]
    assert bold.count("<b>") == bold.count("</b>") == 1
    assert bold.replace("<b>", "").replace("</b>", "") == TARGET
    escaped = translated(client, q="&lt;script&gt;alert(1)&lt;/script&gt;", format="html")
    assert "<script" not in escaped["translatedText"]


def test_detect(client):
    found = client.post("/detect", data={"q": "Bonjour, comment allez-vous ce matin ?"}).json()
    assert found[0]["language"] == "fr" and found[0]["confidence"] > 50
    chinese = client.post("/detect", json={"q": "这个孩子没有睡觉。"}).json()
    assert chinese[0]["language"] == "zh"


def test_what_a_page_asks_first(client):
    languages = {one["code"]: one for one in client.get("/languages").json()}
    assert languages["en"] == {"code": "en", "name": "English", "targets": ["en", "fr", "zh"]}
    assert languages["fr"]["targets"] == ["fr"]
    assert client.get("/health").json() == {"status": "ok"}
    found = client.get("/frontend/settings").json()
    assert found["charLimit"] == 20_000 and found["keyRequired"] is False
    assert found["language"]["source"] == {"code": "en", "name": "English"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": "x"}, "Invalid request: missing source parameter"),
        ({"q": "x", "source": "en", "target": ""}, "Invalid request: missing target parameter"),
        ({"q": "", "source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
        ({"q": [], "source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
        ({"q": None, "source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
        ({"q": 3, "source": "en", "target": "fr"}, "q: input should be a valid string."),
        ({"q": "x", "source": "en", "target": "zz"}, "zz is not supported"),
        ({"q": "x", "source": "zz", "target": "fr"}, "zz is not supported"),
        (
            {"q": "x", "source": "fr", "target": "en"},
            "English (en) is not available as a target language from French (fr)",
        ),
        ({"q": "x", "source": "auto", "target": "en"}, "no model translates into en."),
        (
            {"q": "x", "source": "en", "target": "fr", "format": "pdf"},
            "pdf format is not supported",
        ),
        (
            {"q": "x", "source": "en", "target": "fr", "alternatives": 99},
            "Invalid request: alternatives parameter must be <= 10",
        ),
        (
            {"q": "x", "source": "en", "target": "fr", "alternatives": "some"},
            "Invalid request: alternatives parameter is not a number",
        ),
        ({"q": "\ud800", "source": "en", "target": "fr"}, "Invalid JSON format"),
        (
            {"q": "x" * 20_001, "source": "en", "target": "fr"},
            "Invalid request: request (20001) exceeds text limit (20000); "
            "`regard serve --max-characters` sets how many characters are allowed",
        ),
        (
            {"q": ["x"] * 501, "source": "en", "target": "fr"},
            "Invalid request: request (501) exceeds text limit (500); "
            "`regard serve --max-texts` sets how many texts are allowed",
        ),
    ],
)
def test_what_cannot_be_is_400_in_the_words_of_libretranslate(client, fields, said):
    """Its own test-suite compares the first and the `zz` one; other clients compare prefixes."""
    answer = client.post(
        "/translate", content=json.dumps(fields), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert said == answer.json()["error"]


@pytest.mark.parametrize("body", ["", "{", "[]", "null", "[" * 100_000, '{"q": NaN}', "\xff"])
def test_what_is_no_json_is_400(client, body):
    headers = {"content-type": "application/json"}
    answer = client.post("/translate", content=body.encode("latin-1"), headers=headers)
    assert answer.status_code == 400 and answer.json()["error"]


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@pytest.mark.parametrize("charset", ["punycode", "idna", "zip", "nothing", "utf-16", "undefined"])
def test_any_character_set_is_answered(client, path, charset):
    headers = {"content-type": f"multipart/form-data; charset={charset}; boundary=xx"}
    rows = [
        b"--xx",
        'Content-Disposition: form-data; name="é-"'.encode(),
        b"",
        b"a-!",
        b"--xx--",
        b"",
    ]
    answer = client.post(path, content=b"\r\n".join(rows), headers=headers)
    assert answer.status_code == 400 and set(answer.json()) == {"error"}


def test_a_broken_form_is_400(client):
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = client.post("/translate", content=b"--x\r\nnonsense", headers=headers)
    assert answer.status_code == 400 and answer.json()["error"]
    upload = client.post("/translate", files={"q": ("name.txt", b"text")})
    assert upload.status_code == 400


def test_too_many_bytes_are_413(catalogue):
    with serving(catalogue, characters=10) as small:
        assert small.post("/translate", content=b"x" * 100_000).status_code == 413
        pieces = (b"x" * 1000 for _ in range(100))  # without a length beforehand
        assert small.post("/translate", content=pieces).status_code == 413
        assert small.get("/health").status_code == 200


def test_unknown_paths_and_methods(client):
    for path in ("/nothing", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/docs"):
        answer = client.get(path)
        assert answer.status_code == 404 and set(answer.json()) == {"error"}
    answer = client.get("/translate")
    assert answer.status_code == 405 and set(answer.json()) == {"error"}
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/health", "/languages", "/spec", "/metrics", "/v1/models", "/"])
def test_head_is_get_without_its_body(client, path):
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code == 200 and head.content == b""
    same = ("content-type", "content-security-policy")
    assert [head.headers[name] for name in same] == [get.headers[name] for name in same]
    assert client.head("/translate").status_code == 405
    assert client.head("/nothing").status_code == 404


def test_a_slash_too_many_is_no_way_elsewhere(catalogue):
    with serving(catalogue, hosts=("evil.example",)) as client:
        answer = client.post("/translate/", json={}, headers={"host": "evil.example"})
    assert answer.status_code == 404 and set(answer.json()) == {"error"}
    assert "location" not in answer.headers


def test_answers_carry_safe_headers(client):
    for answer in (client.get("/health"), client.get("/nothing")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["content-type"] == "application/json"
        assert "server" not in answer.headers


@settings(max_examples=25)
@given(q=st.one_of(st.text(max_size=80), st.lists(st.text(max_size=30), max_size=3)))
def test_any_text_is_answered(client, q):
    answer = client.post(
        "/translate",
        content=json.dumps({"q": q, "source": "auto", "target": "fr", "format": "html"}),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == (200 if q else 400), answer.text
    if q and isinstance(q, list):
        assert len(answer.json()["translatedText"]) == len(q)


def test_the_document_is_made_once(client):
    def seconds(path):
        start = time.process_time()
        for _ in range(5):
            assert client.get(path).status_code == 200
        return time.process_time() - start

    assert min(seconds("/spec") for _ in range(3)) < 8 * min(seconds("/health") for _ in range(3))


def test_the_document_tells_every_status(client):
    document = client.get("/spec").json()
    assert document["openapi"].startswith("3.")
    for path, operations in document["paths"].items():
        for method, one in operations.items():
            assert one["summary"], path
            if method == "post":
                assert {"200", "400", "403", "413", "429", "503"} <= set(one["responses"])
                assert "422" not in one["responses"]
    asked = document["components"]["schemas"]["TranslateRequest"]["properties"]
    assert asked["source"]["enum"] == ["auto", "en", "fr", "zh"]
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        assert f"#/components/schemas/{name}" in text


def test_a_translation_enters_each_file_of_the_server_once(catalogue):
    """The order of the files is that of the package's description."""
    service = Service(catalogue, ServerSettings())
    app = create_app(service)
    root = Path(regard.server.__file__).parent
    order, frames = [], {}

    def profile(frame, event, _):
        code, caller = frame.f_code, frame.f_back
        path = Path(code.co_filename)
        is_coroutine = code.co_flags & inspect.CO_COROUTINE
        if event != "call" or not is_coroutine or root not in path.parents or id(frame) in frames:
            return
        frames[id(frame)] = frame  # a coroutine that continues is not called again
        while caller is not None and root not in Path(caller.f_code.co_filename).parents:
            caller = caller.f_back
        from_outside = caller is None or caller.f_code.co_filename != code.co_filename
        if from_outside and code.co_name not in ("receive", "send", "_disconnected"):
            order.append(path.relative_to(root).with_suffix("").as_posix())

    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            sys.setprofile(profile)
            try:
                return await client.post(
                    "/translate", json={"q": SOURCE, "source": "en", "target": "fr"}
                )
            finally:
                sys.setprofile(None)

    try:
        assert asyncio.run(ask()).json()["translatedText"] == TARGET
    finally:
        service.background.close()
        service.batcher.close()
    assert order == [
        "http/limits",
        "http/errors",
        "api/libretranslate",
        "access/admission",
        "api/requests",
        "queue/routing",
        "queue/pivot",
        "queue/service",
    ]
