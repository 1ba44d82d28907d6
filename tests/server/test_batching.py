"""Requests put together: nothing swapped, nothing lost, places limited and freed."""

import asyncio
import json
import random
import re
import socket
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from growth import LINEAR, growth
from regard.config import SearchOptions
from regard.server.http.errors import ApiError
from regard.server.queue.batching import Batcher
from regard.server.queue.catalogue import Catalogue, ServedModel
from regard.server.queue.jobs import CallJob, TranslateJob
from regard.tasks.translation.translation import TranslateOptions
from regard.text.segments import Segment
from servers import held_up, serving, set_timeout, until
from trained import taught

FRENCH = taught("en-fr")
PLAIN = TranslateOptions(SearchOptions(beam=2), alignment=False)


def marked(number):
    """A text like no other: some of the taught sentences, in an order of its own."""
    chosen = random.Random(number).sample(FRENCH, 1 + number % 4)
    return " ".join(source for source, _ in chosen), " ".join(target for _, target in chosen)


def test_every_answer_goes_to_its_own_asker(catalogue):
    """A hundred requests of 25 clients, each with words that tell whose it is."""

    async def asks(client, numbers):
        wrong = 0
        for number in numbers:
            source, target = marked(number)
            fields = {"q": source, "source": "en", "target": "fr", "alternatives": number % 2}
            answer = await client.post("/translate", json=fields)
            wrong += answer.json().get("translatedText") != target
        return wrong

    async def all_at_once(address):
        limits = httpx.Limits(max_connections=25)
        async with httpx.AsyncClient(
            base_url=address, trust_env=False, limits=limits, timeout=300
        ) as client:
            askers = [asks(client, range(n, 100, 25)) for n in range(25)]
            return sum(await asyncio.gather(*askers))

    with serving(catalogue, timeout=300) as client, ThreadPoolExecutor(1) as pool:
        with held_up(client.service.batcher):
            wrong = pool.submit(asyncio.run, all_at_once(client.address))
            until(lambda: len(client.service.batcher) == 26, seconds=120)
        assert wrong.result() == 0
        text = client.get("/metrics").text
    (sentences,) = re.findall(r"regard_batch_sentences_sum (\S+)", text)
    (batches,) = re.findall(r"regard_batch_sentences_count (\S+)", text)
    assert float(sentences) == sum(1 + number % 4 for number in range(100))
    assert float(batches) < float(sentences) / 2  # they were together
    assert 'regard_requests_total{path="/translate",status="200"} 100.0' in text


def test_a_full_queue_is_503_with_a_time(catalogue):
    fields = {"q": FRENCH[0][0], "source": "en", "target": "fr"}
    with serving(catalogue, waiting=1) as client:
        with held_up(client.service.batcher):
            answer = client.post("/translate", json=fields)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) >= 1
            assert set(answer.json()) == {"error"}
            assert client.get("/health").status_code == 200
        until(lambda: not len(client.service.batcher))
        assert client.post("/translate", json=fields).json()["translatedText"] == FRENCH[0][1]


def test_who_waits_too_long_is_told(catalogue):
    fields = {"q": FRENCH[0][0], "source": "en", "target": "fr"}
    with serving(catalogue, timeout=0.5) as client:
        with held_up(client.service.batcher):
            answer = client.post("/translate", json=fields)
            assert answer.status_code == 503 and "too long" in answer.json()["error"]
            assert len(client.service.batcher) == 1  # the place is free again
        set_timeout(client, 120)
        assert client.post("/translate", json=fields).status_code == 200


def test_who_goes_away_frees_the_place(catalogue):
    fields = {"q": FRENCH[0][0], "source": "en", "target": "fr"}
    with serving(catalogue) as client, held_up(client.service.batcher):
        body = json.dumps(fields).encode()
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        host, port = client.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as one:
            one.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: len(client.service.batcher) == 2)
        until(lambda: len(client.service.batcher) == 1)
        until(lambda: 'status="499"' in client.get("/metrics").text)


def together(catalogue, work, **options):
    """Run `work(batcher, translator)` in a loop of its own."""
    translator = catalogue.models[0].translator

    async def run():
        batcher = Batcher(**{"max_jobs": 100, "max_sentences": 8, **options})
        try:
            return await work(batcher, translator)
        finally:
            await asyncio.to_thread(batcher.close)

    return asyncio.run(run())


def test_a_long_text_does_not_hold_up_a_short_one(catalogue):
    async def work(batcher, translator):
        with held_up(batcher):
            long = TranslateJob(translator, [" ".join(source for source, _ in FRENCH * 3)], PLAIN)
            short = TranslateJob(translator, [FRENCH[1][0]], PLAIN)
            batcher.put(long, short)
        (answer,) = await short.future
        early = not long.future.done()
        (whole,) = await long.future
        return answer.text, early, whole.text

    text, early, whole = together(catalogue, work)
    assert early and text == FRENCH[1][1]
    assert whole == " ".join(target for _, target in FRENCH * 3)


def test_who_asks_later_does_not_overtake(catalogue):
    """Also where only one sentence is translated at a time, and others come meanwhile."""
    order = []

    async def work(batcher, translator):
        def asked(number):
            one = TranslateJob(translator, [FRENCH[number][0]], PLAIN)
            one.future.add_done_callback(lambda _: order.append(number))
            batcher.put(one)
            return one.future

        with held_up(batcher):
            first = [asked(number) for number in range(4)]
        await first[0]
        await asyncio.gather(*first, asked(4))

    together(catalogue, work, max_sentences=1)
    assert order == [0, 1, 2, 3, 4]


