"""Through a third language, where no model has the direction itself."""

from dataclasses import replace

import pytest

from growth import LINEAR, growth
from regard.server.queue.catalogue import Catalogue, ServedModel
from regard.server.queue.pivot import compose
from regard.tasks.translation.translation import Sentence, Translation
from servers import serving
from trained import taught

FRENCH, CHINESE = taught("en-fr"), taught("en-zh")


@pytest.fixture(scope="module")
def client(catalogue):
    """A server whose first model says that it writes de, its last that it reads de.

    What comes out is of no use as a translation; that both models were at work shows in it.
    """
    known = Catalogue.__new__(Catalogue)
    known.folders, known.threads = (), 1
    first, *_, last = catalogue.models
    known.models = (named(first, "en-de"), named(last, "de-zh"))
    with serving(known) as one:
        one.first, one.last = first.translator, last.translator
        yield one


def named(model, languages):
    """The same model for other languages."""
    made = object.__new__(type(model.translator))
    made.__dict__.update(model.translator.__dict__)
    made.run = replace(made.run, languages=languages)
    made.info = made.info._replace(
        source_language=made.run.source_language, target_language=made.run.target_language
    )
    return ServedModel(languages, made)


def translated(client, **fields):
    answer = client.post("/translate", json={"source": "en", "target": "zh", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_languages_tell_what_can_be_reached(client):
    found = {one["code"]: one["targets"] for one in client.get("/languages").json()}
    assert found == {"en": ["en", "de", "zh"], "de": ["de", "zh"], "zh": ["zh"]}


def test_both_models_one_after_the_other(client):
    source, between = FRENCH[0]
    expected = client.last.translate(between, alignment=False).text
    assert translated(client, q=source) == {"translatedText": expected}
    several = translated(client, q=[source, "", source])["translatedText"]
    assert several == [expected, "", expected]
    direct = translated(client, q=between, source="de")["translatedText"]
    assert direct == expected
    auto = translated(client, q=" ".join(text for text, _ in FRENCH[:4]), source="auto")
    assert auto["detectedLanguage"]["language"] == "en"


def test_alternatives_and_markup_come_through(client):
    source, between = FRENCH[0]
    expected = client.last.translate(between, alignment=False).text
    found = translated(client, q=source, alternatives=2)
    assert found["translatedText"] == expected and len(found["alternatives"]) == 2
    word, rest = source.split(" ", 1)
    page = translated(client, q=f"<p><b>{word}</b> {rest}</p>", format="html")["translatedText"]
    assert page.replace("<b>", "").replace("</b>", "") == f"<p>{expected}</p>"
    assert page.count("<b>") == page.count("</b>") == 1


def test_what_looks_inside_takes_one_model(client):
    fields = {"q": FRENCH[0][0], "source": "en", "target": "zh"}
    answer = client.post("/v1/translate", json=fields)
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "Chinese (zh) is not available as a target language from English (en); "
        "/translate goes through de"
    )


def translation(source, target, links):
    own, other = source.split(), target.split()
    made = Sentence(source, target, 0.0, (), (), tuple(own), tuple(other), tuple(links))
    return Translation(target, source, (made,))


def test_links_meet_in_the_text_between():
    first = translation("the black cat", "le chat noir", [(0, 0), (1, 2), (2, 1)])
    then = translation("le chat noir", "die schwarze katze", [(0, 0), (1, 2), (2, 1)])
    found = compose(first, replace(then, alternatives=(then,)))
    assert found.text == "die schwarze katze"
    assert found.source == "the black cat"
    assert found.alignment == ((0, 0), (1, 1), (2, 2))
    assert [other.text for other in found.alternatives] == ["die schwarze katze"]
    assert found.alternatives[0].alignment == found.alignment


def test_other_words_between_are_found_by_their_places():
    first = translation("a b", "l'eau vive", [(0, 0), (1, 1)])
    made = Sentence(
        "l'eau vive",
        "x y z",
        0.0,
        (),
        (),
        ("l'", "eau", "vive"),
        ("x", "y", "z"),
        ((0, 0), (1, 1), (2, 2)),
    )
    found = compose(first, Translation("x y z", "l'eau vive", (made,)))
    assert found.alignment == ((0, 0), (0, 1), (1, 2))


def test_links_of_long_texts_are_followed_quickly():
    """Linear: a text of 40,000 words is no work; its square would be minutes."""

    def composed(number):
        words, straight = " ".join(["mot"] * number), [(n, n) for n in range(number)]
        both = translation(words, words, straight)
        assert compose(both, both).alignment == tuple(straight)

    assert growth(composed, 40_000) < LINEAR
