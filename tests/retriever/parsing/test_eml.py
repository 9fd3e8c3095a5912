"""E-mail as text."""

from email.message import EmailMessage

import pytest

from services.retriever.parsing import eml
from services.rpc.errors import InvalidArgument


def message(text: str = "The room is 12.\n") -> EmailMessage:
    made = EmailMessage()
    made["From"] = "Ada Löw <ada@example.org>"
    made["To"] = "bob@example.org"
    made["Date"] = "Sat, 09 Mar 2024 10:00:00 +0100"
    made["Subject"] = "Räume im März"
    made.set_content(text)
    return made


def test_headers_and_body_are_text_and_the_subject_is_the_title() -> None:
    found = eml.parse(message().as_bytes())
    assert found.title == "Räume im März"
    assert found.text == (
        "Räume im März\n\nFrom: Ada Löw <ada@example.org>\nTo: bob@example.org\n"
        "Date: Sat, 09 Mar 2024 10:00:00 +0100\n\nThe room is 12."
    )
    assert found.sections[0].path == ("Räume im März",)


def test_the_plain_alternative_is_read_and_the_other_is_not_read_again() -> None:
    made = message()
    made.add_alternative("<p>The room is 12.</p><p>As a page.</p>", subtype="html")
    assert "As a page" not in eml.parse(made.as_bytes()).text


def test_a_page_is_read_where_there_is_no_plain_text() -> None:
    made = message()
    made.set_content("<h2>Rooms</h2><p>The room is <s>11</s> 12.</p>", subtype="html")
    found = eml.parse(made.as_bytes())
    assert "The room is 12." in found.text
    assert "11" not in found.text
    assert found.sections[-1].path == ("Räume im März", "Rooms")


def test_attachments_are_named_and_not_read() -> None:
    made = message()
    made.add_attachment(b"secret figures", maintype="text", subtype="plain", filename="figures.txt")
    made.add_attachment(message("forwarded words"))
    found = eml.parse(made.as_bytes())
    assert "secret" not in found.text
    assert "forwarded words" not in found.text
    assert found.warnings == ("attachments not read: 2 (figures.txt, message/rfc822)",)


def test_what_is_quoted_stays() -> None:
    assert "> Which room?" in eml.parse(message("Room 12.\n\n> Which room?\n").as_bytes()).text


def test_flowed_lines_are_joined() -> None:
    data = (
        b"From: a@example.org\r\nContent-Type: text/plain; format=flowed\r\n\r\n"
        b"The room is \r\n12.\r\n> Which \r\n> room?\r\n-- \r\nAda\r\n"
    )
    assert "The room is 12.\n> Which room?\n-- \nAda".replace("-- ", "--") in eml.parse(data).text


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("windows-1251", "Комната двенадцать"),
        ("shift_jis", "部屋は十二番です"),
        ("us-ascii", "Zimmer zwölf"),
    ],
)
def test_the_body_is_decoded_as_it_says(charset: str, text: str) -> None:
    encoding = "utf-8" if charset == "us-ascii" else charset
    data = f"From: a@example.org\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert text in eml.parse(data + text.encode(encoding)).text


def test_a_name_of_an_encoding_that_is_none_is_not_believed() -> None:
    data = b'From: a@example.org\nContent-Type: text/plain; charset="a\0b"\n\nThe room is 12.\n'
    assert "The room is 12." in eml.parse(data).text


def test_headers_that_break_the_rules_are_read_as_far_as_they_can_be() -> None:
    data = "From: Müller <@@@>\nTo: =?utf-8?q?broken=?=\nSubject: =?unknown?b?////?= Zwölf\n\nText.".encode()
    found = eml.parse(data)
    assert "Müller" in found.text
    assert found.text.endswith("Text.")


def test_encrypted_messages_say_so() -> None:
    data = b"From: a@example.org\nContent-Type: multipart/encrypted; boundary=x\n\n--x\n\nhidden\n--x--\n"
    found = eml.parse(data)
    assert found.warnings == ("encrypted parts not read",)
    assert "hidden" not in found.text


def test_parts_in_parts_in_parts() -> None:
    body = b"Content-Type: text/plain\n\nThe end.\n"
    for depth in range(300):
        mark = b"m%d" % depth
        body = (
            b"Content-Type: multipart/mixed; boundary="
            + mark
            + b"\n\n--"
            + mark
            + b"\n"
            + body
            + b"--"
            + mark
            + b"--\n"
        )
    found = eml.parse(b"From: a@example.org\n" + body)
    assert found.text.startswith("From: a@example.org")


def test_what_has_no_headers_is_no_message() -> None:
    with pytest.raises(InvalidArgument) as raised:
        eml.parse(b"just text\n")
    assert raised.value.reason == "BROKEN_FILE"
