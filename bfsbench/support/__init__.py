"""The basis of all other packages: errors, files, the machine, compilers and compiled helpers."""
