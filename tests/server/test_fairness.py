"""Long work, many requests and large maps of one client: the others get their turn."""

import asyncio
import json
import socket
from contextlib import ExitStack, suppress
from dataclasses import replace

import httpx
import pytest

from regard.cancellation import CancelledWorkError, cancellable, check_cancelled
from regard.config import SearchOptions
from regard.server.access.budget import MemoryBudget
from regard.server.http.errors import ApiError
from regard.server.queue import service
from regard.server.queue.batching import (
    SEGMENTED_CHARACTERS,
    SHARED_SENTENCES,
    Batcher,
    evictable,
    segment_in_turn,
    take_in_turn,
)
from regard.server.queue.jobs import CallJob, TranslateJob
from regard.tasks.translation.glossary import glossary_terms
from regard.tasks.translation.translation import TranslateOptions
from servers import held_up, serving, until
from trained import taught

FRENCH = taught("en-fr")
SOURCE, TARGET = FRENCH[0]
PLAIN = TranslateOptions(SearchOptions(beam=2), alignment=False)
FIELDS = {"q": SOURCE, "source": "en", "target": "fr"}


def in_loop(work):
    async def run():
        return work()

    return asyncio.run(run())


def test_a_full_queue_takes_the_last_of_whoever_has_most():
    def work():
        greedy = [CallJob(lambda: 0, "greedy") for _ in range(5)]
        modest = [CallJob(lambda: 0, "modest") for _ in range(2)]
        waiting = [*greedy[:3], *modest, *greedy[3:]]
        assert evictable(waiting, "new", 1, 0) == []
        assert evictable(waiting, "new", 1, 1) == greedy[:-2:-1]
        assert evictable(waiting, "new", 3, 2) == greedy[:-3:-1]
        assert evictable(waiting, "new", 3, 3) is None  # nobody gives more than the new one has
        assert evictable(waiting, "greedy", 1, 1) is None
        assert evictable(waiting, "modest", 1, 1) == greedy[:-2:-1]
        assert evictable([], "new", 600, 0) == []

    in_loop(work)


def test_many_requests_of_one_client_leave_places_for_others(catalogue):
    """The queue is full of one client's requests; another's is answered, one of those is not."""

    async def work():
        batcher = Batcher(max_jobs=6, max_sentences=8)
        translator = catalogue.models[0].translator

        def job(client):
            return TranslateJob(translator, [SOURCE], PLAIN, client=client)

        try:
            with held_up(batcher):
                many = [job("greedy") for _ in range(5)]
                batcher.put(*many)
                with pytest.raises(ApiError):
                    batcher.put(job("greedy"))
                other = job("modest")
                batcher.put(other)
            answers = await asyncio.gather(
                *(one.future for one in (*many, other)), return_exceptions=True
            )
            return [getattr(answer, "status", 200) for answer in answers]
        finally:
            await asyncio.to_thread(batcher.close)

    assert asyncio.run(work()) == [200, 200, 200, 200, 503, 200]


def test_clients_take_turns_whatever_they_send(catalogue):
    translator = catalogue.models[0].translator

    def work():
        def job(client, count):
            made = TranslateJob(
                translator, [source for source, _ in FRENCH[:count]], PLAIN, client=client
            )
            made.segment()
            return made

        greedy = [job("greedy", 4) for _ in range(3)]
        modest = job("modest", 2)
        items = take_in_turn([*greedy, modest], 5)
        assert [one.client for one, _, _ in items] == [
            "greedy",
            "modest",
            "greedy",
            "modest",
            "greedy",
        ]
        assert [one for one, _, _ in items][::2] == greedy

    in_loop(work)


