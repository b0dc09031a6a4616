"""What `hate publish`, `serve`, `submit`, `token`, `fetch` and `cache` do, called from Python: the same, by keyword."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import requests

import harness
from harness.api.result import Result
from harness.api.wording import PythonWords
from harness.errors import OutputError, UsageError
from harness.server.app import SiteServer
from harness.server.submitting import PartlyRefused
from harness.site.cache import cache_folder
from harness.site.sites import open_folder
from tests.server.blind_site import riddle
from tests.server.served import WAIT, toy_script
from tests.server.test_submit_command import ECHO
from tests.site.published_site import READER, tiny, tree
from tests.workshop import Workshop


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of its own for every test."""
    return tmp_path / "cache"


@pytest.fixture
def toy(shop: Workshop) -> Path:
    """A test, and a run of it: `mine.jsonl`."""
    folder = toy_script(shop.folder / "toy")
    shop.interface(ECHO)
    assert shop.call("run", "toy/", "-o", "mine.jsonl").status == 0
    return folder


def other_run(shop: Workshop) -> str:
    """The run of another algorithm."""
    shop.interface(ECHO.replace("% 2", "% 3").replace("echo", "third"))
    assert shop.call("run", "toy/", "-o", "other.jsonl").status == 0
    return "other.jsonl"


def is_the_same(call: Callable[[], Result], shop: Workshop, *words: str | Path) -> None:
    """As JSON, as text, and beside it; for what changes nothing, or nothing any more."""
    shop.capsys.readouterr()
    result = call()
    said = shop.capsys.readouterr()
    as_json, plain = (shop.call(*words, "--format", style) for style in ("json", "plain"))
    assert (as_json.status, result.to_dict()) == (0, as_json.json), as_json.err
    assert str(result) == plain.out
    assert said.out == ""
    assert said.err + remarks(result) == PythonWords()(plain.err)


def remarks(result: Result) -> str:
    return "".join(f"{text}\n" for text in result.remarks)


