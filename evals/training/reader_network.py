"""The reader's network in PyTorch, for training: what services/generator/extractive/reader.py computes, in batches.

The parameters have the names and shapes that the reader stores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from services.generator.extractive.reader import (
    HEADS,
    LAYERS,
    NEIGHBOURS,
    SCALE,
    Marked,
    pair_marks,
    shapes,
)

Tensor = Any


def initial(d: int, seed: int) -> dict[str, Tensor]:
    """Random weights; gains one, biases zero, and what ends a branch small."""
    torch.manual_seed(seed)
    found = {}
    for name, shape in sorted(shapes(d).items()):
        last = name.rpartition(".")[2]
        if last == "gain":
            one = torch.ones(shape)
        elif last in ("bias", "hidden"):
            one = torch.zeros(shape)
        elif last == "near":
            one = torch.randn(shape) * 0.1
            one[NEIGHBOURS // 2] += 1
        else:
            one = torch.randn(shape) * shape[0] ** -0.5
            if last in ("given", "out", "tokens"):
                one *= 0.5
        found[name] = one.requires_grad_()
    return found


@dataclass(frozen=True)
class Batch:
    """B pairs, padded. Masks are true of tokens."""

    question: Tensor
    question_marks: Tensor
    question_mask: Tensor
    window: Tensor
    window_marks: Tensor
    window_mask: Tensor


def batch_of(pairs: Sequence[tuple[Marked, Marked]]) -> Batch:
    """Of (question, window)."""
    met = [pair_marks(_wide(question), _wide(window)) for question, window in pairs]
    columns: list[Tensor] = []
    for side in (0, 1):
        longest = max(len(pair[side].vectors) for pair in pairs)
        vectors = np.zeros((len(pairs), longest, 384), np.float32)
        marks = np.zeros((len(pairs), longest, met[0][side].shape[1]), np.float32)
        mask = np.zeros((len(pairs), longest), np.bool_)
        for row, pair in enumerate(pairs):
            length = len(pair[side].vectors)
            vectors[row, :length] = pair[side].vectors
            marks[row, :length] = met[row][side]
            mask[row, :length] = True
        columns += [torch.from_numpy(one) for one in (vectors, marks, mask)]
    return Batch(*columns)


def _wide(text: Marked) -> Marked:
    return Marked(text.vectors.astype(np.float32), text.stems, text.marks)


def forward(weights: dict[str, Tensor], batch: Batch) -> tuple[Tensor, Tensor]:
    """((B, n, OUTPUTS), (B, OUTPUTS)): as Scores; hugely negative at padding."""
    functional = torch.nn.functional

    def norm(name: str, x: Tensor) -> Tensor:
        gain, bias = weights[f"{name}.gain"], weights[f"{name}.bias"]
        return functional.layer_norm(x, gain.shape, gain, bias, 1e-5)

    def attend(name: str, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        x, y = norm(f"{name}.x", x), norm(f"{name}.y", y)
        query, key, value = (
            (rows @ weights[f"{name}.{part}"]).reshape(*rows.shape[:2], HEADS, -1).transpose(1, 2)
            for rows, part in ((x, "query"), (y, "key"), (y, "value"))
        )
        taken = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask[:, None, None]
        )
        return taken.transpose(1, 2).reshape(x.shape) @ weights[f"{name}.given"]

    def near(name: str, x: Tensor, mask: Tensor) -> Tensor:
        kernel = weights[name].T[:, None]
        x = (x * mask[..., None]).transpose(1, 2)
        return functional.conv1d(x, kernel, padding=NEIGHBOURS // 2, groups=x.shape[1]).transpose(
            1, 2
        )

    def feed(name: str, x: Tensor) -> Tensor:
        hidden = functional.relu(norm(name, x) @ weights[f"{name}.in"] + weights[f"{name}.hidden"])
        return hidden @ weights[f"{name}.out"]

    q_mask, c_mask = batch.question_mask, batch.window_mask
    q = (batch.question * SCALE) @ weights["project"]
    c = (batch.window * SCALE) @ weights["project"]
    q = norm("norm", q + batch.question_marks @ weights["question.marks"])
    c = norm("norm", c + batch.window_marks @ weights["window.marks"])
    for layer in map(str, range(LAYERS)):
        from_question = attend(f"{layer}.met", c, q, q_mask)
        q = q + attend(f"{layer}.asked", q, c, c_mask)
        q = q + feed(f"{layer}.question", q)
        c = c + from_question
        if layer == str(LAYERS - 1):
            c = c + attend("self", c, c, c_mask)
        c = c + feed(f"{layer}.window", near(f"{layer}.near", c, c_mask))
    c, q = norm("out", c), norm("out", q)
    least = torch.finfo(c.dtype).min / 4
    pool = (q @ weights["pool"])[..., 0].masked_fill(~q_mask, least).softmax(dim=1)
    most = c.masked_fill(~c_mask[..., None], least).amax(dim=1)
    pooled = torch.cat([(pool[..., None] * q).sum(dim=1), most], dim=1)
    hidden = functional.relu(pooled @ weights["none.in"] + weights["none.bias"])
    tokens = (c @ weights["tokens"]).masked_fill(~c_mask[..., None], least)
    return tokens, hidden @ weights["none.out"]
