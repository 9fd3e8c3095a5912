"""A sentence may not say more than its evidence."""

from decimal import Decimal

import pytest

from services.gateway.grounding.numbers import figures
from services.gateway.grounding.quotes import SourceText
from services.gateway.grounding.support import flips_negation, missing_figures


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("1 000", "1000"),
        ("sixteen", "16"),
        ("twenty-one", "21"),
        ("one hundred and five", "105"),
        ("two thousand", "2,000"),
        ("1.5 million", "1,500,000"),
        ("$1.5bn", "1500 million"),
        ("5%", "5 percent"),
        ("5%", "five percent"),
        ("3.50", "3.5"),
        ("0,5", "0.5"),
        ("½", "0.5"),
        ("16th", "16"),
        ("16-week", "16 weeks"),
        ("5kg", "5 kg"),
        ("£1,250", "1250"),
        ("\u22125", "5"),
    ],
)
def test_numbers_are_compared_by_value(one: str, other: str) -> None:
    first, second = figures(f"It is {one} now.").numbers, figures(f"It is {other} now.").numbers
    assert first
    assert first == second


@pytest.mark.parametrize(
    "form",
    ["1 January 2025", "January 1, 2025", "Jan. 1 2025", "1st of January 2025", "2025-01-01"],
)
def test_dates_are_compared_by_day(form: str) -> None:
    assert figures(f"From {form} on.").dates == {frozenset({(2025, 1, 1)})}


def test_a_date_with_slashes_has_two_readings() -> None:
    assert figures("On 03/04/2025.").dates == {frozenset({(2025, 4, 3), (2025, 3, 4)})}
    assert missing_figures("On 3 April 2025.", ["On 03/04/2025."], []) == []
    assert missing_figures("On 03/04/2025.", ["On 3 April 2025."], []) == []
    assert missing_figures("On 03/04/2025.", ["On 3 May 2025."], []) == ["date"]


def test_markers_and_list_numbers_are_no_figures() -> None:
    assert figures("2. Turn it off [1][12].").numbers == frozenset()
    assert figures("1) Turn it off.").numbers == frozenset()


def test_one_as_a_pronoun_is_no_number() -> None:
    assert figures("This one is the first.").numbers == frozenset()


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("Staff get sixteen weeks.", []),
        ("Staff get 17 weeks.", ["number"]),
        ("It costs 1000 euros.", []),
        ("It costs 1001 euros.", ["number"]),
        ("It is due on January 5.", []),
        ("It is due on January 6.", ["date"]),
        ("It is due on 5 January 2025.", []),
        ("It is due on 5 January 2026.", ["date"]),
        ("It is due in 2025.", []),
        ("Use px-204.", []),
        ("Use PX-205.", ["code"]),
        ("Read https://example.org/a.", []),
        ("Read https://evil.example/?q=secret.", ["code"]),
        ("Write to a@example.org.", ["code"]),
        ("Set read_timeout.", []),
        ("Set write_timeout.", ["code"]),
        ("Tick HR/IT.", []),
        ("Tick HR/OPS.", ["code"]),
        ("Tick IT or HR: IT/HR.", []),
        # What nobody sees does not cut a figure in two.
        ("Staff get 1\u200d6 weeks.", []),
        ("Staff get 1\u200d7 weeks.", ["number"]),
        ("It costs 1\ufe0f0\u034f01 euros.", ["number"]),
    ],
)
def test_figures_must_be_in_the_quote_or_its_section(sentence: str, missing: list[str]) -> None:
    quotes = ["Staff get 16 weeks at 1,000 euros."]
    sections = [
        "Due on 5 January 2025. Part PX-204. See https://example.org/a for more. 1 or 7: set read_timeout, tick HR/IT."
    ]
    assert missing_figures(sentence, quotes, [SourceText(text) for text in sections]) == missing


def test_a_number_is_not_a_part_of_another() -> None:
    assert missing_figures("Staff get 16 weeks.", ["In 2016 and 160 weeks, 1.16 and A16."], []) == [
        "number"
    ]