def one_line(error: pytest.ExceptionInfo[harness.HateError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert not re.search(r" --[a-z]|\bhate [a-z]", text), "commands and flags are for the command line"
    return text


def published(site: str | Path) -> dict[str, str]:
    """The transcripts of the toy test, and who handed each in."""
    catalogue = open_folder(Path(site))
    index = catalogue.test("toy")
    assert index is not None
    return {entry.name: entry.by for entry in catalogue.transcripts(index)}


# Publishing


def test_publish_makes_the_site_that_the_command_makes(toy: Path, shop: Workshop) -> None:
    result = harness.publish(["toy", "mine.jsonl"], to="here", title="Toys")
    done = shop.call("publish", "toy", "mine.jsonl", "--to", "there", "--title", "Toys")
    assert str(result) == done.out
    assert remarks(result) == PythonWords()(done.err.replace("there", "here"))
    assert result.remarks[-1] == "here: change 1"
    assert [(item.label, item.status) for item in result.published] == [
        ("toy 1.0", "published"),
        ("toy/mine", "published"),
    ]
    assert (result.serial, result.site, result.private) == (1, Path("here"), None)
    files = [{name for name in tree(shop.folder / site) if name.startswith("files/")} for site in ("here", "there")]
    assert files[0] == files[1]
    assert open_folder(Path("here")).top.title == "Toys"
    given = ["toy", "mine.jsonl"]
    is_the_same(lambda: harness.publish(given, to="here"), shop, "publish", *given, "--to", "here")
    is_the_same(lambda: harness.publish(toy, to="new", dry_run=True), shop, "publish", toy, "--to", "new", "--dry-run")
    assert not Path("new").exists()


def test_a_result_of_a_run_is_published(toy: Path, shop: Workshop) -> None:
    harness.publish("toy", to="site")
    run = harness.run("toy/", lambda case, params: "x1", name="ones", output="ones.jsonl")
    result = harness.publish([run, harness.read("mine.jsonl")], to="site")
    assert [item.label for item in result.published] == ["toy/ones", "toy/mine"]
    assert list(published("site")) == ["mine", "ones"]
    harness.publish("mine.jsonl", to="site", name="again")
    assert list(published("site")) == ["again", "mine", "ones"]
    test = harness.load_test("toy/")
    assert [item.label for item in harness.publish([test, run], to="other").published] == ["toy 1.0", "toy/ones"]


class Counter:
    """Progress that counts."""

    def __init__(self) -> None:
        self.total = self.done = self.ended = 0

    def begin(self, total: int, done: int) -> None:
        self.total = total

    def advance(self, done: int, errors: int) -> None:
        self.done = done

    def end(self) -> None:
        self.ended += 1


def test_keys_pages_and_tidying(toy: Path, shop: Workshop) -> None:
    made = harness.publish(new_key="key.pem")
    assert made.to_dict() == {"site": None, "dry_run": False, "serial": None, "published": []}
    assert made.remarks == [
        f"key in key.pem, keep it secret; its public part, for those who read the site: {made.new_key}"
    ]
    counter = Counter()
    result = harness.publish("toy", to="site", key="key.pem", pages=True, tidy=True, progress=counter)
    assert result.pages is not None
    assert (counter.total, counter.done, counter.ended) == (result.pages.pages, result.pages.pages, 1)
    assert result.remarks == [
        "site: change 1",
        "site: 0 files removed, 0 bytes",
        f"site/index.html: {result.pages.pages} of {result.pages.pages} pages written",
    ]
    assert open_folder(Path("site")).top.key == made.new_key
    again = shop.call("publish", "--to", "site", "--tidy", "--format", "json")
    assert (again.status, again.out) == (0, "")
    tidied = harness.publish(to="site", tidy=True)
    assert remarks(tidied) == again.err
    unsigned = shop.call("publish", "mine.jsonl", "--to", "site")
    with pytest.raises(UsageError, match="give that key with key=FILE"):
        harness.publish("mine.jsonl", to="site")
    assert "give that key with --key FILE" in unsigned.err


def test_what_is_kept_back_of_a_blind_test(shop: Workshop) -> None:
    riddle(shop.folder / "riddle")
    result = harness.publish("riddle", to="here", blind=True)
    done = shop.call("publish", "riddle", "--blind", "--to", "there")
    assert str(result) == done.out
    assert remarks(result) == PythonWords()(done.err.replace("there", "here"))
    assert "column 'code' tells the truth, so it is hidden too" in result.remarks
    assert result.private == shop.folder / "here.private"
    assert (result.private / "riddle@1.0").is_dir()
    assert not any(b"truth" in content.splitlines()[0] for content in tree(Path("here")).values() if content)
    with pytest.raises(UsageError) as refused:
        harness.publish("riddle", to="here", blind=True, private="here/truth")
    assert one_line(refused).startswith("private='here/truth': inside the site's folder")


def test_mistakes_of_publishers_are_one_line(toy: Path, shop: Workshop) -> None:
    for given, settings, text in (
        (["toy"], {}, "say where: to=FOLDER"),
        ([], {"to": "site"}, "nothing to publish; name a test's folder or transcripts"),
        (["toy", "mine.jsonl"], {"to": "site", "name": "x"}, "name is for one transcript or interface; name one"),
        (["toy"], {"to": "site", "blind": True, "reveal": True}, "blind=True and reveal=True exclude one another"),
        (["toy"], {"to": "site", "tidy": True, "dry_run": True}, "tidy=True and dry_run=True exclude one another"),
        (["mine.jsonl"], {"to": "site", "allow": "x"}, "allow, revoke and new_root need the root key"),
        (["nothing"], {"to": "site"}, "nothing"),
        ([3], {"to": "site"}, "3: not a transcript"),
    ):
        with pytest.raises(harness.HateError) as refused:
            harness.publish(given, **settings)  # type: ignore[arg-type]
        assert text in one_line(refused)
    with pytest.raises(UsageError, match="expires=-1: not in the range"):
        harness.publish("toy", to="site", expires=-1)
    with pytest.raises(TypeError, match="'tittle'; did you mean 'title'"):
        harness.publish("toy", to="site", tittle="x")  # type: ignore[call-arg]
    assert not Path("site").exists()


def test_an_error_says_what_was_done_before_it(shop: Workshop) -> None:
    shop.write("site/.publishing", "in the way")
    with pytest.raises(harness.HateError) as refused:
        harness.publish(to="site", title="Toys", new_key="key.pem")
    assert refused.value.note.startswith("key in key.pem, keep it secret; its public part")
    done = shop.call("publish", "--to", "site", "--title", "Toys", "--new-key", "other.pem")
    error, note = done.err.splitlines()
    assert "nothing was published" in error
    assert note.startswith("hate: key in other.pem, keep it secret")


def test_a_key_is_written_when_all_else_was_checked(toy: Path, shop: Workshop) -> None:
    for given, settings in (
        ("nothing", {}),
        ("toy", {"dry_run": True}),
        ("toy", {"dry_run": True, "tidy": True}),
        ("toy", {"name": "x"}),
        ("toy", {"for_test": "toy"}),
        ("toy", {"allow": "x"}),
        ("mine.jsonl", {}),
    ):
        with pytest.raises(harness.HateError) as refused:
            harness.publish(given, to="site", new_key="key.pem", **settings)
        assert (refused.value.note, Path("key.pem").exists(), Path("site").exists()) == ("", False, False)
    harness.publish("toy", to="site", new_key="key.pem")
    with pytest.raises(UsageError, match="readers would refuse the change"):
        harness.publish("mine.jsonl", to="site", new_key="second.pem")
    assert not Path("second.pem").exists()
    harness.publish(new_key="root.pem")
    allowed = harness.publish(to="rooted", root_key="root.pem", allow="third.pem", new_key="third.pem")
    assert open_folder(Path("rooted")).top.key == allowed.new_key


def test_what_a_site_cannot_take_is_refused_under_the_name_that_was_given(toy: Path, shop: Workshop) -> None:
    harness.publish("toy", to="site")
    shop.write("svm.csv", "id,y_true,y_pred\n1,a,a\n2,b,a\n")
    svm = harness.load("svm.csv")
    calls: list[Callable[[], object]] = [
        lambda: harness.publish(svm, to="site"),
        lambda: harness.submit(["mine.jsonl", svm], to="http://127.0.0.1:1", token="ann:x"),
    ]
    for call in calls:
        with pytest.raises(UsageError) as refused:
            call()
        assert one_line(refused).startswith("svm.csv: imported from another tool")
    kept = harness.convert(svm, "svm.jsonl")
    assert "svm.jsonl: imported from another tool" in shop.call("publish", kept.path, "--to", "site").err
    with pytest.raises(UsageError, match="for_test='x': for an interface, and there is none among these"):
        harness.publish("mine.jsonl", to="site", for_test="x")


# Serving and submitting


def test_a_site_is_served_until_the_end_of_the_block(toy: Path, shop: Workshop) -> None:
    harness.publish(["toy", "mine.jsonl"], to="site")
    with harness.serve("site", port=0) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)
        assert repr(server) == f"<SiteServer of site at {server.url}/>"
        page = requests.get(f"{server.url}/tests/toy", timeout=WAIT)
        assert (page.status_code, server.url in page.text) == (200, True)
        top = requests.get(f"{server.url}/hate-site.json", timeout=WAIT)
        assert top.content == Path("site/hate-site.json").read_bytes()
    assert repr(server) == f"<SiteServer of site at {server.url}/, stopped>"
    with pytest.raises(requests.ConnectionError):
        requests.get(server.url, timeout=WAIT)
    server.stop()


def test_a_server_can_be_waited_for(toy: Path) -> None:
    harness.publish("toy", to="site")
    server = harness.serve(Path("site"), port=0)
    ends = threading.Timer(0.2, server.stop)
    ends.start()
    server.wait()
    ends.join()
    assert repr(server).endswith("stopped>")


def test_mistakes_of_servers_are_one_line(toy: Path, shop: Workshop) -> None:
    harness.publish("toy", to="site")
    with harness.serve("site", port=0) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(UsageError) as refused:
            harness.serve("site", port=port)
        assert one_line(refused).startswith(f"host='127.0.0.1' port={port}: Address already in use")
    with pytest.raises(harness.HateError) as no_site:
        harness.serve("toy", port=0)
    done = shop.call("serve", "toy", "--port", "0")
    assert PythonWords()(done.err) == f"hate: {one_line(no_site)}\n"
    with pytest.raises(UsageError, match=re.escape("port=70000: not in the range 0<=x<=65535")):
        harness.serve("site", port=70000)
    with pytest.raises(UsageError, match="private='site/truth': inside the site's folder"):
        harness.serve("site", port=0, private="site/truth")


@pytest.mark.slow
def test_without_the_libraries_of_servers_all_else_can_be_called(toy: Path, shop: Workshop) -> None:
    code = (
        "import sys\n"
        "for name in ('starlette', 'uvicorn', 'jinja2'): sys.modules[name] = None\n"
        "import harness\n"
        "harness.add_token('ann', tokens='tokens.db')\n"
        "print(harness.publish('toy', to='site').serial, harness.list_tokens(tokens='tokens.db').tokens[0].name)\n"
        "for call in (lambda: harness.serve('site'), lambda: harness.publish(to='site', pages=True)):\n"
        "    try: call()\n"
        "    except harness.HateError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=shop.env, capture_output=True, text=True, check=True)
    first, serving, pages = done.stdout.splitlines()
    assert first == "1 ann"
    assert re.fullmatch(r"serving needs \w+: pip install 'hate-harness\[serve\]'", serving)
    assert re.fullmatch(r"pages need \w+: pip install 'hate-harness\[serve\]'", pages)


def test_docstrings_name_functions_for_commands() -> None:
    assert "`harness.set_token_quota` sets it for one" in " ".join((harness.serve.__doc__ or "").split())
    assert "The file of tokens that `harness.serve` reads." in (harness.add_token.__doc__ or "")


def test_transcripts_are_handed_in(toy: Path, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.publish("toy", to="site")
    anna = harness.add_token("anna", tokens="tokens.db")
    with harness.serve("site", port=0, tokens="tokens.db") as server:
        Path("token").write_text(anna)
        words = ("submit", "mine.jsonl", "--to", server.url, "--token-file", "token")
        dry = partial(harness.submit, "mine.jsonl", to=server.url, token=anna, dry_run=True)
        is_the_same(dry, shop, *words, "--dry-run")
        assert published("site") == {}
        result = harness.submit(harness.read("mine.jsonl"), to=server.url, token=anna)
        [mine] = result.submitted
        assert (mine.name, mine.result, mine.page) == (
            "toy@1.0/mine",
            "published",
            f"{server.url}/transcripts/toy@1.0/mine",
        )
        assert requests.get(mine.page or "", timeout=WAIT).status_code == 200
        is_the_same(lambda: harness.submit("mine.jsonl", to=server.url, token_file="token"), shop, *words)
        monkeypatch.setenv("HATE_TOKEN", anna)
        assert harness.submit(other_run(shop), to=server.url, name="third").submitted[0].name == "toy@1.0/third"
        with pytest.raises(UsageError) as refused:
            harness.publish("other.jsonl", to=server.url)
        assert "not a folder; transcripts are handed in there with `harness.submit`" in one_line(refused)
    assert published("site") == {"mine": "anna", "third": "anna"}


def test_what_is_refused_is_an_error_that_has_the_rest(toy: Path, shop: Workshop) -> None:
    harness.publish("toy", to="site")
    anna = harness.add_token("anna", tokens="tokens.db", per_day=1)
    with harness.serve("site", port=0, tokens="tokens.db") as server:
        for settings, text in (
            ({"to": "site", "token": anna}, "to='site': not an address"),
            ({"to": server.url}, "no token in HATE_TOKEN"),
            ({"to": server.url, "token": ""}, "no token in the argument token"),
            (
                {"to": server.url, "token": 3},
                "the argument token: not text but int; a token is a word such as NAME:SECRET",
            ),
            ({"to": server.url, "token": anna, "token_file": "x"}, "token and token_file exclude one another"),
            ({"to": server.url, "token": "secret"}, "the argument token: not a token"),
            ({"to": server.url, "token_file": "none"}, "token_file='none': No such file or directory"),
            ({"to": server.url, "token": "anna:wrong"}, "refused, HTTP 401: A token is needed"),
        ):
            with pytest.raises(harness.HateError) as refused:
                harness.submit("mine.jsonl", **settings)
            assert text in one_line(refused)
            assert "secret" not in one_line(refused)
        with pytest.raises(UsageError, match="name is for one transcript; name one"):
            harness.submit(["mine.jsonl", "mine.jsonl"], to=server.url, name="x", token=anna)
        with pytest.raises(PartlyRefused, match="1 submissions a day are allowed for anna") as partly:
            harness.submit(["mine.jsonl", other_run(shop)], to=server.url, token=anna)
        assert [transcript.name for transcript in partly.value.result.submitted] == ["toy@1.0/mine"]
        assert one_line(partly)
    assert published("site") == {"mine": "anna"}


def test_tokens(shop: Workshop) -> None:
    assert harness.list_tokens(tokens="tokens.db").to_dict() == {"tokens": []}
    is_the_same(lambda: harness.list_tokens(tokens="tokens.db"), shop, "token", "list", "--tokens", "tokens.db")
    assert harness.list_tokens(tokens="no.db").remarks == ["no.db: no such file, so nobody has a token yet"]
    token = harness.add_token("ann", tokens="tokens.db")
    assert re.fullmatch(r"ann:[\w-]{43}", token)
    assert shop.call("token", "add", "ben", "--tokens", "tokens.db", "--per-day", "3").status == 0
    harness.set_token_quota("ann", 7, tokens="tokens.db")
    result = harness.list_tokens(tokens="tokens.db")
    assert [(token.name, token.per_day) for token in result.tokens] == [("ann", 7), ("ben", 3)]
    is_the_same(lambda: harness.list_tokens(tokens="tokens.db"), shop, "token", "list", "--tokens", "tokens.db")
    with pytest.raises(UsageError) as refused:
        harness.add_token("ann", tokens="tokens.db")
    done = shop.call("token", "add", "ann", "--tokens", "tokens.db")
    assert PythonWords()(done.err) == f"hate: {one_line(refused)}\n"
    for call, text in (
        (lambda: harness.set_token_quota("ann", -1, tokens="tokens.db"), "per_day=-1: not a whole number in the range"),
        (lambda: harness.set_token_quota("ann", "5", tokens="tokens.db"), "per_day='5': not a whole number"),  # type: ignore[arg-type]
        (lambda: harness.set_token_quota("cleo", 1, tokens="tokens.db"), "cleo has no token; known: ann, ben"),
        (lambda: harness.remove_token("cleo", tokens="tokens.db"), "cleo has no token; known: ann, ben"),
        (lambda: harness.add_token("cleo", tokens="tokens.db", per_day=0), "per_day=0: not in the range"),
        (lambda: harness.add_token("c l", tokens="tokens.db"), "'c l': not a valid name"),
    ):
        with pytest.raises(UsageError, match=re.escape(text)):
            call()
    harness.remove_token("ann", tokens="tokens.db")
    assert [token.name for token in harness.list_tokens(tokens="tokens.db").tokens] == ["ben"]
    with pytest.raises(TypeError, match="tokens"):
        harness.list_tokens()  # type: ignore[call-arg]
    with pytest.raises(OutputError):
        harness.add_token("ann", tokens="no/folder/tokens.db")


# Fetching, and the cache


@pytest.fixture
def far_away(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteServer]:
    """A site with a test that has data, a transcript and an interface; it is the only one that is known."""
    folder = tiny(shop.folder.parent / "owner" / "tiny")
    shop.write("straw/interface.py", READER.format(name="good", answer="text"))
    run = harness.run(f"{folder}/", "straw", output="good.jsonl")
    harness.publish([folder, run, "straw"], to="../site", for_test="tiny")
    Path("good.jsonl").unlink()
    harness.clear_cache()
    with harness.serve("../site", port=0) as server:
        monkeypatch.setenv("HATE_SITES", server.url)
        yield server


def test_everything_is_fetched(far_away: SiteServer, shop: Workshop) -> None:
    result = harness.fetch("tiny", transcripts=True, interfaces="got")
    assert [(part.test, part.part) for part in result.fetched] == [
        ("tiny@1.0.0", part) for part in ("script", "data images", "transcript good", "interface straw")
    ]
    assert all(part.path.exists() for part in result.fetched)
    assert (Path("got") / "straw" / "interface.py").read_bytes() == Path("straw/interface.py").read_bytes()
    is_the_same(lambda: harness.fetch("tiny", transcripts=True), shop, "fetch", "tiny", "--transcripts")
    is_the_same(lambda: harness.fetch(["tiny", "tiny/good"]), shop, "fetch", "tiny", "tiny/good")
    is_the_same(lambda: harness.fetch(harness.load_test("tiny")), shop, "fetch", "tiny")
    far_away.stop()
    again = harness.fetch("tiny@1.0.0", offline=True)
    assert again.to_dict()["fetched"] == result.to_dict()["fetched"][:2]


def test_mistakes_of_fetching_are_one_line(far_away: SiteServer, shop: Workshop) -> None:
    for given in ("tinny", "tiny/god", "tiny@2.0.0"):
        with pytest.raises(harness.HateError) as refused:
            harness.fetch(given)
        in_python = shop.call("fetch", given).err.replace("`hate list`", "`harness.list_tests`")
        assert in_python == f"hate: {one_line(refused)}\n"
    with pytest.raises(UsageError, match="no test; name at least one"):
        harness.fetch([])
    with pytest.raises(UsageError, match="hdigits: no interfaces are published with it at the sites"):
        harness.fetch("hdigits", interfaces="got")
    with pytest.raises(harness.HateError, match="offline=True or HATE_OFFLINE"):
        harness.fetch(f"{far_away.url}/files/x.hate.toml", offline=True)


def test_the_cache_is_listed_verified_and_cleared(far_away: SiteServer, shop: Workshop) -> None:
    harness.fetch("tiny", transcripts=True)
    for settings, words in (({}, []), ({"all": True}, ["--all"])):
        listing = partial(harness.list_cache, **settings)
        result = listing()
        assert result.folder == cache_folder()
        assert ("releases", "tiny 1.0.0", 1) in [row[:3] for row in result.rows]
        is_the_same(listing, shop, "cache", "list", *words)
    assert len(harness.list_cache(all=True).rows) > len(harness.list_cache().rows)
    sound = harness.verify_cache()
    assert sound.damaged == []
    is_the_same(harness.verify_cache, shop, "cache", "verify")
    for victim in cache_folder().rglob("*"):
        if victim.is_file() and victim.read_bytes() == b"x3":
            victim.write_bytes(b"y3")
    damaged = harness.verify_cache()
    assert {(entry.kind, entry.removed) for entry in damaged.damaged} == {("releases", True), ("files", True)}
    assert damaged.checked == sound.checked
    assert damaged.remarks == [f"{sound.checked} checked, 2 damaged"]
    assert harness.verify_cache().checked == sound.checked - 2


def test_the_cache_is_cleared(far_away: SiteServer, shop: Workshop) -> None:
    harness.fetch("tiny", transcripts=True)
    kept = harness.list_cache(all=True).rows
    assert str(harness.clear_cache(older_than=1)) == "0 entries removed, 0 bytes"
    releases = harness.clear_cache("releases")
    assert (releases.entries, releases.in_use) == (1, 0)
    assert releases.bytes == sum(row.bytes for row in kept if row.kind == "releases")
    rest = harness.clear_cache()
    assert rest.entries + 1 == len(kept)
    done = shop.call("cache", "clear")
    assert done.err == f"{harness.clear_cache()}\n" == "0 entries removed, 0 bytes\n"
    with pytest.raises(UsageError) as refused:
        harness.clear_cache(["files", "fles"])
    assert shop.call("cache", "clear", "files", "fles").err == f"hate: {one_line(refused)}\n"


def test_a_site_is_forgotten(far_away: SiteServer, shop: Workshop) -> None:
    harness.fetch("tiny")
    assert harness.forget_site(far_away.url) is True
    assert harness.forget_site(far_away.url) is False
    assert "nothing to forget" in shop.call("cache", "forget", far_away.url).err
