"""Which names a server answers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.hosts import AllowedHosts, default_hosts, is_host_name, split_host

LOCAL = default_hosts("127.0.0.1", "127.0.0.1", "box.lan")
OPEN = default_hosts("0.0.0.0", "0.0.0.0", "box.lan")


@pytest.mark.parametrize(
    ("names", "answered", "refused"),
    [
        (
            LOCAL,
            ("localhost", "LocalHost:5000", "localhost.", "127.0.0.1:5000", "127.0.0.2", "[::1]:1"),
            (
                "evil.example",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "box.lan",
                "203.0.113.7",
                "notlocalhost",
                "127.0.0.1:5000:80",
                "[127.0.0.1",
                "",
                "a@localhost",
            ),
        ),
        (
            OPEN,
            ("localhost", "203.0.113.7:5000", "[2001:db8::1]", "box", "BOX.lan:80", "box.local"),
            ("evil.example", "203.0.113.7.evil.example", "box.evil.example", "lan"),
        ),
        (
            (*LOCAL, "translate.example.org", "*.example.net", "10.0.0.0/8"),
            ("Translate.Example.org:443", "a.example.net", "a.b.example.net", "10.1.2.3:80"),
            ("example.org", "a.translate.example.org", "example.net", "anexample.net", "11.0.0.1"),
        ),
        (("*",), ("anything.example", "[::1]", "no host at all"), ()),
    ],
)
def test_names_that_are_answered(names, answered, refused):
    hosts = AllowedHosts(names)
    assert [host for host in answered if not hosts.allow(host)] == []
    assert [host for host in refused if hosts.allow(host)] == []


def test_a_port_that_a_host_must_have():
    hosts = AllowedHosts(LOCAL, 5000)
    assert hosts.allow("localhost:5000") and hosts.allow("127.0.0.1:5000")
    assert not hosts.allow("localhost") and not hosts.allow("127.0.0.1:5001")


def test_an_address_of_ipv6_and_a_name_that_is_listened_at():
    assert AllowedHosts(default_hosts("::1", "::1", "box")).allow("[::1]:5000")
    assert AllowedHosts(default_hosts("::", "::", "box")).allow("[2001:db8::2]:5000")
    assert AllowedHosts(default_hosts("intern.lan", "10.0.0.2", "box")).allow("intern.lan:5000")
    strange = default_hosts("0.0.0.0", "0.0.0.0", "a box")  # a name that no Host can have
    assert all(map(is_host_name, strange))


@given(st.text(max_size=30))
def test_whatever_a_host_is_it_is_answered_only_as_a_name_or_an_address(host):
    if AllowedHosts(LOCAL).allow(host):
        name, _ = split_host(host)
        assert name in ("localhost", "::1") or name.startswith("127.")
