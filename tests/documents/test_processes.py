"""Documents in a process of their own: the same documents, and what happens to it stays there."""

import logging
import os
import signal
import subprocess
import sys

import pytest

from documents.samples import CASES, data_of
from documents.translators import backwards, same, through
from processes import is_gone
from regard.cancellation import CancelledWorkError, cancellable
from regard.documents.document import DocumentOptions
from regard.documents.processes import DocumentSource, ParserLimits, ParserPool, TextLimitError
from regard.documents.processes.messages import HEAD, decode, encode
from regard.documents.processes.parser import READERS
from regard.documents.registry import parse_document
from regard.errors import InputError
from servers import until

OPTIONS = DocumentOptions("en", "fr", name="the file")
PAGE = DocumentSource(b"<p>The <b>black</b> cat</p>", "html", OPTIONS)


@pytest.fixture(scope="module")
def pool():
    with ParserPool(2) as one:
        one.start(prepared=True)
        yield one


def translated(document):
    return document.render([backwards(text) for text in document.texts])


def refused(pool, source=PAGE):
    with pytest.raises(InputError) as error:
        translated(pool.read([source])[0])
    return str(error.value)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_the_same_documents(pool, name, number):
    data = data_of(name, number)
    here = parse_document(data, name, OPTIONS)
    (there,) = pool.read([DocumentSource(data, name, OPTIONS)])
    assert (there.texts, there.has_markup) == (here.texts, here.has_markup)
    assert through(there, same) == data
    assert through(there, backwards) == through(here, backwards)


def test_documents_that_are_read_together(pool):
    first, second = pool.read([PAGE, DocumentSource(b"a b\n", "text", OPTIONS)])
    pairs = [(second, [backwards("a b")]), (first, [same(first.texts[0])]), (second, [same("a b")])]
    assert pool.render(pairs) == [b"b a\n", PAGE.data, b"a b\n"]
    assert pool.read([]) == pool.render([]) == []


def test_a_document_is_written_by_whichever_process_is_there(pool):
    """Its process has other documents by now, or was killed."""
    documents = [pool.read([PAGE])[0] for _ in range(5)]
    assert {translated(document) for document in documents} == {b"<p>cat <b>black</b> The</p>"}
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: is_gone(pid))
    assert translated(documents[0]) == b"<p>cat <b>black</b> The</p>"


def test_half_a_character_goes_there_and_back():
    content = {"texts": ["\ud83d", "\ud83d\ude00", "\U0001f600", "\0"]}
    (message,) = encode(content, [b"data"])
    assert HEAD.unpack_from(message) == (len(message) - HEAD.size - 4, 4)
    assert decode(message[HEAD.size : -4]) == content and message[-4:] == b"data"


def test_errors_of_readers_and_writers_are_those_of_this_process(pool, caplog):
    for data, form in ((b"{", "json"), (b"\xff", "text"), (b"PK", "docx")):
        with pytest.raises(InputError) as here:
            parse_document(data, form, OPTIONS)
        with pytest.raises(InputError) as there:
            pool.read([DocumentSource(data, form, OPTIONS)])
        assert str(there.value) == str(here.value) and there.value.__cause__
        assert isinstance(there.value.__cause__, UnicodeError) == (form == "text")
    assert not caplog.records
    (document,) = pool.read([PAGE])
    with pytest.raises(InputError, match="the file: the document cannot be written as html"):
        document.render([])
    (record,) = caplog.records
    assert record.levelno == logging.ERROR and record.fields["error"] == "ValueError"
    assert any("document.py" in place for place in record.fields["places"])


TITLES = DocumentSource(b"# The *black* cat\n" * 100_000, "markdown", OPTIONS)
LINES = DocumentSource(b"The black cat\n" * 100_000, "text", OPTIONS)
WORDS = DocumentSource(b"cat\n" * 200_000, "text", OPTIONS)  # each in quotes in the answer


