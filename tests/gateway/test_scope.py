"""Scopes are found where a question names one, and nowhere else."""

import pytest

from folio.common.v1.document_pb2 import Filter
from services.gateway.scope import (
    KnownDocument,
    Vocabulary,
    combine,
    find,
)

KNOWN = Vocabulary(
    collections=("hr", "Plant 2"),
    kinds=("policy", "manual", "report"),
    documents=(
        KnownDocument(1, "Staff Handbook 2025", "2025-01-01"),
        KnownDocument(2, "Staff Handbook 2024", "2024-01-01"),
        KnownDocument(3, "Safety Manual"),
        KnownDocument(4, "Pump Catalogue", "2023-05-01"),
        KnownDocument(5, "Minutes of the Works Council"),
        KnownDocument(6, "Acme Travel Rules, 3rd edition"),
        KnownDocument(7, "Parental Leave"),
        KnownDocument(8, "New York"),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much leave is there in the 2025 handbook?", Filter(document_ids=(1,))),
        ("How much leave is in the Staff Handbook 2024?", Filter(document_ids=(2,))),
        ("What does leave mean in the staff handbook?", Filter(document_ids=(1, 2))),
        ("According to the Safety Manual, what is PPE?", Filter(document_ids=(3,))),
        ("according to the SAFETY  manual what is PPE", Filter(document_ids=(3,))),
        ("What is the price in the 2023 catalogue?", Filter(document_ids=(4,))),
        ("Who pays under the travel rules?", Filter(document_ids=(6,))),
        ("Only policies: who may travel?", Filter(kinds=("policy",))),
        ("Who may travel, only in the policies?", Filter(kinds=("policy",))),
        ("Search manuals only: how do I reset it?", Filter(kinds=("manual",))),
        ("Who may travel, in the hr collection?", Filter(collections=("hr",))),
        ("In collection Plant 2, who may enter?", Filter(collections=("Plant 2",))),
        (
            "What changed in documents from 2024?",
            Filter(published_from="2024-01-01", published_until="2024-12-31"),
        ),
        (
            "Which files issued in 2024 mention it?",
            Filter(published_from="2024-01-01", published_until="2024-12-31"),
        ),
        ("According to Parental Leave, who may stay?", Filter(document_ids=(7,))),
        ("How much leave is there in Staff Handbook 2025?", Filter(document_ids=(1,))),
        ("Search only manuals: how do I reset it?", Filter(kinds=("manual",))),
        ("Which documents since 2024 mention it?", Filter(published_from="2024-01-01")),
        ("Which files before 2020 mention it?", Filter(published_until="2019-12-31")),
    ],
)
def test_a_named_scope_is_found(question: str, expected: Filter) -> None:
    scope = find(question, KNOWN)
    assert scope is not None
    assert scope.filter == expected
    assert scope.descriptions


@pytest.mark.parametrize(
    "question",
    [
        "How many weeks of leave do staff get?",
        "What is our safety policy?",
        "Is there a manual for the pump?",
        "What was revenue in 2024?",
        "How much did 3M spend in 2018?",
        "Which policy covers travel in the hr department?",
        "What is in the 2022 handbook?",
        "What does the handbook say about leave?",
        "Is only the policy holder insured?",
        "What is the role of the works council?",
        "What are the rules?",
        "Which permits were issued in 2024?",
        "How many shares were issued before 2022?",
        "Which software was written in 2019?",
        "How much is paid in parental leave?",
        "What are the rights under parental leave law?",
        "Who pays while I am on leave in New York?",
        "Are only policies signed by the board valid?",
        "Which reports only managers may read?",
        "in the",
        "",
        "(((.*[",
    ],
)
def test_nothing_else_is_one(question: str) -> None:
    assert find(question, KNOWN) is None


def test_a_title_is_data_not_a_pattern() -> None:
    known = Vocabulary((), (), (KnownDocument(1, "(.*)+ [a-z] ("), KnownDocument(2, "")))
    assert find("What is in the 2025 report on staff?", known) is None


def test_a_name_of_many_documents_tells_nothing() -> None:
    many = tuple(KnownDocument(number, "Annual Report") for number in range(1, 50))
    assert find("What is in the annual report?", Vocabulary((), (), many)) is None


def test_the_caller_goes_first() -> None:
    scope = Filter(document_ids=(1,), kinds=("policy",))
    both, yields = combine(scope, Filter(document_ids=(9,)))
    assert both == Filter(document_ids=(9,), kinds=("policy",))
    assert yields
    both, yields = combine(scope, Filter(collections=("hr",)))
    assert both == Filter(document_ids=(1,), kinds=("policy",), collections=("hr",))
    assert not yields
