"""Keys that are rotated and revoked, a root key, indexes that expire; and addresses with several spellings."""

import base64
import hashlib
import json
import shutil
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from harness.site.config import config_path, configured_sites, site_config
from harness.site.layout import TOP, decode_top, index_path, signature_path
from harness.site.publish import SiteSettings, publish, tidy
from harness.site.signing import Signer
from harness.site.trust import trust_folder
from harness.site.urls import normalised
from tests.site.published_site import make_site, new_key, put_top, served, tiny
from tests.workshop import Workshop

DESCRIBE = ("describe", "tiny", "--format", "json")


class Owner:
    """A site with an offline root key and keys for signing."""

    def __init__(self, shop: Workshop, site: Path, keys: Path) -> None:
        self.shop, self.site, self.keys = shop, site, keys
        keys.mkdir()
        names = ("root", "root2", "first", "second", "thief")
        self.signers: dict[str, Signer] = {name: new_key(keys / f"{name}.pem") for name in names}

    def key(self, name: str) -> str:
        return self.signers[name].key

    def file(self, name: str) -> str:
        return str(self.keys / f"{name}.pem")

    def publish(self, *words: str, key: str = "first", status: int = 0) -> str:
        done = self.shop.call("publish", "--to", str(self.site), "--key", self.file(key), *words)
        assert done.status == status, done.err
        return done.err

    def read(self) -> str:
        """What a reader says; empty if all is well."""
        done = self.shop.call(*DESCRIBE)
        assert done.err.count("\n") == (1 if done.status else 0), done.err
        return done.err if done.status else ""


@pytest.fixture
def owner(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Owner:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))
    root = make_site(shop, tmp_path / "site")
    monkeypatch.setenv("HATE_SITES", str(root))
    return Owner(shop, root, tmp_path / "keys")


def with_root(owner: Owner) -> None:
    owner.publish("--root-key", owner.file("root"), "--allow", owner.file("first"))
    assert owner.read() == ""


def test_a_key_is_rotated_without_asking_readers(owner: Owner) -> None:
    with_root(owner)
    owner.publish("--root-key", owner.file("root"), "--allow", owner.key("second"), key="second")
    assert owner.read() == ""
    owner.publish("--title", "by the old key", key="first")
    assert owner.read() == ""


def test_a_revoked_key_is_refused_whatever_it_signs(owner: Owner) -> None:
    with_root(owner)
    stolen = owner.site.parent / "stolen"
    shutil.copytree(owner.site, stolen)
    owner.publish(
        "--root-key", owner.file("root"), "--allow", owner.file("second"), "--revoke", owner.key("first"), key="second"
    )
    assert owner.read() == ""
    refused = owner.publish("--title", "x", key="first", status=2)
    assert "the root key does not allow" in refused
    # The thief has the key and an old copy of the site, and makes its number larger.
    publish(stolen, [], signer=owner.signers["first"], settings=SiteSettings(title="stolen"))
    for _ in range(3):
        publish(stolen, [], signer=owner.signers["first"], settings=SiteSettings(lifetime=9))
    shutil.copytree(stolen, owner.site, dirs_exist_ok=True)
    assert "its root document has number 1, but number 2 was seen before; refused" in owner.read()
    # With the new root document, the old key counts for nothing.
    forge(owner, "first", serial=99)
    assert f"signed by {owner.key('first')}, which its owner has revoked; refused" in owner.read()
    forge(owner, "thief", serial=100)
    assert "which its root key does not allow; refused" in owner.read()


def forge(owner: Owner, key: str, **changes: object) -> None:
    """The top index with the latest root document, signed by a key of one's choice."""
    roots = [path for path in (owner.site / "index").rglob("*.json") if b'"hate":"root"' in path.read_bytes()]
    latest = max(roots, key=lambda path: json.loads(path.read_bytes())["version"])
    ref = {"sha256": latest.stem, "bytes": latest.stat().st_size}
    put_top(owner.site, lambda top: top.update(key=owner.key(key), root=ref, **changes))
    data = (owner.site / TOP).read_bytes()
    path = owner.site / signature_path(hashlib.sha256(data).hexdigest())
    path.write_bytes(owner.signers[key].sign(data))


