"""The code for graphs: the catalogue, downloads, file formats, generators, conversion, and the cache on
disk."""
