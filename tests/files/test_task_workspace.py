"""The files of one task."""

import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from agentfn import File, ToolError
from agentfn.aws_clients import aws_client
from agentfn.errors import StoredDataError
from agentfn.files import Bucket, TaskWorkspace, Upload, UploadStore
from agentfn.tools import FileLink, FileRecord

PREFIX = "clerk/alice/task-1/"


def names(files: TaskWorkspace) -> list[str]:
    return [info.name for info in files.files]


def test_an_attached_file_is_found_by_its_name_with_any_path_before_it(files: TaskWorkspace) -> None:
    files.attach(File("dir/numbers.csv", b"1,2"))
    for name in ("numbers.csv", "/tmp/x/numbers.csv", "..\\numbers.csv", "dir/numbers.csv"):
        path = files.local_path(name)
        assert (path.name, path.read_bytes()) == ("numbers.csv", b"1,2")


@pytest.mark.parametrize("name", ["other.csv", "", "/", "..", "Numbers.csv"])
def test_a_name_that_no_file_has_is_answered_with_those_there_are(files: TaskWorkspace, name: str) -> None:
    files.attach(File("file", b""))  # what an empty name is called elsewhere
    files.attach(File("numbers.csv", b""))
    with pytest.raises(ToolError, match=r"there are: file, numbers\.csv"):
        files.local_path(name)


def test_attached_files_of_one_name_are_all_kept(files: TaskWorkspace) -> None:
    for content in (b"1", b"2", b"3"):
        files.attach(File("a.tar.gz", content))
    files.attach(File("README", b"4"))
    files.attach(File("README", b"5"))
    assert names(files) == ["a.tar.gz", "a.tar (2).gz", "a.tar (3).gz", "README", "README (2)"]
    assert [files.local_path(name).read_bytes() for name in names(files)] == [b"1", b"2", b"3", b"4", b"5"]


def test_a_produced_file_replaces_a_produced_one(files: TaskWorkspace) -> None:
    files.save_file(File("chart.svg", b"old"))
    assert files.local_path("chart.svg").read_bytes() == b"old"
    files.save_file(File("chart.svg", b"newer"))
    assert files.local_path("chart.svg").read_bytes() == b"newer"
    assert [(info.name, info.size) for info in files.produced] == [("chart.svg", 5)]


def test_no_attached_file_is_lost_to_a_tools_output(files: TaskWorkspace) -> None:
    """Or a tool that is run again after a crash would read what it wrote itself."""
    files.attach(File("data.csv", b"theirs"))
    for content in (b"ours", b"ours again"):
        assert files.save_file(File("data.csv", content)).name == "data (2).csv"
    files.save_file(File("data.csv", b"hidden"), hidden=True)
    assert files.local_path("data.csv").read_bytes() == b"theirs"
    assert files.local_path("data (2).csv").read_bytes() == b"ours again"
    assert [info.name for info in files.produced] == ["data (2).csv"]


def test_hidden_files_are_the_models_and_not_the_callers(files: TaskWorkspace) -> None:
    files.save_file(File("output.txt", b"long"), hidden=True)
    assert (names(files), files.produced) == (["output.txt"], ())
    assert files.local_path("output.txt").read_bytes() == b"long"


@pytest.mark.parametrize("name", ['../../other/x"\r\nA: b.pdf', "/etc/passwd", "..", "漢" * 200 + ".pdf", "a\0b"])
def test_no_name_decides_where_a_file_lies(files: TaskWorkspace, name: str) -> None:
    record = files.attach(File(name, b"x", "application/pdf\r\nA: b"))
    assert record.key.startswith(f"{PREFIX}attached/")
    assert record.key.removeprefix(f"{PREFIX}attached/").isalnum()
    assert record.media_type == "application/octet-stream"
    assert files.local_path(record.name).is_relative_to(files.folder.parent)
    assert files.local_path(record.name).read_bytes() == b"x"


def test_the_next_run_finds_what_this_one_kept(bucket: Bucket) -> None:
    with TaskWorkspace(bucket, PREFIX) as first:
        first.attach(File("in.txt", b"in"))
        first.save_file(
            File("out.txt", first.folder / "out.txt") if _written(first.folder / "out.txt") else File("", b"")
        )
        records, gone = first.records, first.local_path("in.txt")
    assert not gone.exists()
    with TaskWorkspace(bucket, PREFIX, records) as second:
        assert second.records == records
        assert second.local_path("out.txt").read_text() == "out"
        assert second.local_path("out.txt") != gone


