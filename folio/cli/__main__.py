"""`python -m folio.cli` is `folio`."""

from folio.cli import main

main()
