"""Every limit of the librarian, in one place. Sizes are in characters unless their name says otherwise."""

# What is read of a file.
FILE_BYTES = 64_000_000
PDF_PAGES = 1_500
DOCUMENT_CHARS = 12_000_000
UNZIPPED_BYTES = 50_000_000  # of the parts of a .docx that are read
SLOW_BYTES = 1_000_000  # a file this large is told of before it is read
PART_CHARS = 6_000  # of text that has neither pages nor headings, cut at a paragraph where that can be done
BLANK_PAGE = 12  # fewer are no text but a stamp or a page number

# What counts as a heading.
TITLE_CHARS = 140
TITLE_WORDS = 20
OUTLINE_DEPTH = 6
MOST_MARKS = 2_000

# How much stays in memory for the next call in the same process.
CACHED_DOCUMENTS = 16
CACHED_CHARS = 30_000_000

# What one answer of a tool holds.
LISTED_ITEMS = 250
FOUND = 10
FOUND_CONTEXT = 110  # on each side
NEEDLE = 300
HITS = 6
MOST_HITS = 15
PASSAGE_WORDS = 160
SNIPPET = 420
READ = 14_000

# The inner loops over a whole packet.
AT_ONCE = 4
PIECE = 24_000
LARGEST_PIECE = 60_000
MOST_PIECES = 80
GATHERED = 60_000  # digests that go into one question
