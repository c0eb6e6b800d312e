"""The rules of the demo model: how it reads a question, what it computes, and how it words what came out."""
