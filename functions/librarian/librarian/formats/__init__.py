"""Readers of document files: PDF, .docx, HTML, Markdown and text to parts and headings."""
