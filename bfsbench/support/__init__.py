"""Contains the code on which all other packages depend: errors, files, the machine, compilers and native
libraries."""
