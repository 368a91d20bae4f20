"""Reads the parameters of the kernels in a kernel file. Checks that the file and the host code declare equal
structs and constants.

A kernel file is read as text. The emulator, the GPU backends and the host code of variants share this
package. So if the arguments of a launch do not fit the kernel, the error message is the same on every
backend.
"""

from bfsbench.kernels.signature import Argument, Contract, CType, Scalars, Signature, Struct, struct_of
from bfsbench.kernels.source import source_files

__all__ = ["Argument", "CType", "Contract", "Scalars", "Signature", "Struct", "source_files", "struct_of"]
