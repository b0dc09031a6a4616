"""Trust: keys, signatures, serial numbers; and hostile sites."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.site.config import config_path
from harness.site.layout import check_inside, decode_release, encode, signature_path
from harness.site.publish import publish
from harness.site.publish_candidates import read_candidates
from harness.site.signing import Signer, check_signature, read_key
from harness.site.sites import open_folder
from tests.site.published_site import make_site, new_key, put_index, put_top, served, tiny, top_of
from tests.workshop import Workshop

DESCRIBE = ("describe", "tiny", "--format", "json")


@pytest.fixture
def site(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site that is read from its folder, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))
    root = make_site(shop, tmp_path / "site")
    monkeypatch.setenv("HATE_SITES", str(root))
    return root


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return new_key(tmp_path / "key.pem")


def refusal(shop: Workshop, *words: str) -> str:
    done = shop.call(*(words or DESCRIBE))
    assert done.status == 2
    return done.err


def sign(site: Path, signer: Signer) -> None:
    publish(site, [], signer=signer)


def test_a_signed_site_is_read_and_its_key_pinned(site: Path, shop: Workshop, signer: Signer) -> None:
    sign(site, signer)
    assert top_of(site).key == signer.key
    assert shop.call(*DESCRIBE).status == 0
    publish(site, read_candidates([tiny(shop.folder.parent / "v2", version="2.0.0")]), signer=signer)
    assert shop.call(*DESCRIBE).json["version"] == "2.0.0"


def test_a_changed_key_is_refused(site: Path, shop: Workshop, signer: Signer, tmp_path: Path) -> None:
    sign(site, signer)
    assert shop.call(*DESCRIBE).status == 0
    other = new_key(tmp_path / "other.pem")
    top = {**json.loads((site / "hate-site.json").read_bytes()), "key": other.key, "serial": 9}
    resign(site, encode(top), other)
    text = refusal(shop)
    assert f"signed by another key, {other.key}, not by {signer.key}; refused" in text
    assert f"hate cache forget {site}" in text
    assert "forgotten" in shop.call("cache", "forget", str(site)).err
    assert shop.call(*DESCRIBE).status == 0
    assert "nothing to forget" in shop.call("cache", "forget", "http://elsewhere.example/x").err


def resign(site: Path, data: bytes, signer: Signer) -> None:
    """Sign changed data, with any key."""
    (site / "hate-site.json").write_bytes(data)
    path = site / signature_path(hashlib.sha256(data).hexdigest())
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(signer.sign(data))


def test_a_changed_index_is_refused(site: Path, shop: Workshop, signer: Signer) -> None:
    sign(site, signer)
    good = (site / "hate-site.json").read_bytes()
    changed = good.replace(b'"title":""', b'"title":"!"')
    (site / "hate-site.json").write_bytes(changed)
    assert "signature is missing; refused" in refusal(shop)
    old = site / signature_path(hashlib.sha256(good).hexdigest())
    new = site / signature_path(hashlib.sha256(changed).hexdigest())
    shutil.copy(old, new)
    assert "the index was changed; refused" in refusal(shop)
    for nonsense in (b"", b"{}", b"[" * 100_000, b'{"hate":"signature","format":1,"key":"","signature":"?"}'):
        new.write_bytes(nonsense)
        assert shop.call(*DESCRIBE).status == 2


def test_a_site_that_is_no_longer_signed_is_refused(site: Path, shop: Workshop, signer: Signer) -> None:
    sign(site, signer)
    assert shop.call(*DESCRIBE).status == 0
    put_top(site, lambda top: top.update(key="", serial=99))
    assert f"no longer signed, but it was signed by {signer.key} before; refused" in refusal(shop)


def test_a_key_in_the_configuration_counts_from_the_first_time(site: Path, shop: Workshop, signer: Signer) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(f'[keys]\n"{site}" = "{signer.key}"\n')
    assert "no longer signed" in refusal(shop)
    sign(site, signer)
    assert shop.call(*DESCRIBE).status == 0
    config_path().write_text(f'[keys]\n"{site}" = "ed25519:nonsense"\n')
    assert "signed by another key" in refusal(shop)


def test_an_older_index_is_refused(site: Path, shop: Workshop, tmp_path: Path) -> None:
    old = (site / "hate-site.json").read_bytes()
    publish(site, read_candidates([tiny(tmp_path / "late", name="late")]))
    assert shop.call(*DESCRIBE).status == 0
    new = (site / "hate-site.json").read_bytes()
    (site / "hate-site.json").write_bytes(old)
    assert "its index has number 1, but number 2 was seen before; refused" in refusal(shop)
    done = shop.call("list")
    assert done.status == 0
    assert "site skipped" in done.err
    (site / "hate-site.json").write_bytes(new.replace(b'"title":""', b'"title":"x"'))
    assert "two different indexes have the number 2; refused" in refusal(shop)
    (site / "hate-site.json").write_bytes(new)
    assert shop.call(*DESCRIBE).status == 0


def test_clearing_the_cache_forgets_no_key(site: Path, shop: Workshop, tmp_path: Path) -> None:
    old = (site / "hate-site.json").read_bytes()
    publish(site, read_candidates([tiny(tmp_path / "late", name="late")]))
    assert shop.call(*DESCRIBE).status == 0
    assert shop.call("cache", "clear").status == 0
    (site / "hate-site.json").write_bytes(old)
    assert "was seen before" in refusal(shop)


def test_signatures_over_http(site: Path, shop: Workshop, signer: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    sign(site, signer)
    with served(site) as server:
        monkeypatch.setenv("HATE_SITES", server.url(""))
        assert shop.call(*DESCRIBE).status == 0
        assert shop.call(*DESCRIBE).status == 0
        assert len([path for path, _ in server.seen if path.startswith("/signatures/")]) == 1
        shutil.rmtree(site / "signatures")
        publish(site, read_candidates([tiny(shop.folder.parent / "v2", version="2.0.0")]), signer=signer)
        shutil.rmtree(site / "signatures")
        assert "its signature is missing" in refusal(shop)


def test_publishing_to_a_signed_site_needs_its_key(site: Path, shop: Workshop, tmp_path: Path) -> None:
    done = shop.call("publish", "--new-key", tmp_path / "a.pem", "--title", "signed", "--to", site)
    assert done.status == 0
    folder = tiny(tmp_path / "v2", version="2.0.0")
    assert "give that key with --key FILE" in refusal(shop, "publish", str(folder), "--to", str(site))
    other = new_key(tmp_path / "b.pem")
    text = refusal(shop, "publish", str(folder), "--to", str(site), "--key", str(tmp_path / "b.pem"))
    assert f"the site is signed by {read_key(tmp_path / 'a.pem').key}, not by {other.key}; readers would refuse" in text
    assert shop.call("publish", folder, "--to", site, "--key", tmp_path / "a.pem").status == 0
    assert "never overwritten" in refusal(shop, "publish", "--new-key", str(tmp_path / "a.pem"))
    assert "not an Ed25519 key" in refusal(
        shop, "publish", str(folder), "--to", "x", "--key", str(folder / "cases.csv")
    )
    assert (tmp_path / "a.pem").stat().st_mode & 0o077 == 0


def test_openssl_makes_and_checks_the_same_signatures(tmp_path: Path) -> None:
    """An independent implementation of RFC 8032."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "k.pem"], check=True)
    signer = read_key(tmp_path / "k.pem")
    said = json.loads(signer.sign(b"an index\n"))
    (tmp_path / "data").write_bytes(b"an index\n")
    (tmp_path / "sig").write_bytes(base64.b64decode(said["signature"]))
    verify = ["openssl", "pkeyutl", "-verify", "-rawin", "-inkey", "k.pem", "-in", "data", "-sigfile", "sig"]
    assert subprocess.run(verify, cwd=tmp_path, capture_output=True).returncode == 0
    check_signature(b"an index\n", signer.sign(b"an index\n"), signer.key, "x")