def test_one_text_that_fails_harms_no_other(catalogue):
    async def work(batcher, translator):
        with held_up(batcher):
            bad = TranslateJob(translator, [None], PLAIN)
            worse = TranslateJob(translator, ["x"], PLAIN)
            worse.segments, worse.sentences = [[]], [None]
            worse.pending = deque([(0, Segment("x", "", ids=[None]))])
            good = TranslateJob(translator, [FRENCH[0][0]], PLAIN)
            batcher.put(bad, worse, good)
        done = await asyncio.gather(bad.future, worse.future, good.future, return_exceptions=True)
        return done, len(batcher)

    (bad, worse, good), left = together(catalogue, work)
    assert isinstance(bad, TypeError) and isinstance(worse, Exception)
    assert good[0].text == FRENCH[0][1]
    assert left == 0


def test_a_bug_answers_its_jobs_and_the_thread_goes_on(catalogue):
    failures = iter([ZeroDivisionError("a bug")])

    def on_batch(sentences, seconds):
        if (error := next(failures, None)) is not None:
            raise error

    async def work(batcher, translator):
        first = TranslateJob(translator, [FRENCH[0][0]], PLAIN)
        batcher.put(first)
        with pytest.raises(ZeroDivisionError):
            await first.future
        second = TranslateJob(translator, [FRENCH[1][0]], PLAIN)
        batcher.put(second)
        (answer,) = await second.future
        return answer.text, len(batcher)

    assert together(catalogue, work, on_batch=on_batch) == (FRENCH[1][1], 0)


def test_all_jobs_or_none_are_queued(catalogue):
    async def work(batcher, translator):
        with held_up(batcher):
            several = [TranslateJob(translator, [FRENCH[n][0]], PLAIN) for n in range(3)]
            with pytest.raises(ApiError) as refused:
                batcher.put(*several)
            assert len(batcher) == 1
            batcher.put(*several[:2])
            return refused.value.status, [one.future for one in several[:2]]

    status, _ = together(catalogue, work, max_jobs=3)
    assert status == 503


def test_closing_finishes_what_waits(catalogue):
    async def work(batcher, translator):
        waiting = [TranslateJob(translator, [source], PLAIN) for source, _ in FRENCH]
        batcher.put(*waiting, CallJob(lambda: 3))
        await asyncio.to_thread(batcher.close)
        done = await asyncio.gather(*(one.future for one in waiting))
        with pytest.raises(ApiError):
            batcher.put(CallJob(lambda: 3))
        return [answer.text for (answer,) in done]

    assert together(catalogue, work) == [target for _, target in FRENCH]


@pytest.mark.parametrize("unit", ["a ", "x", ". ", "a. ", "1.", "猫", "a, "])
def test_no_text_takes_long_to_cut(catalogue, unit):
    """Ten times the text is ten times the work."""
    translator = catalogue.models[0].translator

    def cut(count):
        text = (unit * count)[:count]
        found = translator.segment(text)
        assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())

    assert growth(cut, 20_000) < LINEAR


def test_a_list_of_two_languages_fits_where_one_may_wait(catalogue):
    texts = [" ".join(source for source, _ in FRENCH[:4]), "这个孩子没有睡觉。" * 6]
    known = Catalogue.__new__(Catalogue)
    known.folders, known.threads = (), 1
    known.models = (catalogue.models[0], renamed(catalogue.models[2], "zh-fr"))
    fields = {"q": texts, "source": "auto", "target": "fr"}
    with serving(known, waiting=1) as client:
        answer = client.post("/translate", json=fields)
        assert answer.status_code == 200, answer.text
        found = [one["language"] for one in answer.json()["detectedLanguage"]]
        assert found == ["en", "zh"]
        with held_up(client.service.batcher):
            assert client.post("/translate", json=fields).status_code == 503


def renamed(model, languages):
    """The same model, said to be for other languages."""
    made = object.__new__(type(model.translator))
    made.__dict__.update(model.translator.__dict__)
    made.run = replace(made.run, languages=languages)
    made.info = made.info._replace(
        source_language=made.run.source_language, target_language=made.run.target_language
    )
    return ServedModel(languages, made)


def test_the_time_is_that_of_a_request_not_of_a_step(catalogue):
    """One model is quick enough, two in turn are not."""

    class Slow(Batcher):
        def put(self, *jobs):
            super().put(CallJob(lambda: time.sleep(0.6)), *jobs)

    first, *_, last = catalogue.models
    known = Catalogue.__new__(Catalogue)
    known.folders, known.threads = (), 1
    known.models = (renamed(first, "en-de"), renamed(last, "de-zh"))
    fields = {"q": FRENCH[0][0], "source": "en", "target": "zh"}
    with serving(known, timeout=120) as client:
        client.service.batcher.close()
        client.service.batcher = Slow(max_jobs=10, max_sentences=8)
        direct = client.post("/translate", json={**fields, "target": "de"})
        assert direct.status_code == 200
        set_timeout(client, 1.0)
        answer = client.post("/translate", json=fields)
        assert answer.status_code == 503 and "too long" in answer.json()["error"]