@pytest.mark.parametrize(
    ("source", "limits", "sentence"),
    [
        (TITLES, ParserLimits(0.05, 0), "takes longer than 0.05 s to read; split it"),
        (TITLES, ParserLimits(memory=64 << 20, memory_per_byte=0), "takes more than 64 MB of"),
        (LINES, ParserLimits(answer=1 << 20), "has 1,399,999 characters of text, more than"),
        (WORDS, ParserLimits(answer=1 << 20), "has more than 1 MB of text; split it"),
    ],
)
def test_a_document_that_takes_too_much(source, limits, sentence, caplog):
    """Seconds and a hundred megabytes, of a document that is like any other."""
    with ParserPool(1, limits) as small:
        assert refused(small, source).startswith(f"the file {sentence}")
        small.limits = ParserLimits()
        assert translated(small.read([PAGE])[0]) == b"<p>cat <b>black</b> The</p>"
    replaced = [record for record in caplog.records if "replaced" in record.message]
    assert len(replaced) == ("characters" not in sentence)
    assert all("cat" not in str(record.fields) for record in replaced)


def test_too_much_text(pool):
    with pytest.raises(TextLimitError) as error:
        pool.read([DocumentSource(b"abcde\nabcde\n", "text", OPTIONS)], max_characters=10)
    assert error.value.characters == 11
    assert pool.read([DocumentSource(b"abcde\nabcde\n", "text", OPTIONS)], max_characters=11)


def stopped(pool):
    """The processes of a pool do nothing any more, as if they had been reading for ever."""
    pool.start()
    pool.read([PAGE])
    for pid in pool.pids:
        os.kill(pid, signal.SIGSTOP)
    return pool.pids


@pytest.mark.parametrize("count", [1, 100_000])  # more than fits into a pipe
def test_a_process_that_does_nothing_any_more_is_replaced(count):
    with ParserPool(1) as pool:
        before = stopped(pool)
        pool.limits = ParserLimits(0.1, 0)
        page = DocumentSource(count * PAGE.data, "html", OPTIONS)
        assert refused(pool, page).startswith("the file takes longer than 0.1 s to read; ")
        pool.limits = ParserLimits()
        assert pool.read([PAGE]) and not set(before) & set(pool.pids)
        assert all(map(is_gone, before))


def test_what_nobody_waits_for_is_given_up(caplog):
    with ParserPool(1) as pool:
        before = stopped(pool)
        with pytest.raises(CancelledWorkError), cancellable(lambda: True):
            pool.read([PAGE])
        assert all(map(is_gone, before)) and pool.read([PAGE])
    assert [record.fields["problem"] for record in caplog.records] == ["abandoned"]


def test_a_process_that_is_killed_while_it_reads():
    with ParserPool(1) as pool:
        (pid,) = stopped(pool)
        with cancellable(lambda: os.kill(pid, signal.SIGKILL) is not None):  # asked while it waits
            sentence = refused(pool)
        assert sentence.startswith("the file ended the process that was to read it; ")
        assert pool.read([PAGE])


PARENT = """
import os, signal
from regard.documents.document import DocumentOptions
from regard.documents.processes import DocumentSource, ParserPool
pool = ParserPool(2)
pool.start()
for _ in range(2):
    pool.read([DocumentSource(b"a b", "text", DocumentOptions())])
os.kill(pool.pids[0], signal.SIGSTOP)
print(*pool.pids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_process_is_left_when_its_parent_is_killed():
    """One waits for work; the other does not get as far as noticing that nobody will come."""
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, encoding="utf-8")
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    until(lambda: all(map(is_gone, pids)))


FROZEN = """
import re
from regard.documents.processes.parser import Limits
Limits().set(0.1, 1 << 40)
re.match(r"(a+)+$", "a" * 60 + "b")
"""


def test_a_process_ends_itself_where_its_parent_does_not():
    done = subprocess.run([sys.executable, "-c", FROZEN])
    assert done.returncode == -signal.SIGXCPU


def test_the_process_imports_no_torch():
    names = ", ".join(f"regard.documents.{name}" for name in READERS)
    code = (
        f"import sys, regard.documents.processes.parser, {names}; "
        "print({'torch', 'numpy', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.stdout == "set()\n", done.stderr
