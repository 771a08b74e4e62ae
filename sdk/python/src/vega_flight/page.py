"""Lists of names that come page by page."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import InvalidInputError


class Page(list[str]):
    """Names in order, with the token of the page that follows, if one does."""

    def __init__(self, names: Iterable[str], token: str | None) -> None:
        super().__init__(names)
        self._token = token

    def page_token(self) -> str | None:
        """What the next call gets as `page_token`; None when this is the last page."""
        return self._token

    def num_page_results(self) -> int:
        """How many names this page has."""
        return len(self)


def paged(names: list[str], page_token: str | None, page_limit: int | None) -> Page:
    """The page after the one that ended with the token."""
    if page_limit is not None and page_limit < 1:
        raise InvalidInputError(f"page_limit is 1 or more, not {page_limit}")
    rest = [n for n in sorted(names) if page_token is None or n > page_token]
    if page_limit is None or len(rest) <= page_limit:
        return Page(rest, None)
    page = rest[:page_limit]
    return Page(page, page[-1])
