"""Sample documents written for Folio, and the generator that sets them (Apache-2.0)."""
