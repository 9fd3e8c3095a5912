"""Texts to what the model reads: WordPiece ids, and the characters that each stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from services.minilm import weights

# Of the tokenizer; an id from elsewhere must be below it.
VOCABULARY = 30522


@dataclass(frozen=True)
class Tokens:
    """One text, [CLS] and [SEP] included. `offsets` are characters, end exclusive, and (0, 0) for those two.

    `truncated`: the text has more tokens than these.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    truncated: bool


class TokenReader:
    """The model's tokenizer. Its methods block, a second for some megabytes of text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer

    @classmethod
    def load(cls, directory: Path | None = None) -> "TokenReader":
        """From the folder of the model, the installed package's by default.

        Raises FailedPrecondition (not installed) and DataLoss (a byte was altered).
        """
        data = weights.checked(directory or weights.model_dir(), "tokenizer.json")
        return cls(Tokenizer.from_str(data.decode()))

    def read(self, texts: Sequence[str], limit: int) -> list[Tokens]:
        """The first `limit` tokens of each text, the last of which is always [SEP]."""
        # A lone surrogate is a TypeError to the tokenizer; "?" keeps the offsets of the others.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        found = []
        for encoding in self.tokenizer.encode_batch(clean):
            ids, tokens, offsets = encoding.ids, encoding.tokens, encoding.offsets
            truncated = len(ids) > limit
            if truncated:
                cut = limit - 1
                ids = [*ids[:cut], ids[-1]]
                tokens = [*tokens[:cut], tokens[-1]]
                offsets = [*offsets[:cut], offsets[-1]]
            found.append(Tokens(ids, tokens, offsets, truncated))
        return found
