"""Reads what host code and kernels agree on: source files, parameters, structs and constants.

A kernel file is read as text. The emulator, the GPU backends and the host loops share this code. A launch
whose arguments do not fit its kernel therefore fails on every backend with one message.
"""

from bfsbench.kernels.signature import Argument, Contract, CType, Scalars, Signature, Struct, struct_of
from bfsbench.kernels.source import source_files

__all__ = ["Argument", "CType", "Contract", "Scalars", "Signature", "Struct", "source_files", "struct_of"]