def test_a_missing_library_is_named(site: Path, shop: Workshop, signer: Signer,
                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    sign(site, signer)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert "pip install 'hate-harness[sign]'" in refusal(shop)


Change = Callable[[dict[str, Any]], None]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("change", "text"), [
    (lambda top: top.update(format=2), "a newer hate may read it"),
    (lambda top: top.update(hate="page"), "not the index of a site"),
    (lambda top: top.update(serial=-1), "not an index of a site"),
    (lambda top: top.update(serial=10**30), "not an index of a site"),
    (lambda top: top.update(serial="7"), "not an index of a site"),
    (lambda top: top.update(tests=[]), "not an index of a site"),
    (lambda top: top["tests"].update(sha256="../../../etc/passwd"), "not an index of a site"),
    (lambda top: top["tests"].update(sha256="0" * 64), "the site is incomplete"),
    (lambda top: top["tests"].update(bytes=1 << 49), "refused"),
    (lambda top: top["tests"].update(bytes=top["tests"]["bytes"] + 1), "damaged"),
    (lambda top: top["tests"].update(count=10**6), "do not belong there"),
    (lambda top: top.update(mirrors=["x" * 2000]), "not an index of a site"),
])  # fmt: skip
def test_a_hostile_top_index_is_refused(site: Path, shop: Workshop, change: Change, text: str) -> None:
    put_top(site, change)
    assert text in refusal(shop)
    assert refusal(shop).count("\n") <= 2


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 200_000, b"{" * 200_000, b"<html>", b"null", b" " * (2 << 20)],
                         ids=["empty", "binary", "deep", "deep objects", "page", "null", "large"])  # fmt: skip
