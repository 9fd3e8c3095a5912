"""Files to text, and text back to places on pages.

pool.py is the way in: it runs worker.py in processes that may crash. One file reads one format (parser.py says
how); text.py cleans for all of them.
"""

from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.pool import ParserPool, ParserStats

__all__ = ["ParseLimits", "ParserPool", "ParserStats"]
