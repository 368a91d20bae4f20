"""Define the command ``bfsbench nvcc``, which builds CUDA programs that run on the CPU."""

import click

_NO_HELP = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]}


@click.command(context_settings=_NO_HELP)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION|FILE]...")
def nvcc_command(words: tuple[str, ...]) -> None:
    """Compile and link CUDA programs for the CPU, with nvcc's options: make NVCC='bfsbench nvcc'.

    --watched builds a program that looks for data races and other faults in its kernels. If the program has
    found faults, it prints them at its end, and its exit code is 86. --counting builds a program that counts
    what its memory accesses would cost. The variable BFSBENCH_NVCC_MODE (watched or counting) has the effect
    of these options, too.

    --path prints the path of a compiler for CMake: cmake -DCMAKE_CUDA_COMPILER=$(bfsbench nvcc --path).
    """
    from bfsbench.emulator.nvcc import build, parse

    build(parse(words))
