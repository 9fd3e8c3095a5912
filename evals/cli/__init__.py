"""`folio eval`: the commands, the options they share, and how a run looks in a terminal."""

from evals.cli.commands import app as app
