"""Translates inline PTX to C++. An ``asm`` statement becomes calls of C++ functions that have the effect of
its instructions.

Tables in this module list the known instructions, and include/emu/ptx.h defines the functions. The generated
code uses no macros, because whole programs are translated after the preprocessor has run.

An unknown instruction is not an error here, because the preprocessor may remove the ``asm`` statement later.
The statement becomes a ``static_assert`` that names the instruction. If the preprocessor keeps it, the
compiler rejects it and names its line.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bfsbench.kernels.source import SourceText, split_at

ASM = re.compile(r"\b(?:asm|__asm__)\s*(?:volatile\b|__volatile__\b)?\s*\(")
_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_OPERAND = re.compile(r'"[=+&]*[hrlqfdCn]"\s*\((.*)\)', re.DOTALL)
_HOST_OPERAND = re.compile(r'"[=+&%]*[abcSDAmgixX0-9]+"\s*\(')
"""Finds an operand in memory or in a register of x86, which PTX does not have."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INSTRUCTION = re.compile(r"(?:@(!?)([\w%$]+)\s+)?([a-z]\w*(?:(?:\.|::)\w+)*)\s*(.*)", re.DOTALL)
_REGISTERS = re.compile(r"\.reg\s*\.(\w+)\s+(.*)", re.DOTALL)
_ADDRESS = re.compile(r"\[\s*([\w%$]+)\s*(?:\+\s*(-?\d+))?\s*\]")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?")
_FLOAT = re.compile(r"0(?:[fF](?=[0-9a-fA-F]{8}$)|[dD](?=[0-9a-fA-F]{16}$))([0-9a-fA-F]+)")
"""Matches a number that PTX writes as the bits of a float or a double."""

_TYPES = {
    **{f"{kind}{bits}": f"uint{bits}_t" for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{"f32": "float", "f64": "double", "pred": "bool"},
}
_SCOPES = {"cta": "block", "cluster": "device", "gpu": "device", "sys": "device"}
_ORDERS = {"relaxed", "acquire", "release", "acq_rel", "volatile"}
_ATOMICS = {
    **{name: f"atomic_{name}" for name in ("add", "min", "max", "and", "or", "xor", "inc", "dec", "cas")},
    "exch": "atomic_exchange",
}
_FORMULAS = {
    **{"add": "a + b", "sub": "a - b", "mul": "a * b", "and": "a & b", "or": "a | b", "xor": "a ^ b"},
    **{"min": "b < a ? b : a", "max": "a < b ? b : a"},
    **{"shl": "b < 8 * sizeof a ? a << b : 0", "shr": "b < 8 * sizeof a ? a >> b : a < 0 ? -1 : 0"},
    **{"not.pred": "!a", "not": "~a", "neg": "-a", "popc": "__builtin_popcountll(a)"},
    **{"mul.hi": "::emu::ptx::high(a, b)", "mul.wide": "static_cast<wide>(a) * b"},
    **{
        "mad.lo": "a * b + c",
        "mad.hi": "::emu::ptx::high(a, b) + c",
        "mad.wide": "static_cast<wide>(a) * b + c",
    },
    **dict.fromkeys(("fma", "mad"), "sizeof a == 8 ? __builtin_fma(a, b, c) : __builtin_fmaf(a, b, c)"),
    **{"div": "::emu::ptx::quotient(a, b)", "rem": "::emu::ptx::remainder(a, b)"},
    **{
        "sad": "c + (a < b ? b - a : a - b)",
        "abs": "::emu::ptx::magnitude(a)",
        "bfind": "::emu::ptx::highest_bit(a)",
    },
    **{
        "brev": "sizeof a == 8 ? ::__brevll(a) : ::__brev(a)",
        "clz": "sizeof a == 8 ? ::__clzll(a) : ::__clz(a)",
    },
    **{"slct": "c < 0 ? b : a", "copysign": "__builtin_copysign(b, a)", "fns": "::__fns(a, b, c)"},
    **{"bfe": "::emu::ptx::extracted(a, b, c)", "bfi": "::emu::ptx::inserted(a, b, c, d)"},
    **{"prmt": "::__byte_perm(a, b, c)", "lop3": "::emu::ptx::chosen_bits(a, b, c, d)"},
    **{"rcp": "1 / a", "sqrt": "__builtin_sqrt(a)", "rsqrt": "1 / __builtin_sqrt(a)"},
    **{"ex2": "__builtin_exp2(a)", "lg2": "__builtin_log2(a)"},
    **{"sin": "__builtin_sin(a)", "cos": "__builtin_cos(a)", "tanh": "__builtin_tanh(a)"},
}
"""For each PTX instruction, a C++ expression of its operands ``a``, ``b``, ``c`` and ``d``. The type ``wide``
has twice the bits of the operands."""
_OF_32_BITS = {"shl": "b", "shr": "b", "bfe": "bc", "bfi": "cd", "lop3": "d"}
"""Operands that have 32 bits whatever the type of the instruction is."""
_WIDE = {"uint16_t": "uint32_t", "int16_t": "int32_t", "uint32_t": "uint64_t", "int32_t": "int64_t"}
_PRECISIONS = {"lo", "hi", "wide", "rn", "ftz", "approx", "full"}
"""Known modifiers of arithmetic instructions. Modifiers that ask for an approximate result have no effect."""
_ROUNDINGS = {
    "rni": "__builtin_nearbyint",
    "rzi": "__builtin_trunc",
    "rmi": "__builtin_floor",
    "rpi": "__builtin_ceil",
}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "hi": ">"}
_SPECIAL = {
    **dict.fromkeys(("globaltimer", "clock64", "clock"), "::emu::nanoseconds()"),
    "laneid": "::emu::lane()",
    **{f"{name}.{axis}": f"{variable}.{axis}" for axis in "xyz" for name, variable in
       (("tid", "::emu::thread_index()"), ("ctaid", "::emu::block_index()"),
        ("ntid", "::emu::block_shape()"), ("nctaid", "::emu::grid_shape()"))},
    "cluster_ctarank": "::cooperative_groups::cluster_group::block_rank()",
    "cluster_nctarank": "::cooperative_groups::cluster_group::num_blocks()",
    "lanemask_lt": "((1u << ::emu::lane()) - 1)",
    "lanemask_le": "((2u << ::emu::lane()) - 1)",
    "lanemask_eq": "(1u << ::emu::lane())",
    "lanemask_ge": "~((1u << ::emu::lane()) - 1)",
    "lanemask_gt": "~((2u << ::emu::lane()) - 1)",
    "warpid": "(::emu::rank() / ::emu::kWarpSize)",
    "smid": "::emu::ptx::multiprocessor()",
    "nsmid": "::emu::ptx::kMultiprocessors",
}  # fmt: skip


