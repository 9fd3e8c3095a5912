"""HTML to text: what a reader of the page would see, without menus and banners."""

from services.retriever.parsing.html.reader import parse
from services.retriever.parsing.html.write import Seen, write

__all__ = ["Seen", "parse", "write"]
