"""Every limit of the librarian, in one place. Sizes are in characters unless their name says otherwise."""

# Limits of a file.
MAX_FILE_BYTES = 64_000_000
MAX_PDF_PAGES = 1_500
MAX_DOCUMENT_CHARS = 12_000_000
MAX_UNZIPPED_BYTES = 50_000_000  # of each part of a .docx that is read
LARGE_FILE_BYTES = 1_000_000  # reading a larger file is reported as progress
MAX_SECTION_CHARS = 6_000  # of text without pages and headings; cut at a paragraph if possible
MIN_PAGE_CHARS = 12  # a page with fewer has no text, only a stamp or a page number

# Limits of a heading.
MAX_TITLE_CHARS = 140
MAX_TITLE_WORDS = 20
MAX_OUTLINE_DEPTH = 6
MAX_HEADINGS = 2_000

# Size of the cache that the calls of a process share.
MAX_CACHED_DOCUMENTS = 16
MAX_CACHED_CHARS = 30_000_000

# Limits of one tool result.
MAX_LISTED_ITEMS = 250
MATCHES_PER_CALL = 10
MATCH_CONTEXT_CHARS = 110  # on each side
MAX_SEARCH_TEXT_CHARS = 300
DEFAULT_HITS = 6
MAX_HITS = 15
MAX_PASSAGE_WORDS = 160
SNIPPET_CHARS = 420
READ_CHARS = 14_000

# Nested loops over a whole packet.
MAX_PARALLEL_LOOPS = 4
CHUNK_CHARS = 24_000
MAX_CHUNK_CHARS = 60_000
MAX_CHUNKS = 80
MAX_COMBINED_CHARS = 60_000  # of the summaries in one request