def _written(path: Path) -> bool:
    return bool(path.write_text("out"))


def test_nothing_is_left_of_a_run_whatever_it_wrote(bucket: Bucket) -> None:
    with TaskWorkspace(bucket, PREFIX) as files:
        (files.folder / "deep").mkdir()
        (files.folder / "deep" / "x").write_text("x")
        files.save_file(File("a.txt", b""))
        files.local_path("a.txt")
        root = files.folder.parent
        assert root.is_dir()
    assert not root.exists()


def test_a_thread_that_outlives_its_run_leaves_nothing_behind(bucket: Bucket) -> None:
    with TaskWorkspace(bucket, PREFIX) as files:
        files.attach(File("a.txt", b""))
        root = files.folder.parent
    for late in (lambda: files.local_path("a.txt"), lambda: files.save_file(File("b.txt", b""))):
        with pytest.raises(ToolError, match="the run that this call belonged to is over"):
            late()
    assert not root.exists()
    assert [record.name for record in files.records] == ["a.txt"]


def test_tools_of_one_turn_may_keep_and_read_at_once(files: TaskWorkspace) -> None:
    start = threading.Barrier(8)
    files.attach(File("in.txt", b"in"))

    def work(number: int) -> bytes:
        start.wait(60)
        files.save_file(File(f"{number}.txt", str(number).encode()))
        files.save_file(File("same.txt", str(number).encode()))
        return files.local_path("in.txt").read_bytes() + files.local_path(f"{number}.txt").read_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8))) == [f"in{number}".encode() for number in range(8)]
    assert sorted(names(files)) == sorted(["in.txt", "same.txt", *(f"{number}.txt" for number in range(8))])
    assert files.local_path("same.txt").read_bytes() in {str(number).encode() for number in range(8)}


def asked_for(operation: str) -> list[dict[str, Any]]:
    """The parameters of each such call from now on."""
    seen: list[dict[str, Any]] = []
    aws_client("s3").meta.events.register(
        f"before-parameter-build.s3.{operation}", lambda params, **_: seen.append(params)
    )
    return seen


def test_a_large_file_comes_and_goes_piece_by_piece(files: TaskWorkspace) -> None:
    path = files.folder / "large.bin"
    path.write_bytes(bytes(range(250)) * 80_000)
    stored, fetched = asked_for("PutObject"), asked_for("GetObject")
    files.save_file(File("large.bin", path))
    assert stored[0]["Body"].name == str(path)
    local = files.local_path("large.bin")
    assert local.read_bytes() == path.read_bytes()
    assert [request["Range"].partition("=")[2] for request in fetched] == [
        "0-8388607", "8388608-16777215", "16777216-"
    ]  # fmt: skip
    assert [name.name for name in local.parent.iterdir()] == ["large.bin"]


def test_tools_that_ask_for_one_file_at_once_fetch_it_once(files: TaskWorkspace) -> None:
    files.attach(File("in.txt", b"in"))
    fetched = asked_for("GetObject")
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: files.local_path("in.txt"), range(8)))
    assert (len(paths), len(fetched)) == (1, 1)


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file gets larger: to a program it is as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_the_disk_does_not_take_is_said_to_be_so_and_leaves_nothing(files: TaskWorkspace) -> None:
    files.attach(File("large.bin", bytes(3_000_000)))
    with disk_of(1_000_000), pytest.raises(ToolError, match=r"large\.bin has 3,000,000 bytes, and the disk .* has "):
        files.local_path("large.bin")
    assert not any(path.is_file() for path in files.folder.parent.rglob("*"))
    assert files.local_path("large.bin").stat().st_size == 3_000_000


def test_a_file_that_is_larger_than_the_disk_is_not_begun(bucket: Bucket) -> None:
    record = FileRecord("huge.bin", "application/octet-stream", 10**15, "attached", f"{PREFIX}attached/0")
    fetched = asked_for("GetObject")
    with TaskWorkspace(bucket, PREFIX, [record]) as files, pytest.raises(ToolError, match="more ephemeral storage"):
        files.local_path("huge.bin")
    assert fetched == []