def test_only_the_root_key_says_which_keys_may_sign(owner: Owner) -> None:
    with_root(owner)
    change = ("--allow", owner.key("thief"))
    assert f"the site's root key is {owner.key('root')}" in owner.publish(
        "--root-key", owner.file("thief"), *change, status=2
    )
    assert "need the root key" in owner.publish(*change, status=2)
    assert "say what to change" in owner.publish("--root-key", owner.file("root"), status=2)
    assert "signs no indexes" in owner.publish("--root-key", owner.file("root"), "--allow", owner.key("root"), status=2)
    assert "no key would be left" in owner.publish(
        "--root-key", owner.file("root"), "--revoke", owner.key("first"), status=2
    )
    assert "not an Ed25519 key" in owner.publish(
        "--root-key", owner.file("root"), "--allow", str(owner.site / TOP), status=2
    )
    # A document that the thief made alone, after the owner's, is not in the chain that readers know.
    root = json.loads((owner.site / TOP).read_bytes())["root"]
    alone = owner.site.parent / "alone"
    make_site(owner.shop, alone)
    done = owner.shop.call(
        "publish", "--to", str(alone), "--key", owner.file("thief"),
        "--root-key", owner.file("root2"), "--allow", owner.key("thief"), "--title", "x",
    )  # fmt: skip
    assert done.status == 0, done.err
    shutil.copytree(alone, owner.site, dirs_exist_ok=True)
    put_top(owner.site, lambda top: None)
    assert "its root key changed without the old one's signature; refused" in owner.read()
    assert (owner.site / index_path(root["sha256"])).is_file()


def test_the_root_key_hands_over(owner: Owner) -> None:
    with_root(owner)
    owner.publish("--root-key", owner.file("root"), "--new-root", owner.file("root2"))
    assert owner.read() == ""
    change = ("--allow", owner.key("second"))
    assert "the site's root key is" in owner.publish("--root-key", owner.file("root"), *change, status=2)
    owner.publish("--root-key", owner.file("root2"), *change, key="second")
    assert owner.read() == ""
    # Someone who has never been here follows the whole chain.
    shutil.rmtree(trust_folder())
    assert owner.read() == ""


def test_a_root_document_needs_its_signature(owner: Owner) -> None:
    with_root(owner)
    owner.publish("--root-key", owner.file("root"), "--allow", owner.key("second"))
    root = json.loads((owner.site / TOP).read_bytes())["root"]
    path = owner.site / signature_path(root["sha256"])
    good = path.read_bytes()
    path.unlink()
    assert "root document 2: signed by" in owner.read()
    wrong = json.loads(good) | {"signature": base64.b64encode(bytes(64)).decode()}
    path.write_text(json.dumps(wrong))
    assert "root document 2: not signed by" in owner.read()
    path.write_bytes(good)
    assert owner.read() == ""


def test_a_site_keeps_its_root_key(owner: Owner) -> None:
    with_root(owner)
    put_top(owner.site, lambda top: top.update(root=None, key="", serial=50))
    assert "no longer has a root key, but had one before; refused" in owner.read()


def test_readers_of_a_signed_site_learn_about_its_root_key(owner: Owner) -> None:
    """From an index that the key they know has signed; never from another one."""
    owner.publish("--title", "signed")
    assert owner.read() == ""
    refused = owner.publish("--root-key", owner.file("root"), "--allow", owner.file("second"), key="second", status=2)
    assert "readers would refuse the change" in refused
    with_root(owner)
    owner.publish("--root-key", owner.file("root"), "--allow", owner.file("second"), key="second")
    assert owner.read() == ""


def test_a_root_key_in_the_configuration(owner: Owner) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(f'[keys]\n"{owner.site}" = "{owner.key("root")}"\n')
    assert "no longer signed" in owner.read()
    owner.publish("--root-key", owner.file("root"), "--allow", owner.file("first"))
    assert owner.read() == ""
    owner.publish("--root-key", owner.file("root"), "--allow", owner.file("second"), key="second")
    assert owner.read() == ""
    config_path().write_text(f'[keys]\n"{owner.site}" = "{owner.key("thief")}"\n')
    assert "signed by another key" in owner.read()