class _UnknownError(Exception):
    """Raised for a PTX instruction or operand that this module does not know."""


@dataclass
class _Statement:
    """The operands and registers of one ``asm`` statement, with their names in C++."""

    operands: list[str]
    registers: dict[str, str] = field(default_factory=dict)
    has_carry: bool = False
    """True if an instruction sets the carry. The generated code then has a variable for it."""

    def place(self, name: str) -> str:
        """Returns the C++ name of an operand or register. Raises _UnknownError if there is no such operand or
        register."""
        if re.fullmatch(r"%\d+", name) and int(name[1:]) < len(self.operands):
            return f"emu_{name[1:]}"
        if name in self.registers:
            return self.registers[name]
        raise _UnknownError(name)

    def put(self, name: str, value: str, kind: str = "") -> str:
        """Returns a C++ statement that assigns ``value``, a C++ expression, to an operand or register. If
        ``kind`` is given, the value is converted to this C++ type."""
        return f"::emu::ptx::put({self.place(name)}, {f'static_cast<{kind}>({value})' if kind else value});"

    def value(self, text: str, kind: str) -> str:
        """Returns a C++ expression of the type ``kind`` for the value of ``text``, which names an operand or
        a register, or is a number."""
        special = text.lstrip("%")
        if text.startswith("%") and special in _SPECIAL:
            return f"static_cast<{kind}>({_SPECIAL[special]})"
        if _INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text):
            return f"static_cast<{kind}>({text})"
        if bits := _FLOAT.fullmatch(text):
            return f"::emu::ptx::as<{kind}>(uint{4 * len(bits.group(1))}_t{{0x{bits.group(1)}}})"
        if text.startswith("!"):
            return f"!{self.value(text[1:].strip(), kind)}"
        return f"::emu::ptx::as<{kind}>({self.place(text)})"

    def address(self, text: str, kind: str, space: str) -> str:
        """Returns a C++ expression for the address in ``text``, such as ``[%1+4]``. The expression is a
        pointer to the type ``kind``. ``space`` is the memory space."""
        found = _ADDRESS.fullmatch(text)
        if not found:
            raise _UnknownError(text)
        base = self.value(found.group(1), "uint64_t")
        where = f"::emu::shared_at(static_cast<uint32_t>({base}))" if space.startswith("shared") else base
        return f"::emu::ptx::at<{kind}>({where}, {found.group(2) or 0})"


