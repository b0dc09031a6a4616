"""Where the pages of a site are: as links from one to another, and as addresses for commands."""

from dataclasses import dataclass, replace
from urllib.parse import quote

from harness.site.catalogue import SiteTest
from harness.site.layout import Top, file_path

# What commands say where the address of the site is not known.
UNKNOWN_ADDRESS = "SITE"


def segment(text: str) -> str:
    """A name as part of an address."""
    return quote(text, safe="@")


@dataclass(frozen=True)
class Links:
    """How a page refers to others. A served page says `/tests/NAME`; a page in a file `../tests/NAME.html`."""

    # The way from a page to the top of the site, and what the names of pages end in.
    root: str = "/"
    suffix: str = ""
    front_page: str = ""
    # The address of the site, where it is known.
    address: str = UNKNOWN_ADDRESS
    # Whether transcripts can be handed in.
    submissions: bool = False

    @property
    def served(self) -> bool:
        """Whether a server answers questions, rather than a folder of files."""
        return not self.suffix

    @property
    def home(self) -> str:
        return f"{self.root}{self.front_page}"

    def of_site(self, top: Top) -> "Links":
        """The links of a site that may say itself where it is."""
        return replace(self, address=top.url.rstrip("/")) if top.url else self

    def test(self, name: str) -> str:
        """The page of a test, NAME or NAME@VERSION."""
        return f"{self.root}tests/{segment(name)}{self.suffix}"

    def transcript(self, test: SiteTest, name: str) -> str:
        return f"{self.root}transcripts/{segment(test.full_name)}/{segment(name)}{self.suffix}"

    def comparison(self, test: SiteTest) -> str:
        return f"{self.root}compare/{segment(test.full_name)}{self.suffix}"

    def data(self, test: SiteTest, file: str) -> str:
        """What is behind a page, for programs: `ranking.csv`."""
        return f"{self.root}data/{segment(test.full_name)}/{file}"

    def file(self, sha256: str) -> str:
        return f"{self.root}{file_path(sha256)}"

    def asset(self, name: str) -> str:
        """A file that belongs to the pages themselves."""
        return f"{self.root}-/{name}"

    def address_of(self, test: SiteTest) -> str:
        """What to type after `hate run`: the address is understood anywhere."""
        latest = test.version.version == test.index.latest.version
        return f"{self.address}/tests/{segment(test.name if latest else test.full_name)}"

    def address_of_run(self, test: SiteTest, name: str) -> str:
        """What to type for a transcript after `hate compare` and other commands."""
        return f"{self.address}/transcripts/{segment(test.full_name)}/{segment(name)}"
