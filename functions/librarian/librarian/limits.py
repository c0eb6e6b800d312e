"""Every limit of the librarian, in one place. Sizes are in characters unless their name says otherwise."""

# What is read of a file.
MAX_FILE_BYTES = 64_000_000
MAX_PDF_PAGES = 1_500
MAX_DOCUMENT_CHARS = 12_000_000
MAX_UNZIPPED_BYTES = 50_000_000  # of the parts of a .docx that are read
LARGE_FILE_BYTES = 1_000_000  # a file this large is told of before it is read
MAX_SECTION_CHARS = 6_000  # of text that has neither pages nor headings, cut at a paragraph where that can be done
MIN_PAGE_CHARS = 12  # fewer are no text but a stamp or a page number

# What counts as a heading.
MAX_TITLE_CHARS = 140
MAX_TITLE_WORDS = 20
MAX_OUTLINE_DEPTH = 6
MAX_HEADINGS = 2_000

# How much stays in memory for the next call in the same process.
MAX_CACHED_DOCUMENTS = 16
MAX_CACHED_CHARS = 30_000_000

# What one answer of a tool holds.
MAX_LISTED_ITEMS = 250
MATCHES_PER_CALL = 10
MATCH_CONTEXT_CHARS = 110  # on each side
MAX_SEARCH_TEXT_CHARS = 300
DEFAULT_HITS = 6
MAX_HITS = 15
MAX_PASSAGE_WORDS = 160
SNIPPET_CHARS = 420
READ_CHARS = 14_000

# The inner loops over a whole packet.
MAX_PARALLEL_LOOPS = 4
CHUNK_CHARS = 24_000
MAX_CHUNK_CHARS = 60_000
MAX_CHUNKS = 80
MAX_COMBINED_CHARS = 60_000  # digests that go into one question