def test_an_index_expires(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    owner.publish("--expires", "30")
    top = decode_top((owner.site / TOP).read_bytes(), "top")
    until = datetime.fromisoformat(top.expires)
    assert timedelta(days=29, hours=23) < until - datetime.now(UTC) <= timedelta(days=30)
    assert owner.read() == ""
    past = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    serial = top.serial + 1
    resigned(owner, expires=past, serial=serial)
    assert "its index expired on" in owner.read()
    # Any change renews it, and so does saying it again.
    owner.publish(str(tiny(owner.site.parent / "late", name="late")))
    assert owner.read() == ""
    before = decode_top((owner.site / TOP).read_bytes(), "top").serial
    owner.publish("--expires", "30")
    assert decode_top((owner.site / TOP).read_bytes(), "top").serial == before + 1
    resigned(owner, expires="soon", serial=serial + 5)
    assert "'soon' is not a time at which its index expires" in owner.read()


def resigned(owner: Owner, **changes: object) -> None:
    put_top(owner.site, lambda top: top.update(changes))
    data = (owner.site / TOP).read_bytes()
    path = owner.site / signature_path(hashlib.sha256(data).hexdigest())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(owner.signers["first"].sign(data))


class LaterDatetime(datetime):
    """The clock, forty days later."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "LaterDatetime":
        return super().now(tz) + timedelta(days=40)


def test_an_expired_copy_still_serves_offline(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    owner.publish("--expires", "30")
    with served(owner.site) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        assert owner.shop.call("fetch", "tiny").status == 0
        monkeypatch.setattr("harness.site.trust.datetime", LaterDatetime)
        assert "its index expired on" in owner.read()
        assert owner.shop.call(*DESCRIBE, "--offline").status == 0
    # The site is down: what is here can be used, and a line says so.
    down = owner.shop.call(*DESCRIBE)
    assert (down.status, "using the copy in the cache" in down.err) == (0, True)


def test_tidying_keeps_root_documents(owner: Owner) -> None:
    with_root(owner)
    owner.publish("--root-key", owner.file("root"), "--allow", owner.key("second"))
    assert tidy(owner.site, grace=-1).files > 0
    shutil.rmtree(trust_folder())
    assert owner.read() == ""


SPELLINGS = ["{}/./", "{}//", "{}/x/..", "{}/%2e/", "{}/hate-site.json", "{}?x=1", "{}#top"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_spellings_of_an_address_have_one_trust_record(
    owner: Owner, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.publish("--title", "signed")
    with served(owner.site) as server:
        plain = server.url("").rstrip("/")
        monkeypatch.setenv("HATE_SITES", plain)
        assert owner.read() == ""
        for text in (spelling.format(plain), spelling.format(plain.replace("127.0.0.1", "127.0.0.1."))):
            assert site_config(text).address == plain
        # An attacker who can choose the spelling, in a link to a test, gets no fresh start.
        put_top(owner.site, lambda top: top.update(key="", serial=99))
        done = owner.shop.call("describe", f"{spelling.format(plain).partition('?')[0].partition('#')[0]}/tests/tiny")
        assert (done.status, "no longer signed" in done.err) == (2, True), done.err
        monkeypatch.setenv("HATE_SITES", f"{plain} {spelling.format(plain)}")
        assert len(configured_sites()) == 1


@pytest.mark.parametrize(("url", "plain"), [
    ("HTTP://Example.ORG:80/a/./b/../c/", "http://example.org/a/c"),
    ("https://example.org:443", "https://example.org"),
    ("https://example.org:8443/", "https://example.org:8443"),
    ("https://u:p@example.org./%7Eann/%2fx", "https://u:p@example.org/~ann/%2Fx"),
    ("http://[::1]:80/x/", "http://[::1]/x"),
    ("https://example.org/../../x", "https://example.org/x"),
])  # fmt: skip
def test_addresses_are_normalised_as_in_rfc_3986(url: str, plain: str) -> None:
    assert normalised(url) == plain == normalised(plain)
