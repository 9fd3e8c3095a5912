"""How answers, results and services look in a terminal."""

import math
import sys
from collections.abc import Iterable
from typing import Literal

from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from folio.cli import proofs
from folio.cli.proofs import plain as plain
from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.words import word

# Wider than any line of ours.
UNFOLDED = 10_000
# Characters of a chunk in a list.
EXCERPT = 160


class Output(Console):
    """Folds lines to the width of a terminal. For a pipe or a file it neither folds, nor draws what moves."""

    def __init__(self, stderr: bool = False) -> None:
        seen = (sys.stderr if stderr else sys.stdout).isatty()
        # Without emoji: ":100:" in a document is no picture of a hundred.
        super().__init__(
            stderr=stderr,
            highlight=False,
            emoji=False,
            force_interactive=None if seen else False,
        )

    @property
    def on_terminal(self) -> bool:
        """Whether a person sees it, whatever FORCE_COLOR says."""
        return self.file.isatty()

    @property
    def size(self) -> ConsoleDimensions:
        return super().size if self.on_terminal else ConsoleDimensions(UNFOLDED, 25)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size


console = Output()
errors = Output(stderr=True)
# How typer shows help and errors: in boxes, or plainly.
MARKUP: Literal["rich"] | None = "rich" if console.on_terminal and errors.on_terminal else None

_STATUS = {
    step_pb2.STEP_STATUS_RAN: ("ran", "green"),
    step_pb2.STEP_STATUS_SKIPPED: ("skipped", "dim"),
    step_pb2.STEP_STATUS_DEGRADED: ("degraded", "yellow"),
}


