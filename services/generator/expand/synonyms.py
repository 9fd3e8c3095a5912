"""Synonyms of an organization, from <FOLIO_SYNONYMS_DIR>/<organization_id>.yaml, read again when it changes.

The file is a list of groups; every word or phrase of a group stands for every other one:

    - [parental leave, maternity leave, paternity leave]
    - [PTO, paid time off, annual leave]
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from folio import words
from folio.common.v1 import query_pb2
from services.generator.expand import MAX_VARIANTS, Expansion, Variant
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition

log = logging.getLogger("folio.generator")

MAX_FILE_BYTES = 2**20
MAX_GROUPS = 5000
MAX_TERMS = 20
MAX_TERM_CHARS = 100


class SynonymFileError(FailedPrecondition):
    """A file that cannot be used; the message names file, line and what was expected."""


@dataclass(frozen=True)
class Synonyms:
    """Groups of terms that mean the same."""

    groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Synonyms":
        """Raises SynonymFileError with the line of what is wrong."""
        text = path.read_bytes()
        if len(text) > MAX_FILE_BYTES:
            raise SynonymFileError(f"{path.name}: larger than {MAX_FILE_BYTES} bytes")
        try:
            root = yaml.compose(text.decode("utf-8"), Loader=yaml.SafeLoader)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark is not None else 1
            raise SynonymFileError(f"{path.name}:{line}: not YAML in UTF-8") from None
        if root is None:
            return cls()
        if not isinstance(root, yaml.SequenceNode):
            raise _wrong(path, root, "expected a list of groups, each a list of terms")
        if len(root.value) > MAX_GROUPS:
            raise _wrong(path, root, f"more than {MAX_GROUPS} groups")
        return cls(tuple(_group(path, node) for node in root.value))

    def variants(self, question: str, limit: int) -> list[str]:
        """The question with one of its terms replaced by another of its group, at most `limit`, none equal to it."""
        found: dict[str, None] = {}
        folded = question.casefold()
        for group in self.groups:
            for term in sorted(group, key=len, reverse=True):
                # A file may hold a hundred thousand terms: patterns are made for those few that can match.
                if term.casefold() not in folded:
                    continue
                pattern = re.compile(rf"(?<!\w){re.escape(term)}(?!\w)", re.IGNORECASE)
                if not pattern.search(question):
                    continue
                for other in group:
                    if other.lower() != term.lower():
                        variant = other.join(pattern.split(question))
                        if variant.lower() != question.lower():
                            found.setdefault(variant)
                break
        return list(found)[:limit]


def _group(path: Path, node: yaml.Node) -> tuple[str, ...]:
    if not isinstance(node, yaml.SequenceNode):
        raise _wrong(path, node, "expected a group: a list of terms in [ ]")
    if not 2 <= len(node.value) <= MAX_TERMS:
        raise _wrong(path, node, f"a group has 2 to {MAX_TERMS} terms")
    terms: list[str] = []
    for item in node.value:
        if not isinstance(item, yaml.ScalarNode):
            raise _wrong(path, item, "expected a word or a phrase")
        term = " ".join(str(item.value).split())
        if not term or len(term) > MAX_TERM_CHARS:
            raise _wrong(path, item, f"a term has 1 to {MAX_TERM_CHARS} characters")
        if term.lower() in (one.lower() for one in terms):
            raise _wrong(path, item, "the term stands twice in its group")
        terms.append(term)
    return tuple(terms)


def _wrong(path: Path, node: yaml.Node, what: str) -> SynonymFileError:
    return SynonymFileError(f"{path.name}:{node.start_mark.line + 1}: {what}")


class SynonymFolder:
    """The files of all organizations. A file that turns bad is reported; the last good one stays in use."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._loaded: dict[int, tuple[int, Synonyms, str]] = {}

    def of(self, organization_id: int) -> tuple[Synonyms, str]:
        """The synonyms of an organization, and what is wrong with its file if anything; blocks."""
        if self._folder is None:
            return Synonyms(), ""
        path = self._folder / f"{organization_id}.yaml"
        try:
            changed = path.stat().st_mtime_ns
        except FileNotFoundError:
            self._loaded.pop(organization_id, None)
            return Synonyms(), ""
        before = self._loaded.get(organization_id)
        if before is None or before[0] != changed:
            try:
                entry = (changed, Synonyms.read(path), "")
            except (SynonymFileError, OSError) as error:
                problem = (
                    error.message
                    if isinstance(error, SynonymFileError)
                    else f"{path.name}: unreadable"
                )
                log.error("synonyms not loaded", extra={"problem": problem})
                entry = (changed, before[1] if before else Synonyms(), problem)
            self._loaded[organization_id] = entry
        return self._loaded[organization_id][1:]


class SynonymExpander:
    """See Expander: synonyms only; the kinds that need a model are left out, and it says so."""

    provider = "synonyms"
    model = ""
    local = True
    kinds: "tuple[query_pb2.QueryKind.ValueType, ...]" = (query_pb2.QUERY_KIND_SYNONYMS,)

    def __init__(self, folder: SynonymFolder) -> None:
        self._folder = folder

    async def expand(
        self,
        question: str,
        kinds: "Sequence[query_pb2.QueryKind.ValueType]",
        limit: int,
        organization_id: int,
        deadline: Deadline,
    ) -> Expansion:
        reasons = [
            f"{words.word(query_pb2.QueryKind, kind)} needs a language model, and none is configured"
            for kind in kinds
            if kind != query_pb2.QUERY_KIND_SYNONYMS
        ]
        variants: tuple[Variant, ...] = ()
        if query_pb2.QUERY_KIND_SYNONYMS in kinds:
            texts, problem = await asyncio.to_thread(
                self._texts, organization_id, question, min(limit, MAX_VARIANTS)
            )
            if problem:
                reasons.append(f"synonyms: {problem}")
            variants = tuple(Variant(text, query_pb2.QUERY_KIND_SYNONYMS) for text in texts)
        return Expansion(variants, degraded_reason="; ".join(reasons))

    def _texts(self, organization_id: int, question: str, limit: int) -> tuple[list[str], str]:
        """Blocks."""
        synonyms, problem = self._folder.of(organization_id)
        return synonyms.variants(question, limit), problem
