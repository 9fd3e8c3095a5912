"""`folio demo`: the sample documents of two organizations, five questions, and what Folio says to each."""

from pathlib import Path

import typer
import yaml
from rich.markup import escape

from folio.cli import show
from folio.cli.ingest import File, send
from folio.client import Folio
from folio.failure import CallFailed
from folio.gateway.v1 import gateway_pb2
from services.rpc.errors import FolioError
from services.suite import Suite

CORPUS = Path(__file__).resolve().parent.parent.parent / "evals" / "corpus"


def run_demo(folder: Path) -> None:
    """Exit status 1 if an outcome is not the one that the questions' file expects."""
    if not (CORPUS / "manifest.yaml").exists():
        raise typer.BadParameter(
            "the sample documents are in a checkout, not in an installed package"
        )
    manifest = yaml.safe_load((CORPUS / "manifest.yaml").read_text())
    questions = yaml.safe_load((CORPUS / "demo.yaml").read_text())["questions"]
    asking = dict.fromkeys(
        question[who]
        for question in questions
        for who in ("organization", "answered_by")
        if who in question
    )
    names = {key: manifest["organizations"][key]["name"] for key in asking}
    # The demo reads the documents that its questions are about; `make eval` reads them all.
    wanted = {question["document"] for question in questions if "document" in question}
    wanted |= {"staff-handbook-2024.pdf", "questions-and-answers.html"}
    suite = Suite(
        folder, list(names), port=0, say=lambda text: show.console.print(f"[dim]{text}[/]")
    )
    try:
        with suite:
            clients = {
                name: Folio(suite.client.address, key) for name, key in suite.client.keys.items()
            }
            for name, client in clients.items():
                show.rule(f"[bold]{escape(names[name])}[/]: documents")
                files = [
                    File(
                        CORPUS / document["path"],
                        document["collection"],
                        document["kind"],
                        document["title"],
                        str(document["published_on"]),
                    )
                    for document in manifest["documents"]
                    if document["organization"] == name and Path(document["path"]).name in wanted
                ]
                send(client, files)
            met = sum([_ask(clients, names, question) for question in questions])
            show.rule()
            show.console.print(f"{met} of {len(questions)} questions ended as they should.")
            for client in clients.values():
                client.close()
    except FolioError as error:
        show.errors.print(f"[red]{escape(error.message)}[/]")
        raise typer.Exit(1) from None
    except CallFailed as failed:
        show.errors.print(f"[red]{escape(str(failed))}[/]")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if met < len(questions):
        raise typer.Exit(1)


def _ask(clients: dict[str, Folio], names: dict[str, str], question: dict[str, object]) -> bool:
    """Asks one question, shows the reply, and says whether it is what the questions' file expects."""
    organization = str(question["organization"])
    show.console.print()
    show.rule(f"[dim]{escape(str(question['shows']))}[/]")
    show.console.print(
        f"[bold]{escape(names[organization])}[/] asks: [bold]{escape(str(question['question']))}[/]"
    )
    response = clients[organization].ask(str(question["question"]))
    show.answer(response)
    good = _as_expected(response, question)
    if other := question.get("answered_by"):
        show.console.print(f"[bold]{escape(names[str(other)])}[/] asks the same:")
        response = clients[str(other)].ask(str(question["question"]))
        show.answer(response)
        good = good and _as_expected(response, {**question, "expect": "answer"})
    if not good:
        expected = (
            "no answer"
            if question["expect"] == "abstain"
            else f"an answer from {question['document']}, p. {question['label']}"
        )
        show.console.print(f"[red]not as it should be: expected {escape(expected)}[/]")
    return good


def _as_expected(response: gateway_pb2.AskResponse, question: dict[str, object]) -> bool:
    """An answer must hold the words and cite the page that the file names; an abstention must abstain."""
    outcome = response.WhichOneof("outcome")
    if question["expect"] == "abstain":
        return outcome == "abstained"
    sentences = response.answered.sentences
    said = " ".join(" ".join(sentence.text.split()) for sentence in sentences)
    include = question["include"]
    assert isinstance(include, list)
    cited = {
        (citation.file_name, citation.page, citation.page_label)
        for sentence in sentences
        for citation in sentence.citations
    }
    expected = (question["document"], question["page"], question["label"])
    return (
        outcome == "answered" and all(str(part) in said for part in include) and expected in cited
    )
