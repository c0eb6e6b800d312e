"""The files of a loop without a bucket."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentfn import File, ToolError
from agentfn.tools import FileLink, FolderWorkspace, Workspace


def names(files: Workspace) -> list[str]:
    return [info.name for info in files.files]


def test_an_attached_file_is_a_copy_found_by_its_name_with_any_path_before_it(
    workspace: FolderWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "numbers.csv").write_bytes(b"1,2")
    info = workspace.attach(tmp_path / "numbers.csv")
    assert (info.name, info.media_type, info.size) == ("numbers.csv", "text/csv", 3)
    for name in ("numbers.csv", "/tmp/x/numbers.csv", "..\\numbers.csv", "dir/numbers.csv"):
        path = workspace.local_path(name)
        assert (path.name, path.read_bytes()) == ("numbers.csv", b"1,2")
        assert path != tmp_path / "numbers.csv"


def test_a_name_that_no_file_has_is_answered_with_those_there_are(workspace: FolderWorkspace) -> None:
    with pytest.raises(ToolError, match="there is no file 'a'; there are: none"):
        workspace.local_path("a")
    workspace.attach(File("numbers.csv", b""))
    workspace.save_file(File("b.txt", b""), hidden=True)
    for name in ("other.csv", "", "/", "..", "Numbers.csv"):
        with pytest.raises(ToolError, match=r"there are: numbers\.csv, b\.txt"):
            workspace.local_path(name)


def test_attached_files_stay_and_produced_ones_are_replaced(workspace: FolderWorkspace) -> None:
    for content in (b"1", b"2"):
        workspace.attach(File("a.csv", content))
    for content in (b"old", b"newer"):
        assert workspace.save_file(File("a.csv", content)).name == "a (3).csv"
    workspace.save_file(File("a.csv", b"hidden"), hidden=True)
    assert names(workspace) == ["a.csv", "a (2).csv", "a (3).csv", "a (4).csv"]
    contents = [workspace.local_path(name).read_bytes() for name in names(workspace)]
    assert contents == [b"1", b"2", b"newer", b"hidden"]
    assert [(info.name, info.size) for info in workspace.produced] == [("a (3).csv", 5)]


def test_what_lies_in_the_folder_from_the_start_is_attached(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    (tmp_path / "deep").mkdir()
    (tmp_path / ".env").write_text("secret")
    files = FolderWorkspace(tmp_path)
    assert (names(files), files.produced) == (["a.txt"], ())
    files.save_file(File("a.txt", b"ours"))
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert (tmp_path / "a (2).txt").read_text() == "ours"


def test_what_tools_write_for_themselves_is_no_file_until_it_is_kept(workspace: FolderWorkspace) -> None:
    workspace.attach(File("a.txt", b"theirs"))
    (workspace.folder / "a.txt").write_text("scratch")
    assert workspace.local_path("a.txt").read_text() == "theirs"
    assert (
        workspace.local_path(workspace.save_file(File("b.txt", workspace.folder / "a.txt")).name).read_text()
        == "scratch"
    )


@pytest.mark.parametrize("name", ['../../other/x"\r\nA: b.pdf', "/etc/passwd", "..", ".work", ".hidden", "a\0b"])
def test_no_name_leads_out_of_the_folder(workspace: FolderWorkspace, name: str) -> None:
    for info in (workspace.attach(File(name, b"x", "a\r\nb")), workspace.save_file(File(name, b"x"), hidden=True)):
        assert workspace.local_path(info.name).resolve().is_relative_to(workspace.root.resolve())
        assert workspace.local_path(info.name).read_bytes() == b"x"
    assert workspace.folder.is_dir()


def test_a_file_that_lies_elsewhere_is_produced_and_never_fetched(workspace: FolderWorkspace) -> None:
    info = workspace.add_link(FileLink("reports/q1.pdf", "https://files.example.com/q1.pdf"))
    assert (info.name, info.media_type, workspace.produced) == ("q1.pdf", "application/pdf", (info,))
    with pytest.raises(ToolError, match=r"q1.pdf lies at https://files\.example\.com/q1\.pdf and is not fetched"):
        workspace.local_path("q1.pdf")


def test_a_temporary_folder_goes_with_its_workspace() -> None:
    files = FolderWorkspace()
    files.save_file(File("a.txt", b"x"))
    root = files.root
    assert root.is_dir()
    del files
    gc.collect()
    assert not root.exists()


def test_tools_of_one_turn_may_keep_at_once(workspace: FolderWorkspace) -> None:
    start = threading.Barrier(8)

    def work(number: int) -> str:
        start.wait(60)
        workspace.save_file(File("same.txt", str(number).encode()))
        return workspace.attach(File("in.txt", str(number).encode())).name

    with ThreadPoolExecutor(8) as pool:
        attached = list(pool.map(work, range(8)))
    assert len(set(attached)) == 8
    assert [workspace.local_path(name).read_text() for name in attached] == [str(number) for number in range(8)]
