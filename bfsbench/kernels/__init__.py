"""What host code and kernels agree on: source files, parameters, structs and constants.

A kernel file is read as text. The emulator, the GPU backend and the host loops use the same readings, so a
launch whose arguments do not fit its kernel fails on every backend with the same message.
"""

from bfsbench.kernels.signature import Argument, Contract, CType, Scalars, Signature, Struct, struct_of
from bfsbench.kernels.source import source_files

__all__ = ["Argument", "CType", "Contract", "Scalars", "Signature", "Struct", "source_files", "struct_of"]