def test_a_run_ends_while_a_file_is_still_fetched(bucket: Bucket) -> None:
    coming, ended = threading.Event(), threading.Event()

    def slow(**_: Any) -> None:
        coming.set()
        ended.wait(60)

    with ThreadPoolExecutor(1) as pool:
        with TaskWorkspace(bucket, PREFIX) as files:
            files.attach(File("in.txt", b"in"))
            aws_client("s3").meta.events.register("before-call.s3.GetObject", slow)
            late = pool.submit(files.local_path, "in.txt")
            assert coming.wait(60)
            files.save_file(File("out.txt", b"out"))
            root = files.folder.parent
        assert not root.exists()
        ended.set()
        with pytest.raises(ToolError, match="the run that this call belonged to is over"):
            late.result(20)
    assert not root.exists()


def uploaded(bucket: Bucket, content: bytes, owner: str = "alice", **called: str) -> Upload | None:
    """What a caller sent past the function, as his message finds it."""
    uploads = UploadStore(bucket, "clerk", owner)
    upload_id, form = uploads.create_form("named.csv", "text/csv", 1_000)
    requests.post(form.url, data=form.fields, files={"file": content}, timeout=5).raise_for_status()
    assert UploadStore(bucket, "clerk", "bob").find(upload_id) is None
    return uploads.find(upload_id, **called)


def test_an_upload_becomes_an_attached_file_without_coming_here(files: TaskWorkspace, bucket: Bucket) -> None:
    files.attach(File("named.csv", b"other"))
    upload = uploaded(bucket, b"a,b")
    assert upload is not None
    stored, fetched = asked_for("PutObject"), asked_for("GetObject")
    record = files.attach(upload)
    assert (record.name, record.media_type, record.size) == ("named (2).csv", "text/csv", 3)
    assert record.key.startswith(f"{PREFIX}attached/")
    assert stored == fetched == []
    assert files.local_path("named (2).csv").read_bytes() == b"a,b"
    assert requests.get(bucket.presigned_url(record.key), timeout=5).headers["Content-Disposition"] == (
        "inline; filename=\"named (2).csv\"; filename*=UTF-8''named%20%282%29.csv"
    )


def test_an_upload_that_was_replaced_or_expired_since_it_was_looked_at_is_not_taken(
    files: TaskWorkspace, bucket: Bucket
) -> None:
    upload = uploaded(bucket, b"a,b", name="mine.txt", media_type="bad\r\n")
    assert upload is not None
    assert (upload.name, upload.content_type) == ("mine.txt", "application/octet-stream")
    conditions = asked_for("CopyObject")
    aws_client("s3").delete_object(Bucket=bucket._name, Key=upload.source.key)
    with pytest.raises(StoredDataError, match="is no longer in the bucket"):
        files.attach(upload)
    assert conditions[0]["CopySourceIfMatch"] == upload.source.etag
    refused = SimpleNamespace(status_code=412), {"Error": {"Code": "PreconditionFailed"}}  # moto does not look
    aws_client("s3").meta.events.register("before-call.s3.CopyObject", lambda **_: refused)
    with pytest.raises(StoredDataError, match="was replaced in the bucket"):
        files.attach(upload)
    assert files.records == ()


def test_a_produced_file_downloads_under_its_name(files: TaskWorkspace, bucket: Bucket) -> None:
    files.save_file(File("résumé.svg", b"<svg/>"))
    answer = requests.get(bucket.presigned_url(files.records[0].key), timeout=5)
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="resume.svg"')


def test_a_file_that_lies_elsewhere_is_produced_and_never_fetched(files: TaskWorkspace) -> None:
    url = "https://files.example.com/q1.pdf"
    info = files.add_link(FileLink("reports/q1.pdf", url))
    assert info == FileRecord("q1.pdf", "application/pdf", 0, "produced", url=url)
    assert files.produced == (info,)
    assert str(info) == f"q1.pdf (application/pdf, at {url})"
    with pytest.raises(ToolError, match=f"q1.pdf lies at {url} and is not fetched"):
        files.local_path("q1.pdf")
    assert files.add_link(FileLink("q1.pdf", url, "bad\r\n")).media_type == "application/octet-stream"
    assert names(files) == ["q1.pdf"]
