"""The analyst's demo model: how it reads a question, what it computes, and how it words the results."""