def count(number: int, noun: str) -> str:
    """ "1 page", "2 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def answer(response: gateway_pb2.AskResponse) -> None:
    """The outcome, each sentence with its proofs, and how it was made."""
    outcome = response.WhichOneof("outcome")
    if outcome == "answered":
        _answered(response)
    elif outcome == "clarify":
        _panel("Which one?", response.clarify.question, "cyan")
    elif outcome == "abstained":
        _panel(
            "Not in the documents",
            f"{response.abstained.message} ({word(gateway_pb2.AbstainReason, response.abstained.reason)})",
            "yellow",
        )
    elif outcome == "unverified":
        reasons = "\n".join(f"- {reason}" for reason in response.unverified.reasons)
        _panel("No answer that could be verified", reasons, "yellow")
        _sources(response)
    elif outcome == "unavailable":
        retry = response.unavailable.retry_after_s
        hint = f"\nTry again in {math.ceil(retry)} s." if retry else ""
        _panel("No answer could be made", response.unavailable.message + hint, "red")
        _sources(response)
    elif outcome == "refused":
        _panel("Refused", response.refused.message, "red")
    elif outcome == "web":
        _web(response)
    for description in response.scope.descriptions:
        console.print(
            f"[dim]searched only[/] {escape(plain(description))} [dim](--no-scope to search all)[/]"
        )
    console.print(steps(response.steps, response.elapsed_ms))


def _answered(response: gateway_pb2.AskResponse) -> None:
    lines: list[RenderableType] = []
    number = 0
    told = Table.grid(padding=(0, 2))
    told.add_column(style="bold cyan", justify="right")
    told.add_column()
    for sentence in response.answered.sentences:
        line = Text(plain(sentence.text))
        if unit := proofs.units(sentence):
            line.append(f" ({unit})", style="dim")
        for citations in proofs.grouped(sentence):
            number += 1
            line.append(f" [{number}]", style="bold cyan")
            told.add_row(f"[{number}]".replace("[", r"\["), proofs.proof(citations))
        lines.append(line)
        for row in proofs.rows(sentence.table_values):
            lines.append(Padding(row, (0, 0, 0, 2), expand=False))
    _panel("Answer", Group(*lines, Text(), told), "green")


def _web(response: gateway_pb2.AskResponse) -> None:
    body = "\n\n".join(
        f"{plain(result.title)}\n{plain(result.url)}\n{plain(result.snippet)}"
        for result in response.web.results
    )
    _panel(f"From the web ({response.web.provider}), not from your documents", body, "magenta")


def _sources(response: gateway_pb2.AskResponse) -> None:
    for source in response.sources:
        chunk = source.chunk
        where = ", ".join(filter(None, [plain(chunk.title), proofs.of_chunk(chunk)]))
        file = f"   {escape(plain(chunk.file_name))}" if chunk.file_name else ""
        console.print(f"  {escape(where)} [dim]({source.probability:.2f}){file}[/]")


def _panel(title: str, body: RenderableType, colour: str) -> None:
    content = Text(plain(body)) if isinstance(body, str) else body
    if console.on_terminal:
        content = Panel(content, title=title, title_align="left", border_style=colour)
    else:
        console.print(f"{title}:", style=colour)
    console.print(content)


def rule(title: str = "") -> None:
    """A line across the terminal, with a title in markup."""
    console.print(Rule(title, align="left") if console.on_terminal else title)


def steps(reports: Iterable[step_pb2.StepReport], total_ms: float) -> Text:
    """One line: every step with its time, or why it did not run."""
    line = Text("steps  ", style="dim")
    for report in reports:
        what, colour = _STATUS.get(report.status, ("?", "red"))
        line.append(word(step_pb2.Step, report.step), style=colour)
        if report.status == step_pb2.STEP_STATUS_RAN:
            line.append(f" {report.elapsed_ms:.0f} ms", style="dim")
        else:
            # What a step that failed took is missed in the total otherwise.
            failed = report.status == step_pb2.STEP_STATUS_DEGRADED
            took = f" after {report.elapsed_ms:.0f} ms" if failed else ""
            why = f" ({report.reason})" if report.reason else ""
            line.append(f" {what}{took}{why}", style="dim")
        line.append("  ")
    line.append(f"total {total_ms:.0f} ms", style="dim")
    return line


def results(response: gateway_pb2.SearchResponse) -> None:
    """Ranked chunks, one row each."""
    table = Table(show_lines=False, box=None, pad_edge=False)
    for column in ("", "score", "document", "place", "text"):
        table.add_column(column, no_wrap=column == "score")
    for rank, result in enumerate(response.results, 1):
        chunk = result.chunk
        excerpt = " ".join(plain(chunk.body).split())
        if len(excerpt) > EXCERPT:
            excerpt = excerpt[: EXCERPT - 1] + "…"
        table.add_row(
            str(rank),
            f"{result.score:.3f}",
            proofs.of_document(chunk.title, chunk.file_name),
            Text(proofs.of_chunk(chunk)),
            Text(excerpt),
        )
    console.print(table if response.results else "nothing found")
    console.print(steps(response.steps, response.elapsed_ms))


def documents(found: Iterable[document_pb2.Document]) -> None:
    """One row a document, and a line for what is wrong with one."""
    table = Table(box=None, pad_edge=False)
    for column in ("id", "file", "title", "collection", "pages", "status"):
        table.add_column(column, overflow="fold")
    for document in found:
        status = document_pb2.DocumentStatus.Name(document.status).removeprefix("DOCUMENT_STATUS_")
        table.add_row(
            str(document.id),
            Text(plain(document.file_name)),
            Text(plain(document.title)),
            Text(plain(document.collection)),
            str(document.page_count),
            Text(" ".join(filter(None, [status.lower().replace("_", " "), plain(document.error)]))),
        )
    console.print(table if table.row_count else "no documents")


def status(response: gateway_pb2.GetStatusResponse) -> None:
    """One row a service."""
    table = Table(box=None, pad_edge=False)
    for column in ("service", "address", "state", "models", "details"):
        table.add_column(column, overflow="fold", no_wrap=column in ("service", "address"))
    for service in response.services:
        about = service.capabilities
        details = ", ".join(f"{key} {value}" for key, value in sorted(about.details.items()))
        state = (
            f"[green]up[/] [dim]{service.round_trip_ms:.1f} ms[/]"
            if service.reachable
            else f"[red]{escape(service.reason)}[/]"
        )
        table.add_row(service.service, service.address, state, _models(about), details)
    console.print(table)


def _models(about: service_pb2.Capabilities) -> str:
    """The models and, where it is another's work, the provider that text goes to."""
    told = (
        (provider.model or provider.provider)
        + ("" if provider.local else f" (remote: {provider.provider})")
        for provider in about.providers
    )
    return ", ".join(dict.fromkeys(told))


def as_json(message: Message) -> None:
    """A reply as JSON (field names as in the proto), for programs."""
    text = json_format.MessageToJson(message, preserving_proto_field_name=True)
    if console.on_terminal:
        console.print_json(text)
    else:
        console.file.write(text + "\n")
