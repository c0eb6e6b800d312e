"""Files over HTTP: downloads, uploads, and the files of a message."""
