"""The documents of a task. Each content is read once per process."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agentfn import Context, FileInfo, ToolError
from librarian.formats.content import Content, UnreadableFileError
from librarian.formats.document_reader import check_size, read_content, suffix_of
from librarian.formats.headings import strip_number
from librarian.items import Document, Item
from librarian.limits import LARGE_FILE_BYTES, MAX_CACHED_CHARS, MAX_CACHED_DOCUMENTS

NO_FILES = "No document is attached. Ask the user for one: PDF, .docx, HTML, Markdown or plain text."


class ContentCache:
    """A bounded cache of contents by the hash of the file's bytes, shared by all callers with the same file."""

    def __init__(self) -> None:
        self._contents: OrderedDict[str, Content] = OrderedDict()
        self._lock = threading.Lock()
        self._reading = threading.Lock()

    def get_or_read(self, key: str, read: Callable[[], Content]) -> Content:
        """The cached content, else that of `read()`. Parallel calls for the same file read it once."""
        content = self.get(key)
        if content is not None:
            return content
        with self._reading:
            content = self.get(key)
            if content is None:
                content = read()
                self.put(key, content)
        return content

    def get(self, key: str) -> Content | None:
        with self._lock:
            if key in self._contents:
                self._contents.move_to_end(key)
            return self._contents.get(key)

    def put(self, key: str, content: Content) -> None:
        with self._lock:
            self._contents[key] = content
            while len(self._contents) > MAX_CACHED_DOCUMENTS or self._chars() > MAX_CACHED_CHARS:
                self._contents.popitem(last=False)

    def _chars(self) -> int:
        return sum(content.size for content in self._contents.values())


CONTENT_CACHE = ContentCache()


@dataclass(frozen=True)
class Packet:
    """The readable documents. `skipped` has the reason for each attached file that cannot be read."""

    documents: tuple[Document, ...]
    skipped: tuple[str, ...] = ()

    @property
    def is_single_document(self) -> bool:
        """Whether there is only one document, so that citations can omit its name."""
        return len(self.documents) == 1 and not self.skipped

    def select_documents(self, name: str | None) -> tuple[Document, ...]:
        """The document of that name, all without a name. Raises ToolError with the list of names."""
        if not name:
            return self.documents
        wanted = name.casefold()
        names = {document.name.casefold(): document for document in reversed(self.documents)}
        stems = {had.removesuffix(suffix_of(had)): document for had, document in names.items()}
        if found := names.get(wanted) or stems.get(wanted):
            return (found,)
        for reason in self.skipped:
            if reason.casefold().startswith(wanted):
                raise ToolError(reason)
        raise ToolError(f"There is no document {name}. There are: {_document_names(self.documents)}.")

    def find_item(self, key: str, name: str | None) -> tuple[Document, Item]:
        """The item with that id or title. Raises ToolError if there is none, or one in several documents."""
        documents = self.select_documents(name)
        wanted = key.strip().casefold()
        bare = wanted.removeprefix("item").strip(" .:#")
        title = strip_number(key.strip()).casefold()
        ways: tuple[Callable[[Item], bool], ...] = (
            lambda item: item.id.casefold() in (wanted, bare),
            lambda item: item.title.casefold() in (wanted, title),
            lambda item: len(title) > 3 and title in item.title.casefold(),
        )
        for fits in ways:
            found = [(document, item) for document in documents for item in document.items if fits(item)]
            if len({document.name for document, _ in found}) > 1:
                raise ToolError(
                    f"Item {key} is in {_document_names(document for document, _ in found)}. Name the document as well."
                )
            if found:
                return found[0]
        raise ToolError(f"There is no item {key}. There are: {_item_ids(documents)}. list_items shows their titles.")


def open_packet(context: Context) -> Packet:
    """Reads the attached files, not those that the task produced. Blocks.

    Raises ToolError if no file is attached or none can be read.
    """
    attached = [info for info in context.files if getattr(info, "origin", "attached") == "attached"]
    if not attached:
        raise ToolError(NO_FILES)
    documents: list[Document] = []
    skipped: list[str] = []
    for info in attached:
        try:
            documents.append(Document(info.name, _read_document(info, context)))
        except (UnreadableFileError, ToolError) as error:
            skipped.append(f"{info.name} cannot be read: {error}")
    if not documents:
        raise ToolError(" ".join(skipped))
    return Packet(tuple(documents), tuple(skipped))


def _read_document(info: FileInfo, context: Context) -> Content:
    check_size(info.size)
    raw = context.path(info.name).read_bytes()
    suffix = suffix_of(info.name).lower()
    key = f"{suffix} {hashlib.sha256(raw).hexdigest()}"

    def make() -> Content:
        if len(raw) > LARGE_FILE_BYTES:
            context.progress(f"Reading {info.name}")
        return read_content(raw, suffix)

    return CONTENT_CACHE.get_or_read(key, make)


def _document_names(documents: Iterable[Document]) -> str:
    return ", ".join(dict.fromkeys(document.name for document in documents))


def _item_ids(documents: Iterable[Document]) -> str:
    ids = [item.id for document in documents for item in document.items]
    return ", ".join(ids[:40]) + (", …" if len(ids) > 40 else "") if ids else "none"
