"""The librarian's demo model: how it reads a question, and how it picks sentences out of documents."""