@dataclass(frozen=True)
class _Instruction:
    """A PTX instruction, split into its name, modifiers and operands. An example is
    ``ld.acquire.gpu.u32 %0, [%1]``."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]

    def type(self) -> str:
        """Returns the C++ type that the instruction's last modifier names. The modifier ``ftz`` does not
        count."""
        last = [word for word in self.modifiers if word != "ftz"][-1:]
        if not last or last[0] not in _TYPES:
            raise _UnknownError("the type of " + self.name)
        return _TYPES[last[0]]

    def one_of(self, choices: dict[str, str], default: str) -> str:
        """Find the first modifier of the instruction that is a key of ``choices``. Returns its value in
        ``choices``. Returns ``default`` if no modifier is a key."""
        return next((choices[word] for word in self.modifiers if word in choices), default)

    def order(self) -> str:
        """Returns the scope and the memory order of the instruction, as the text of two C++ arguments."""
        found = next((word for word in self.modifiers if word in _ORDERS), "weak")
        if found == "weak" and self.name in ("red", "atom"):
            found = "relaxed"
        scope = {"weak": "none", "volatile": "by_volatile"}.get(found) or self.one_of(_SCOPES, "device")
        order = "relaxed" if found in ("weak", "volatile") else found
        return f"::emu::Scope::{scope}, ::emu::Order::{order}"

    def space(self) -> str:
        """Returns the modifier that names the memory space, such as ``shared``. Returns an empty string if no
        modifier names one."""
        spaces = {"global", "shared", "shared::cta", "shared::cluster", "const", "param", "local"}
        found = next((word for word in self.modifiers if word in spaces), "")
        if found in ("const", "param", "local"):
            raise _UnknownError(found)
        return found


def _access(instruction: _Instruction, operand: str) -> tuple[list[str], str]:
    """Returns the registers in the operand of a load or store, and the C++ type of the accessed memory. The
    operand of a vector instruction has several registers."""
    _require_access(instruction)
    vector = next((word for word in instruction.modifiers if word.startswith("v")), "")
    names = [name.strip() for name in operand.strip("{}").split(",")]
    if len(names) != {"v2": 2, "v4": 4, "v8": 8}.get(vector, 1):
        raise _UnknownError(operand)
    return names, f"::emu::ptx::Vector<{instruction.type()}, {len(names)}>"


def _require_access(instruction: _Instruction) -> None:
    """Raise _UnknownError if a memory access has an unknown modifier. Modifiers for caches are accepted, but
    have no effect."""
    known = {*_SCOPES, *_ORDERS, *_TYPES, *_ATOMICS, "weak", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"}
    known |= {"global", "shared", "shared::cta", "shared::cluster", "v2", "v4", "v8"}
    for word in instruction.modifiers:
        if word not in known and not word.startswith(("L1::", "L2::")):
            raise _UnknownError(word)


def _load(instruction: _Instruction, statement: _Statement) -> str:
    names, kind = _access(instruction, instruction.operands[0])
    address = statement.address(instruction.operands[1], kind, instruction.space())
    puts = " ".join(statement.put(name, f"emu_v.at[{i}]") for i, name in enumerate(names))
    function = "ld_nc" if "nc" in instruction.modifiers else "ld"
    return f"{{ const auto emu_v = ::emu::ptx::{function}({address}, {instruction.order()}); {puts} }}"


def _store(instruction: _Instruction, statement: _Statement) -> str:
    names, kind = _access(instruction, instruction.operands[1])
    address = statement.address(instruction.operands[0], kind, instruction.space())
    values = ", ".join(statement.value(name, instruction.type()) for name in names)
    return f"::emu::ptx::st({address}, {kind}{{{{{values}}}}}, {instruction.order()});"


def _atomic(instruction: _Instruction, statement: _Statement) -> str:
    _require_access(instruction)
    function = instruction.one_of(_ATOMICS, "")
    returns = instruction.name == "atom"
    place, *values = instruction.operands[returns:]
    if not function or len(values) != (2 if function == "atomic_cas" else 1):
        raise _UnknownError(instruction.name)
    kind = instruction.type()
    address = statement.address(place, kind, instruction.space())
    arguments = ", ".join([address, *(statement.value(value, kind) for value in values)])
    call = f"::emu::ptx::atom({instruction.order()}, ::emu::ptx::{function}, {arguments})"
    return statement.put(instruction.operands[0], call) if returns else f"{call};"


def _fence(instruction: _Instruction, _: _Statement) -> str:
    scopes = {**_SCOPES, "gl": "device"}
    allowed = {*scopes, "sc", "acq_rel", "acquire", "release"}
    if not instruction.modifiers or not allowed.issuperset(instruction.modifiers):
        raise _UnknownError(instruction.name)
    return f"::emu::fence(::emu::Scope::{instruction.one_of(scopes, 'device')});"


def _barrier(instruction: _Instruction, statement: _Statement) -> str:
    words = [word for word in instruction.modifiers if word not in ("aligned", "cta")]
    if words[:2] == ["warp", "sync"]:
        return f"__syncwarp({statement.value(instruction.operands[0], 'unsigned')});"
    if words == ["sync"] and instruction.operands == ("0",):
        return "__syncthreads();"
    functions = {("sync", 1): "::__barrier_sync", ("sync", 2): "::__barrier_sync_count"}
    functions["arrive", 2] = "::emu::ptx::barrier_arrive"
    if len(words) == 1 and (function := functions.get((words[0], len(instruction.operands)))):
        values = (statement.value(operand, "unsigned") for operand in instruction.operands)
        return f"{function}({', '.join(values)});"
    if words in (["cluster", "arrive"], ["cluster", "arrive", "release"]):
        return "::emu::cluster_arrive();"
    if words in (["cluster", "wait"], ["cluster", "wait", "acquire"]):
        return "::emu::cluster_wait({__builtin_LINE(), __builtin_FILE()});"
    raise _UnknownError(instruction.name)


def _map_shared(instruction: _Instruction, statement: _Statement) -> str:
    target, address, rank = instruction.operands
    block = statement.value(rank, "uint32_t")
    if instruction.space() == "shared::cluster":
        own = f"::emu::shared_at({statement.value(address, 'uint32_t')})"
        mapped = f"::emu::shared_address(::emu::map_shared({own}, {block}))"
    else:
        own = f"reinterpret_cast<void*>({statement.value(address, 'uint64_t')})"
        mapped = f"reinterpret_cast<uint64_t>(::emu::map_shared({own}, {block}))"
    return statement.put(target, mapped, instruction.type())


def _convert_address(instruction: _Instruction, statement: _Statement) -> str:
    target, address = instruction.operands
    value = statement.value(address, "uint64_t")
    if instruction.space().startswith("shared"):
        if instruction.modifiers[0] == "to":
            value = f"::emu::shared_address(reinterpret_cast<void*>({value}))"
        else:
            value = f"reinterpret_cast<uint64_t>(::emu::shared_at(static_cast<uint32_t>({value})))"
    return statement.put(target, value, instruction.type())


def _move(instruction: _Instruction, statement: _Statement) -> str:
    target, source = instruction.operands
    kind = instruction.type()
    if "{" not in target + source:
        return statement.put(target, statement.value(source, kind))
    names = [name.strip() for name in (target + source).partition("{")[2].partition("}")[0].split(",")]
    bits = int(instruction.modifiers[-1][1:]) // len(names)
    if target.startswith("{"):
        puts = [
            statement.put(name, f"static_cast<uint{bits}_t>(emu_v >> {i * bits})")
            for i, name in enumerate(names)
        ]
        return f"{{ const auto emu_v = {statement.value(source, kind)}; {' '.join(puts)} }}"
    parts = [
        f"static_cast<{kind}>({statement.value(name, f'uint{bits}_t')}) << {i * bits}"
        for i, name in enumerate(names)
    ]
    return statement.put(target, " | ".join(parts))


def _compare(instruction: _Instruction, statement: _Statement) -> str:
    target, *pair = instruction.operands
    sign = instruction.one_of(_COMPARISONS, "")
    a, b = (statement.value(operand, instruction.type()) for operand in pair)
    if not sign or len(instruction.modifiers) != 2:
        raise _UnknownError(instruction.name)
    return f"{statement.place(target)} = {a} {sign} {b};"


def _select(instruction: _Instruction, statement: _Statement) -> str:
    target, *pair, choice = instruction.operands
    a, b = (statement.value(operand, instruction.type()) for operand in pair)
    return statement.put(target, f"{statement.place(choice)} ? {a} : {b}")


def _arithmetic(instruction: _Instruction, statement: _Statement) -> str:
    if "cc" in instruction.modifiers or instruction.name in ("addc", "subc", "madc"):
        return _with_carry(instruction, statement)
    names = (*(f"{instruction.name}.{word}" for word in instruction.modifiers), instruction.name)
    formula = next((_FORMULAS[name] for name in names if name in _FORMULAS), None)
    if formula is None or not {*_TYPES, *_PRECISIONS}.issuperset(instruction.modifiers):
        raise _UnknownError(instruction.name)
    kind = instruction.type()
    result = _WIDE[kind] if "wide" in instruction.modifiers else kind
    target, *sources = instruction.operands
    values = [f"using wide = {result};"] if result != kind else []
    for name, source in zip("abcd", sources, strict=False):
        of = "uint32_t" if name in _OF_32_BITS.get(instruction.name, "") else kind
        of = result if name == "c" and instruction.name == "mad" else of
        values.append(f"{of} {name} = {statement.value(source, of)};")
    return f"{{ {' '.join(values)} {statement.put(target, formula, result)} }}"


def _with_carry(instruction: _Instruction, statement: _Statement) -> str:
    """Returns C++ code for an instruction that sets or uses the carry. In the generated code, the carry is a
    local variable."""
    if not {*_TYPES, "lo", "hi", "cc"}.issuperset(instruction.modifiers) or not statement.has_carry:
        raise _UnknownError(instruction.name)
    kind = "u" + instruction.type().removeprefix("u")
    target, *sources = instruction.operands
    values = [statement.value(source, kind) for source in sources]
    if instruction.name.startswith("mad"):
        a, b, last = values
        signed = instruction.type()
        product = f"{a} * {b}"
        if "hi" in instruction.modifiers:
            product = f"::emu::ptx::high({', '.join(statement.value(of, signed) for of in sources[:2])})"
        values = [f"static_cast<{kind}>({product})", last]
    function = "less" if instruction.name.startswith("sub") else "sum"
    carry_in = "emu_carry" if instruction.name.endswith("c") else "false"
    carry_out = "emu_carry" if "cc" in instruction.modifiers else "emu_no_carry"
    arguments = ", ".join([*values, carry_in, carry_out])
    return f"{{ bool emu_no_carry; {statement.put(target, f'::emu::ptx::{function}<{kind}>({arguments})')} }}"


def _funnel_shift(instruction: _Instruction, statement: _Statement) -> str:
    target, *sources = instruction.operands
    if len(instruction.modifiers) != 3 or instruction.modifiers[0] not in ("l", "r"):
        raise _UnknownError(instruction.name)
    direction, mode, _ = instruction.modifiers
    values = ", ".join(statement.value(source, "uint32_t") for source in sources)
    function = f"::__funnelshift_{direction}{ {'wrap': '', 'clamp': 'c'}.get(mode, '?') }"
    return statement.put(target, f"{function}({values})")


def _dot_product(instruction: _Instruction, statement: _Statement) -> str:
    target, a, b, c = instruction.operands
    first, second = (_TYPES[word] for word in instruction.modifiers[-2:])
    result = "int32_t" if "int32_t" in (first, second) else "uint32_t"
    values = ", ".join([statement.value(a, first), statement.value(b, second), statement.value(c, result)])
    return statement.put(target, f"::emu::ptx::dot_product<{result}>({values})")


def _of_numbers(instruction: _Instruction, statement: _Statement) -> str:
    """Returns C++ code for an instruction on the two or four numbers in a word, such as ``vadd4``. Of the
    instructions that also sum up the two or four results (``.add``), only ``vabsdiff`` is supported."""
    target, *sources = instruction.operands
    name, width = instruction.name[1:-1], instruction.name[-1]
    signs, others = {word[0] for word in instruction.modifiers[:3]}, instruction.modifiers[3:]
    values = [statement.value(source, "uint32_t") for source in sources]
    if len(signs) != 1 or len(values) != 3:
        raise _UnknownError(instruction.name)
    sign = signs.pop()
    names: dict[tuple[str, tuple[str, ...]], str] = {
        **{(name, ()): f"v{name}{sign}" for name in ("absdiff", "min", "max")},
        **{(name, ()): f"v{name}" for name in ("add", "sub")},
        **{(name, ("sat",)): f"v{name}{sign}s" for name in ("add", "sub")},
        ("avrg", ()): f"vavg{sign}",
        ("absdiff", ("add",)): f"vsad{sign}",
    }
    if (name, others) not in names:
        raise _UnknownError(instruction.name)
    sum_with = f" + {values[2]}" if others == ("add",) else ""
    return statement.put(target, f"::__{names[name, others]}{width}({values[0]}, {values[1]}){sum_with}")


def _copy_async(instruction: _Instruction, statement: _Statement) -> str:
    """Returns C++ code for an asynchronous copy to shared memory. The copy is complete at once, so
    instructions that wait for copies do nothing."""
    if instruction.modifiers[1:] in (("commit_group",), ("wait_group",), ("wait_all",)):
        return ";"
    known = {"async", "ca", "cg", "shared", "shared::cta", "global"}
    if any(word not in known and not word.startswith("L2::") for word in instruction.modifiers):
        raise _UnknownError(instruction.name)
    to, source, size, *kept = instruction.operands
    places = [statement.address(to, "char", "shared"), statement.address(source, "const char", "global")]
    sizes = [statement.value(of, "uint32_t") for of in (size, kept[0] if kept else size)]
    return f"::emu::ptx::copy_async({', '.join(places + sizes)});"


def _convert(instruction: _Instruction, statement: _Statement) -> str:
    target, source = instruction.operands
    *others, to, of = instruction.modifiers
    if to not in _TYPES or of not in _TYPES or not {"rn", "ftz", *_ROUNDINGS}.issuperset(others):
        raise _UnknownError(instruction.name)
    value = statement.value(source, _TYPES[of])
    if of.startswith("f") and not (to.startswith("f") and not _ROUNDINGS.keys() & set(others)):
        value = f"{instruction.one_of(_ROUNDINGS, '__builtin_trunc')}({value})"
    return statement.put(target, f"::emu::ptx::converted<{_TYPES[to]}>({value})")


def _shuffle(instruction: _Instruction, statement: _Statement) -> str:
    modes = {mode: f"::emu::ptx::Shuffle::{mode}" for mode in ("up", "down", "bfly", "idx")}
    mode = instruction.one_of(modes, "")
    place, value, *others = instruction.operands
    target, _, predicate = (name.strip() for name in place.partition("|"))
    if instruction.modifiers[:1] != ("sync",) or not mode or len(others) != 3:
        raise _UnknownError(instruction.name)
    values = ", ".join(
        [statement.value(value, "uint32_t"), *(statement.value(of, "uint32_t") for of in others)]
    )
    found = f"{statement.place(predicate)} = emu_found; " if predicate else ""
    call = f"::emu::ptx::shuffled({mode}, {values}, emu_found)"
    return f"{{ bool emu_found; {statement.put(target, call)} {found}}}"


def _vote(instruction: _Instruction, statement: _Statement) -> str:
    target, choice, mask = instruction.operands
    functions = {"all": "::__all_sync", "any": "::__any_sync", "ballot": "::__ballot_sync"}
    function = instruction.one_of(functions, "")
    if instruction.modifiers[:1] != ("sync",) or not function:
        raise _UnknownError(instruction.name)
    call = f"{function}({statement.value(mask, 'uint32_t')}, {statement.value(choice, 'bool')})"
    return statement.put(target, f"static_cast<{instruction.type()}>({call})")


def _of_warp(instruction: _Instruction, statement: _Statement) -> str:
    target, value, mask = instruction.operands
    operations = ("add", "min", "max", "and", "or", "xor")
    functions = {f"redux.sync.{operation}": f"::__reduce_{operation}_sync" for operation in operations}
    functions["match.any.sync"] = "::__match_any_sync"
    name = ".".join((instruction.name, *instruction.modifiers[:-1]))
    if name not in functions:
        raise _UnknownError(instruction.name)
    values = f"{statement.value(mask, 'uint32_t')}, {statement.value(value, instruction.type())}"
    return statement.put(target, f"{functions[name]}({values})")


_TABLE: dict[str, Callable[[_Instruction, _Statement], str]] = {
    **{"ld": _load, "st": _store, "atom": _atomic, "red": _atomic, "fence": _fence, "membar": _fence},
    **{"bar": _barrier, "barrier": _barrier, "mapa": _map_shared, "cvta": _convert_address, "mov": _move},
    **{"setp": _compare, "selp": _select},
    **dict.fromkeys((name.partition(".")[0] for name in _FORMULAS), _arithmetic),
    **dict.fromkeys(("addc", "subc", "madc"), _arithmetic),
    **{
        f"v{name}{count}": _of_numbers
        for name in ("add", "sub", "avrg", "absdiff", "min", "max")
        for count in "24"
    },
    "cp": _copy_async,
    **{"shf": _funnel_shift, "dp4a": _dot_product, "cvt": _convert},
    **{"shfl": _shuffle, "vote": _vote, "redux": _of_warp, "match": _of_warp},
    "activemask": lambda instruction, statement: statement.put(instruction.operands[0], "::__activemask()"),
    "trap": lambda _, __: "::__trap();",
    **dict.fromkeys(("prefetch", "prefetchu"), lambda _, __: ";"),
    # The emulator has no caches, so any number serves as a cache policy.
    "createpolicy": lambda instruction, statement: statement.put(instruction.operands[0], "uint64_t{0}"),
    "nanosleep": lambda _, __: "::__nanosleep(0);",
}


def is_of_host(statement: str) -> bool:
    """Returns whether an ``asm`` statement contains assembly code of the host, such as ``rdtsc``, instead of
    PTX."""
    return bool(_HOST_OPERAND.search(statement))


def translate_asm(source: SourceText, opening: int, closing: int) -> str:
    """Returns C++ code for an ``asm`` statement. ``opening`` and ``closing`` are the positions of its
    brackets.

    Raises ToolchainError if the statement cannot be parsed.
    """
    sections = split_at(":", source.code[opening + 1 : closing], source.mask[opening + 1 : closing])
    template, *others = [*sections, "", ""][:3]
    if _STRING.sub("", template).strip():
        raise source.error(opening, "cannot read this asm statement: its first part is not a string")
    text = "".join(_STRING.findall(template)).replace("\\n", "\n").replace("\\t", " ").replace('\\"', '"')
    operands: list[str] = []
    for section in others:
        for written in split_at(",", section):
            found = _OPERAND.fullmatch(written)
            if written and not found:
                raise source.error(opening, f"cannot read the operand {written} of this asm statement")
            operands += [found.group(1)] if found else []
    try:
        has_carry = ".cc" in text
        body = " ".join(_statements(text, _Statement(operands, has_carry=has_carry)))
        body = f"bool emu_carry = false; {body}" if has_carry else body
    except (_UnknownError, ValueError, IndexError):
        shown = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
        return f'static_assert(false, "inline PTX is not emulated: {shown}")'
    declared = "".join(f"auto&& emu_{i} = ({operand}); " for i, operand in enumerate(operands))
    return f"do {{ {declared}{body} }} while (false)"


def _statements(text: str, statement: _Statement) -> Iterator[str]:
    for written in _COMMENT.sub(" ", text).split(";"):
        rest = written.strip()
        # a statement never begins with a vector, so this brace opens or closes a scope
        while rest[:1] in ("{", "}"):
            rest = rest[1:].strip()
        if not rest:
            continue
        if declaration := _REGISTERS.fullmatch(rest):
            kind = _TYPES.get(declaration.group(1), "")
            for name in declaration.group(2).split(","):
                if not kind or not re.fullmatch(r"[\w%$]+", name.strip()):
                    raise _UnknownError(rest)
                variable = "emu_r_" + re.sub(r"\W", "_", name.strip())
                statement.registers[name.strip()] = variable
                yield f"{kind} {variable}{{}};"
            continue
        yield _emit(rest, statement)


def _emit(written: str, statement: _Statement) -> str:
    found = _INSTRUCTION.fullmatch(written)
    if not found:
        raise _UnknownError(written)
    negated, predicate, opcode, operands = found.groups()
    name, *modifiers = opcode.split(".")
    if name not in _TABLE:
        raise _UnknownError(name)
    parts = tuple(split_at(",", operands)) if operands else ()
    code = _TABLE[name](_Instruction(name, tuple(modifiers), parts), statement)
    return f"if ({'!' if negated else ''}{statement.place(predicate)}) {code}" if predicate else code