def test_a_bad_top_index(site: Path, shop: Workshop, data: bytes) -> None:
    (site / "hate-site.json").write_bytes(data)
    assert "not an index of a site" in (said := refusal(shop)) or "not the index of a site" in said


def replace_release(site: Path, change: Change) -> None:
    """A release, and all indexes above it, as a hostile site would write them."""
    catalogue = open_folder(site)
    entry = next(catalogue.tests())
    index = json.loads(encode(catalogue.index_of(entry)))
    release = json.loads(catalogue.store.index(catalogue.index_of(entry).latest.release))
    change(release)
    index["versions"][0]["release"] = put_index(site, release)
    new = json.loads(encode(entry)) | {"index": put_index(site, index)}
    leaf = put_index(site, {"node": "leaf", "entries": [new]})
    put_top(site, lambda top: top.update(tests=leaf | {"count": 1}, serial=top["serial"] + 1))


def files_outside_cache(folder: Path) -> set[Path]:
    """All files except the cache and the records of sites."""
    return {path for path in folder.rglob("*") if not {"own-cache", "home"} & set(path.parts)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", [
    "../x", "a/../../x", "/tmp/x", "a//b", "a/", ".", "..", "a\\b", "C:x", "a\0b", "a\nb", "nul", "aux.txt", "x" * 300,
    "a/./b", " a", "a.", "",
])  # fmt: skip
def test_no_file_of_a_release_is_written_elsewhere(site: Path, shop: Workshop, path: str, tmp_path: Path) -> None:
    replace_release(site, lambda release: release["files"][1].update(path=path))
    before = files_outside_cache(tmp_path)
    refusal(shop)
    assert files_outside_cache(tmp_path) == before
    with pytest.raises(DataError):
        check_inside(path, "x")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("change", "text"), [
    (lambda r: r["files"].append(r["files"][0]), "two files with the same path"),
    (lambda r: r["files"].append(r["files"][0] | {"path": "cases.csv/x"}), "two files with the same path"),
    (lambda r: r.update(script="other.hate.toml"), "no script 'other.hate.toml'"),
    (lambda r: r.update(name="other"), "not the release of tiny 1.0.0"),
    (lambda r: r.update(files=r["files"] * 10_000), "not an index of a site"),
    (lambda r: r["files"][0].update(bytes=1 << 60), "not an index of a site"),
    (lambda r: r["files"].pop(0), "digest"),
    (lambda r: r["files"][0].update(sha256=r["files"][1]["sha256"], bytes=r["files"][1]["bytes"]), "digest"),
])  # fmt: skip
def test_a_hostile_release_is_refused(site: Path, shop: Workshop, change: Change, text: str) -> None:
    replace_release(site, change)
    assert text in refusal(shop)


