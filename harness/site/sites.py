"""The configured sites, opened one after the other; one that cannot be used is a remark, not an error."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HateError, Unreachable
from harness.site.catalogue import Catalogue
from harness.site.config import SiteConfig, configured_sites
from harness.site.folder import Folder
from harness.site.layout import ref_of
from harness.site.trust import check_top


@dataclass
class Sites:
    """What there is, and what users should know about it."""

    configs: Sequence[SiteConfig]
    notes: list[str] = field(default_factory=list)
    # Of sites that were reached and are not to be believed, or hold nonsense: for these, nobody looks elsewhere.
    refusals: list[HateError] = field(default_factory=list)
    _opened: list[tuple[SiteConfig, Catalogue]] | None = None

    def __iter__(self) -> Iterator[tuple[SiteConfig, Catalogue]]:
        if self._opened is None:
            self._opened = list(self._open())
        return iter(self._opened)

    def _open(self) -> Iterator[tuple[SiteConfig, Catalogue]]:
        for config in self.configs:
            try:
                yield config, self._open_one(config)
            except HateError as error:
                self.refuse(error)

    def refuse(self, error: HateError) -> None:
        """A site cannot be reached, or turned out to be damaged or hostile."""
        self.notes.append(f"site passed over: {error}")
        if not isinstance(error, Unreachable):
            self.refusals.append(error)

    def raise_refusal(self) -> None:
        """End with the first refusal, if there was one: what is not to be found may have been there."""
        if self.refusals:
            first = self.refusals[0]
            self.notes[:] = [note for note in self.notes if str(first) not in note]
            raise first

    def _open_one(self, config: SiteConfig) -> Catalogue:
        catalogue, note = open_site(config)
        if note:
            self.notes.append(note)
        return catalogue


def sites() -> Sites:
    """The configured ones."""
    return Sites(configured_sites())


def open_site(config: SiteConfig) -> tuple[Catalogue, str]:
    """A site, wherever it is, and what a user should know about it."""
    if config.is_folder:
        return _open_folder(config), ""
    # Here, because most commands never need it and it takes long to import.
    from harness.site.web import open_web

    opened = open_web(config)
    return opened.catalogue, opened.note


def _open_folder(config: SiteConfig) -> Catalogue:
    folder = Folder(Path(config.address))
    data, top = folder.read_top()
    check_top(config, data, top, lambda: folder.signature(ref_of(data).sha256))
    return Catalogue(folder, top)