def test_a_batch_that_clients_share_is_small(catalogue):
    translator = catalogue.models[0].translator

    def work():
        def job(client, count):
            made = TranslateJob(translator, [SOURCE] * count, PLAIN, client=client)
            made.segment()
            return made

        assert len(take_in_turn([job("alone", 40)], 32)) == 32
        items = take_in_turn([job("greedy", 40), job("modest", 1)], 32)
        assert [one.client for one, _, _ in items][:2] == ["greedy", "modest"]
        assert len(items) == SHARED_SENTENCES
        many = [job(f"{number}", 2) for number in range(SHARED_SENTENCES + 4)]
        assert len({one.client for one, _, _ in take_in_turn(many, 32)}) == len(many)

    in_loop(work)


def test_one_address_has_a_share_of_the_requests_that_are_received(catalogue):
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
    with serving(catalogue, per_address=2) as client, ExitStack() as stack:
        host, port = client.address.removeprefix("http://").split(":")
        for _ in range(2):
            one = stack.enter_context(socket.create_connection((host, int(port))))
            one.sendall(head)
        until(lambda: client.get("/health").status_code == 503)
        answer = client.get("/health")
        assert answer.json() == {
            "error": "2 requests of this address are being answered; try again later."
        }
        assert answer.headers["Retry-After"] == "1"
        other = httpx.HTTPTransport(local_address="127.0.0.9")
        with httpx.Client(transport=other, trust_env=False) as elsewhere:
            assert elsewhere.get(f"{client.address}/health").status_code == 200
        stack.close()
        until(lambda: client.get("/health").status_code == 200)


def test_a_long_text_is_segmented_without_others(catalogue):
    translator = catalogue.models[0].translator

    def work():
        def job(client, repeats):
            text = SOURCE * repeats
            return TranslateJob(translator, [text], PLAIN, client=client)

        long = SEGMENTED_CHARACTERS // len(SOURCE) + 1
        jobs = [job("a", 1), job("b", long), job("c", long), job("d", 1)]
        assert segment_in_turn(jobs, 5)[0] == jobs[:2]
        assert segment_in_turn(jobs, 5)[0] == jobs[:3]

    in_loop(work)


def test_no_more_texts_are_segmented_than_the_next_batch_needs(catalogue):
    translator = catalogue.models[0].translator

    def work():
        def job(client, *texts):
            return TranslateJob(translator, texts or (SOURCE,), PLAIN, client=client)

        greedy = [job("greedy") for _ in range(5)]
        dropped, modest, late = job("greedy"), job("modest"), job("late", SOURCE, SOURCE)
        dropped.dropped = True
        jobs = [dropped, *greedy, modest, late]
        segmented, failed = segment_in_turn(jobs, 5)
        assert (segmented, failed) == ([greedy[0], modest, late, greedy[1]], set())
        assert [one.begun for one in jobs] == [False, True, True, *[False] * 3, True, True]
        assert segment_in_turn(jobs, 0)[0] == [greedy[0], modest, late]  # one of each client
        broken = job("broken")
        broken.texts = [None]
        assert segment_in_turn([broken], 5) == ([], {broken})

    in_loop(work)


def test_cancelled_work_ends_at_its_next_step(catalogue):
    """Searches of every kind ask."""
    translator = catalogue.models[0].translator
    kinds = [
        {"glossary": {SOURCE.split()[1]: "xylophone"}},
        {"forbid": ["xylophone"]},
        {"beam": 4, "beam_groups": 2},
        {"beam": 1, "prefix": "le"},
        {"sample": True, "forbid": ["xylophone"]},
    ]
    for options in kinds:
        asked = []

        def after_three(asked=asked):
            asked.append(1)
            return len(asked) > 3

        with cancellable(after_three), pytest.raises(CancelledWorkError):
            translator.translate(SOURCE, **options)
        assert len(asked) == 4, options
    check_cancelled()  # outside nothing is


