"""A cross-encoder exported to ONNX, from a folder: model.onnx (or onnx/model.onnx), tokenizer.json, config.json."""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from tokenizers import Encoding, Tokenizer

from services.crossencoder.models import PairScore, PairScorer, ScoreType
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, Internal, InvalidArgument

_DEFAULT_LENGTH = 512


class OnnxScorer:
    """Scores are raw logits. Where a pair is too long the text is cut, the question never below half
    of what the model reads: cutting the end of the pair would cut what the score hangs on.
    """

    provider = "onnx"
    local = True
    score_type = ScoreType.LOGIT
    concurrency = 1

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokenizer: Tokenizer,
        max_length: int,
        pad_id: int,
        model: str,
        revision: str,
        batch_pairs: int,
    ) -> None:
        self.model = model
        self.revision = revision
        self.batch_pairs = batch_pairs or 32
        self._session = session
        self._inputs = {
            item.name: np.int32 if "int32" in item.type else np.int64
            for item in session.get_inputs()
        }
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._pad_id = pad_id
        self._executor = ThreadPoolExecutor(1, "crossencoder")

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> PairScorer:
        """Reads the folder. FailedPrecondition where a file is missing or it is no cross-encoder."""
        folder = Path(settings.model)
        graph = next(
            (
                path
                for path in (folder / "model.onnx", folder / "onnx" / "model.onnx")
                if path.is_file()
            ),
            None,
        )
        if not settings.model or graph is None or not (folder / "tokenizer.json").is_file():
            raise FailedPrecondition(
                "FOLIO_CROSSENCODER_MODEL must name a folder with model.onnx and tokenizer.json"
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
        classes = session.get_outputs()[0].shape[-1]
        if len(session.get_outputs()[0].shape) != 2 or classes != 1:
            raise FailedPrecondition(
                f"the graph's output has shape {session.get_outputs()[0].shape}; a cross-encoder"
                " gives one number for each pair: (batch, 1)",
                reason="NOT_A_RERANKER",
            )
        config = _json(folder / "config.json")
        tokenizer_config = _json(folder / "tokenizer_config.json")
        length = min(
            int(config.get("max_position_embeddings") or _DEFAULT_LENGTH),
            int(min(tokenizer_config.get("model_max_length") or _DEFAULT_LENGTH, 1_000_000)),
        )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(
            session,
            tokenizer,
            length,
            int(config.get("pad_token_id") or 0),
            folder.name,
            settings.revision,
            settings.batch_pairs,
        )

    async def start(self) -> None:
        """A first inference, so that no caller waits for memory to be allocated."""
        await self.score("warm up", ["warm up"], truncate=True, seconds=60)

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, self._score, query, texts, truncate
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown)

    def _score(self, query: str, texts: Sequence[str], truncate: bool) -> list[PairScore]:
        clean = [text.encode("utf-8", "replace").decode() for text in (query, *texts)]
        question, cut = self._question(clean[0])
        if cut and not truncate:
            raise InvalidArgument.field("text", "is too long for the model")
        self._tokenizer.enable_truncation(self._max_length, strategy="only_second")
        pairs = self._tokenizer.encode_batch([(question, text) for text in clean[1:]])
        truncated = [bool(pair.overflowing) for pair in pairs]
        if not truncate and any(truncated):
            raise InvalidArgument.field(
                f"texts.texts[{truncated.index(True)}]",
                f"is longer than the {self._max_length} tokens that the model reads of a pair",
            )
        logits = self._infer(pairs)
        if logits.shape != (len(pairs), 1):
            raise Internal(f"the model gave {logits.shape} for {len(pairs)} pairs", reason="MODEL")
        return [
            PairScore(float(score), was_cut)
            for score, was_cut in zip(logits[:, 0], truncated, strict=True)
        ]

    def _question(self, query: str) -> tuple[str, bool]:
        """The question, at most half as long as a pair may be; whether it was cut."""
        self._tokenizer.no_truncation()
        encoding = self._tokenizer.encode(query, add_special_tokens=False)
        limit = self._max_length // 2
        if len(encoding.ids) <= limit:
            return query, False
        return query[: encoding.offsets[limit - 1][1]], True

    def _infer(self, pairs: Sequence[Encoding]) -> np.ndarray:
        longest = max(len(pair.ids) for pair in pairs)
        ids = np.full((len(pairs), longest), self._pad_id)
        mask = np.zeros((len(pairs), longest), int)
        segments = np.zeros((len(pairs), longest), int)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = pair.ids
            mask[row, : len(pair.ids)] = 1
            segments[row, : len(pair.ids)] = pair.type_ids
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        (logits,) = self._session.run(
            None, {name: given[name].astype(dtype) for name, dtype in self._inputs.items()}
        )[:1]
        return np.asarray(logits, np.float32)


def _json(path: Path) -> dict[str, int]:
    return json.loads(path.read_text()) if path.is_file() else {}