@pytest.mark.parametrize(
    ("sentence", "quote", "flipped"),
    [
        ("You may open the valve.", "You may not open the valve.", True),
        ("The warranty doesn't cover the seal.", "The warranty covers the seal.", True),
        ("Visitors can enter the plant.", "Visitors cannot enter the plant.", True),
        ("You must not open the valve.", "You must never open the valve.", False),
        ("Do not run the pump dry.", "Do not run the pump dry.", False),
        (
            "The pump must be sent back no later than June.",
            "The pump must be sent back by June.",
            False,
        ),
        # "Cover" and "covered", "charge" and "charges" are one word.
        ("Chargers are covered.", "The charger is not covered.", True),
        ("It charges the cable.", "It does not charge cables.", True),
        ("No, visitors may not enter the plant.", "Visitors may not enter the plant.", False),
        ("No, visitors may enter the plant.", "Visitors may not enter the plant.", True),
        ("Yes: visitors may enter the plant.", "Visitors may not enter the plant.", True),
        ("No visitors may enter the plant.", "Visitors may enter the plant.", True),
        ("You may enter only if authorised.", "You may not enter unless authorised.", False),
        ("Staff who fail to apply lose it.", "Staff who do not apply lose it.", False),
        ("There is no charge for the service.", "The service is free of charge.", False),
        ("Staff get leave.", "The canteen does not open on Sundays.", False),
    ],
)
def test_a_negation_may_not_be_turned_round(sentence: str, quote: str, flipped: bool) -> None:
    assert flips_negation(sentence, [quote]) is flipped


@pytest.mark.parametrize(
    ("sentence", "quote", "kind"),
    [
        ("It takes 10-20 days.", "It takes 10-15 days.", "number"),
        ("Call 555-9999.", "Call 555-1234.", "number"),
        ("Use order 4711-99.", "Use order 4711-98.", "number"),
        ("Take .9 mg.", "Take 0.5 mg.", "number"),
        ("It costs EUR 1.000,50.", "It costs EUR 1.000,75.", "number"),
        ("It has 1.000.000 parts.", "It has 1.000.999 parts.", "number"),
        ("See 1.2.9 for that.", "See 1.2.3 for that.", "code"),
        ("The server is 10.1.2.9.", "The server is 10.1.2.3.", "code"),
        ("It lasts 6 weeks.", "It begins on 1 June 2025.", "number"),
        ("It takes $5m.", "It takes 5 metres.", "number"),
        ("Revenue was $5 million.", "In thousands: revenue 5", "number"),
        ("It is due in June 2025.", "It is due in May 2025.", "date"),
        ("It is due in June.", "It is due in May.", "date"),
        ("It is due in May.", "It is due in June.", "date"),
        ("It is due Dec. 2025.", "It is due in June 2025.", "date"),
    ],
)
def test_no_part_of_a_figure_is_left_unread(sentence: str, quote: str, kind: str) -> None:
    assert missing_figures(sentence, [quote], []) == [kind]
    assert missing_figures(sentence, [sentence], []) == []


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("Staff get 1 day.", "Staff get one day."),
        ("The 2nd edition applies.", "The second edition applies."),
        ("It is done 2 times a year.", "It is done twice a year."),
        ("The cable is 5 metres long.", "The cable is 5 m long."),
        ("The cable is 5 m long.", "The cable is 5 metres long."),
        ("It costs $5m.", "It costs 5 million dollars."),
        ("Revenue was $5.2 billion.", "(in millions) Revenue 5,200"),
        ("It is due September 5, 2025.", "It is due Sept. 5, 2025."),
        ("It is due in June 2025.", "It is due on 1 June 2025."),
        ("It is due in June 2025.", "It is due Jun. 2025"),
        ("It is due in June 2025.", "It is due 06/2025."),
        ("It may be due.", "It is due."),
        ("It costs 1000.50 euros.", "It costs EUR 1.000,50."),
        ("It takes 10 to 20 days.", "It takes 10-20 days."),
        ("Call 555 1234.", "Call 555-1234."),
        ("Use PX-204 now.", "Use PX-\n204 now."),
        ("Use 16 250 of them.", "Use 16\n250 of them."),
    ],
)
def test_the_same_figure_in_another_form_is_no_new_one(sentence: str, quote: str) -> None:
    assert missing_figures(sentence, [quote], []) == []


def test_values_are_exact() -> None:
    assert figures("It is 0.1 and 1e5.").numbers >= {Decimal("0.1")}


def test_whole_quotes_side_by_side_deny_nothing() -> None:
    quotes = ["E-52 Partner lost", "The partner is lost and does not answer."]
    assert not flips_negation(": ".join(quotes), quotes)
    assert flips_negation("E-52: The partner is lost and does answer.", quotes[1:])