def test_long_work_whose_client_has_gone_is_given_up(catalogue):
    """It is dropped in the middle of its search, and costs nothing more."""
    translator = catalogue.models[0].translator
    long = replace(PLAIN, glossary=glossary_terms({SOURCE.split()[1]: "xylophone"}))
    texts = [" ".join(source for source, _ in FRENCH)] * 40

    async def work():
        batcher = Batcher(max_jobs=9, max_sentences=8, max_tokens=256, max_begun=1)
        try:
            gone = TranslateJob(translator, texts, long, client="gone")
            batcher.put(gone)
            await asyncio.to_thread(until, lambda: gone.begun and not gone.complete)
            batcher.drop(gone)
            after = CallJob(lambda: [sentence is None for sentence in gone.sentences], "other")
            batcher.put(after)
            return await after.future
        finally:
            await asyncio.to_thread(batcher.close)

    not_done = asyncio.run(work())
    assert sum(not_done) > len(not_done) / 2


def test_long_work_does_not_hold_up_the_rest(catalogue):
    with serving(catalogue) as client, held_up(client.service.long_batcher):
        assert client.post("/translate", json=FIELDS).json()["translatedText"] == TARGET
        more = {"q": SOURCE, "target": "fr"}
        assert client.post("/v1/translate", json=more).json()["text"] == TARGET
        body = json.dumps({**FIELDS, "glossary": {SOURCE.split()[1]: "xylophone"}}).encode()
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        host, port = client.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as one:
            one.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: len(client.service.long_batcher) == 2)
        until(lambda: len(client.service.long_batcher) == 1)  # its client has gone


def test_a_search_that_may_take_long_is_refused_before_it_begins(client, catalogue, monkeypatch):
    glossary = dict.fromkeys(SOURCE.strip(".").split(), TARGET)
    translator = catalogue.models[0].translator
    (segment,) = translator.segment(SOURCE, protect=True)
    plain, rich = (
        translator.estimate_steps(segment, translator.options(glossary=terms))
        for terms in ({}, glossary)
    )
    assert rich > 2 * plain > 0
    more = {"q": SOURCE, "target": "fr", "glossary": glossary}
    monkeypatch.setattr(service, "MAX_STEPS", rich - 1)
    with held_up(client.service.long_batcher):
        assert client.post("/v1/translate", json={**more, "glossary": {}}).status_code == 200
    answer = client.post("/v1/translate", json=more)
    assert answer.status_code == 400 and f"{rich} steps" in answer.json()["error"]
    monkeypatch.setattr(service, "MAX_STEPS", rich)
    assert client.post("/v1/translate", json=more).status_code == 200


def test_maps_are_held_by_all_clients_together():
    budget = MemoryBudget(100)
    one, two = {"held": []}, {"held": []}
    budget.take(one, "a", 500)  # alone: the limit of a request is another one
    with pytest.raises(ApiError) as refused:
        budget.take(two, "b", 1)
    assert refused.value.status == 503
    one["held"].pop()()
    budget.take(one, "a", 40)
    with pytest.raises(ApiError):
        budget.take(one, "a", 20)  # more than half
    budget.take(two, "b", 45)
    for held in (one, two):
        for give_back in held["held"]:
            give_back()
    budget.take(one, "a", 100)


def test_what_is_held_is_given_back_with_the_answer(catalogue):
    maps = {"q": SOURCE, "target": "fr", "maps": [{}]}
    with serving(catalogue) as client:
        model = catalogue.models[0]
        limit = model.translator.estimate_map_size(SOURCE)
        client.service.memory_budget = MemoryBudget(limit)
        for _ in range(3):
            assert client.post("/v1/translate", json=maps).status_code == 200
        trace = {"q": SOURCE, "target": "fr"}
        assert client.post("/v1/trace", json=trace).status_code == 200

        def all_is_given_back():
            with suppress(ApiError):
                client.service.memory_budget.take({"held": []}, "another", limit)
                return True

        until(all_is_given_back)  # which the server does after the client has the answer
        for path, body in (("/v1/translate", maps), ("/v1/trace", trace), ("/v1/view", trace)):
            answer = client.post(path, json=body)
            assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
