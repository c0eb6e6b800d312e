"""SQL over tables: a read-only SQLite connection, its aggregates and one query."""
