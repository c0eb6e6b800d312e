"""The librarian: reads documents, splits them into items, searches and summarises them."""