def test_a_valid_release_is_accepted(site: Path) -> None:
    with pytest.raises(DataError, match="not an index of a site"):
        decode_release(b'{"hate":"release"}', "x")


def test_a_transcript_of_another_test_is_refused(site: Path, shop: Workshop) -> None:
    """The index may claim anything; the transcript's header must agree."""
    catalogue = open_folder(site)
    entry = next(catalogue.tests())
    index = json.loads(encode(catalogue.index_of(entry)))
    poor = catalogue.transcript(catalogue.index_of(entry), "poor")
    assert poor is not None
    lying = json.loads(encode(poor)) | {"version": "1.0.0", "digest": f"1:{'0' * 64}"}
    index["transcripts"] = put_index(site, {"node": "leaf", "entries": [lying]}) | {"count": 1}
    new = json.loads(encode(entry)) | {"index": put_index(site, index)}
    leaf = put_index(site, {"node": "leaf", "entries": [new]})
    put_top(site, lambda top: top.update(tests=leaf | {"count": 1}, serial=2))
    assert "not what the index says; refused" in refusal(shop, "show", "tiny/poor")


def test_text_from_a_site_cannot_control_the_terminal(site: Path, shop: Workshop) -> None:
    entry = json.loads(encode(next(open_folder(site).tests()))) | {"synopsis": "\x1b[2Jgone", "task": "\x1b]0;x\x07"}
    leaf = put_index(site, {"node": "leaf", "entries": [entry]})
    put_top(site, lambda top: top.update(tests=leaf | {"count": 1}, serial=2))
    done = shop.call("list")
    assert "\\x1b[2Jgone" in done.out
    assert "\x1b" not in done.out + done.err


def test_a_hostile_archive_of_a_site_is_refused(
    site: Path, shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hate publish` would refuse it; a site that has it anyway does no harm."""
    folder = tiny(tmp_path / "bad", name="bad")
    with zipfile.ZipFile(folder / "evil.zip", "w") as archive:
        archive.writestr("../../../escaped", b"!")
    with (folder / "bad.hate.toml").open("a") as script:
        script.write('[data.evil]\npath = "evil.zip"\nunpack = true\n')
    assert "would be unpacked outside its folder" in refusal(shop, "publish", str(folder), "--to", str(site))
    with monkeypatch.context() as patch:
        patch.setattr("harness.site.publish_candidates.fetch_data", lambda script: {"images": script.folder / "images"})
        publish(site, read_candidates([folder]))
    before = files_outside_cache(tmp_path)
    assert "would be unpacked outside its folder" in refusal(shop, "describe", "bad")
    assert files_outside_cache(tmp_path) == before
    assert not list(tmp_path.rglob("escaped"))


def test_a_script_of_a_site_that_names_files_elsewhere_is_refused(shop: Workshop, tmp_path: Path) -> None:
    folder = tiny(tmp_path / "sly", name="sly")
    script = folder / "sly.hate.toml"
    script.write_text(script.read_text().replace('path = "images"', 'path = "../../../etc"'))
    assert "leaves the script's folder" in refusal(shop, "publish", str(folder), "--to", "new")
