"""What `make check-protos` holds against the contract of the last release, protos/released.binpb."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

ROOT = Path(__file__).resolve().parent.parent
BUF = ROOT / "build" / "protos-venv" / "bin" / "buf"
RELEASED = ROOT / "protos" / "released.binpb"
API = "folio/gateway/v1/gateway.proto"
# A number that the contract to compare with keeps for later.
RESERVED = 2000

pytestmark = pytest.mark.skipif(not BUF.exists(), reason="no buf; `make protos` installs it")


def ask(file: FileDescriptorProto) -> DescriptorProto:
    return next(message for message in file.message_type if message.name == "AskRequest")


def unchanged(file: FileDescriptorProto) -> None:
    """The released contract itself."""


def a_new_field(file: FileDescriptorProto, number: int = 1000) -> None:
    ask(file).field.add(
        name="new",
        number=number,
        type=FieldDescriptorProto.TYPE_STRING,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
        json_name="new",
    )


def a_reserved_number_put_to_use(file: FileDescriptorProto) -> None:
    del ask(file).reserved_range[:]
    a_new_field(file, RESERVED)


def a_new_method(file: FileDescriptorProto) -> None:
    method = file.service[0].method.add()
    method.CopyFrom(file.service[0].method[0])
    method.name = "New"


def a_deleted_field(file: FileDescriptorProto) -> None:
    del ask(file).field[-1]


def a_deleted_field_whose_number_is_reserved(file: FileDescriptorProto) -> None:
    number = ask(file).field.pop().number
    ask(file).reserved_range.add(start=number, end=number + 1)


def a_renamed_field(file: FileDescriptorProto) -> None:
    ask(file).field[0].name = "renamed"


def another_number(file: FileDescriptorProto) -> None:
    ask(file).field[0].number = 1000


def another_type(file: FileDescriptorProto) -> None:
    ask(file).field[0].type = FieldDescriptorProto.TYPE_BYTES


def a_list_for_one_value(file: FileDescriptorProto) -> None:
    ask(file).field[0].label = FieldDescriptorProto.LABEL_REPEATED


def a_deleted_enum_value(file: FileDescriptorProto) -> None:
    del file.enum_type[0].value[-1]


def a_deleted_method(file: FileDescriptorProto) -> None:
    del file.service[0].method[-1]


def a_stream_for_one_reply(file: FileDescriptorProto) -> None:
    method = file.service[0].method[0]
    method.server_streaming = not method.server_streaming


def breaks(change: Callable[[FileDescriptorProto], None], folder: Path) -> str:
    """What `buf breaking` says of the released contract with a change; "" if it breaks nobody."""
    contract = FileDescriptorSet.FromString(RELEASED.read_bytes())
    api = next(file for file in contract.file if file.name == API)
    ask(api).reserved_range.add(start=RESERVED, end=RESERVED + 1)
    before, after = folder / "before.binpb", folder / "after.binpb"
    before.write_bytes(contract.SerializeToString())
    change(api)
    after.write_bytes(contract.SerializeToString())
    done = subprocess.run(
        [str(BUF), "breaking", str(after), "--against", str(before), "--config", "buf.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    # 100 is how buf says that a rule is broken; all else would be an accident.
    assert done.returncode in (0, 100), done.stderr
    assert (done.returncode == 100) == bool(done.stdout)
    return done.stdout


@pytest.mark.parametrize(
    "change", [unchanged, a_new_field, a_reserved_number_put_to_use, a_new_method]
)
def test_an_addition_breaks_nobody(
    change: Callable[[FileDescriptorProto], None], tmp_path: Path
) -> None:
    assert breaks(change, tmp_path) == ""


@pytest.mark.parametrize(
    "change",
    [
        a_deleted_field,
        a_deleted_field_whose_number_is_reserved,
        a_renamed_field,
        another_number,
        another_type,
        a_list_for_one_value,
        a_deleted_enum_value,
        a_deleted_method,
        a_stream_for_one_reply,
    ],
)
def test_a_breaking_change_is_refused(
    change: Callable[[FileDescriptorProto], None], tmp_path: Path
) -> None:
    assert breaks(change, tmp_path)
