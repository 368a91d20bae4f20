// Lines of text to vertex ids. A block is a run of whole lines, the last of them ended by '\n' too, so a scan that
// stops at a line break needs no test for the end of the block.
#include <cstdint>
#include <cstring>

namespace {

enum Error : int32_t {
    kNone,
    kNotAnId,
    kNegative,
    kBelowFirst,
    kAboveLast,
    kMissing,
    kNotANumber,
    kSurplus,
    kTag,
    kRows
};

}  // namespace

extern "C" {

struct Layout {
    int64_t first_id;      // smallest id allowed; stored as 0 when `shift` is set
    int64_t last_id;       // largest id allowed
    int64_t max_rows;      // adjacency: lines that may hold anything
    int32_t shift;         // subtract first_id
    int32_t min_values;    // edge lines: numbers after the two ids, at least
    int32_t max_values;    // and at most
    int32_t row_values;    // adjacency: numbers before the first neighbour
    int32_t entry_values;  // adjacency: numbers after each neighbour
    char comment;          // a line that starts with it is skipped
    char tag;              // edge lines: the word every line starts with, 0 for none
};

struct Outcome {
    int64_t edges;
    int64_t lines;   // lines seen, the faulty one included
    int64_t rows;    // adjacency: lines that stand for a vertex
    int64_t last_row;  // adjacency: rows up to the last that is not blank
    int64_t offset;  // of the word that is wrong
    int32_t error;
};
}

namespace {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool ends_word(char c) { return is_blank(c) || c == '\n'; }

inline void skip_blanks(const char*& p) {
    while (is_blank(*p)) ++p;
}

inline void skip_line(const char*& p) {
    while (*p != '\n') ++p;
}

// Reads up to 7 digits at once: leaves `q` behind them, or where it was when there are none or more.
//
// In the eight bytes from q on, the first of them lowest, XOR with '0' turns digits into their values, and adding 0x76
// carries into the top bit of every byte that is not a digit. Shifted to the high end, with zeros before them,
// neighbouring digits are joined to pairs, and the four pairs weighted and summed by two multiplications.
inline uint64_t read_short(const char*& q) {
    uint64_t chunk;
    std::memcpy(&chunk, q, sizeof chunk);
    chunk ^= 0x3030303030303030;
    const uint64_t others = (chunk | (chunk + 0x7676767676767676)) & 0x8080808080808080;
    if (!others || others & 0x80) return 0;
    const int length = __builtin_ctzll(others) >> 3;
    q += length;
    chunk <<= 64 - 8 * length;
    chunk = chunk * 10 + (chunk >> 8);
    const uint64_t pairs = 0x000000ff000000ff;
    return ((chunk & pairs) * 0x000f424000000064 + (chunk >> 16 & pairs) * 0x0000271000000001) >> 32;
}

// Reads an id; on an error `p` is left at the start of the word.
inline Error read_id(const char*& p, const char* end, const Layout& layout, int64_t& id) {
    const char* q = p;
    uint64_t value = end - p >= 8 ? read_short(q) : 0;
    bool above = false;
    if (q == p) {
        for (; is_digit(*q); ++q) {
            // Ten times a value that passed this test, plus nine, still fits 64 bits.
            above |= value > UINT64_MAX / 10 - 1;
            value = value * 10 + static_cast<uint64_t>(*q - '0');
        }
        if (q == p && *p == '\n') return kMissing;
        if (q == p) return *p == '-' && is_digit(p[1]) ? kNegative : kNotAnId;
    }
    if (!ends_word(*q)) return kNotAnId;
    if (above || value > static_cast<uint64_t>(layout.last_id)) return kAboveLast;
    if (value < static_cast<uint64_t>(layout.first_id)) return kBelowFirst;
    p = q;
    id = static_cast<int64_t>(value) - (layout.shift ? layout.first_id : 0);
    return kNone;
}

// Skips a decimal number such as -1.5e+3 (Fortran's exponent letter d is allowed).
inline bool skip_number(const char*& p) {
    const char* q = p;
    if (*q == '+' || *q == '-') ++q;
    const char* digits = q;
    while (is_digit(*q)) ++q;
    int64_t count = q - digits;
    if (*q == '.') {
        digits = ++q;
        while (is_digit(*q)) ++q;
        count += q - digits;
    }
    if (count == 0) return false;
    const char letter = *q | 0x20;
    if (letter == 'e' || letter == 'd') {
        ++q;
        if (*q == '+' || *q == '-') ++q;
        if (!is_digit(*q)) return false;
        while (is_digit(*q)) ++q;
    }
    if (!ends_word(*q)) return false;
    p = q;
    return true;
}

// Skips `least` to `most` numbers and the blanks before each; leaves `p` at the next word or at the line's end.
inline Error skip_numbers(const char*& p, int32_t least, int32_t most) {
    for (int32_t count = 0;; ++count) {
        skip_blanks(p);
        if (count == most) return kNone;
        if (*p == '\n') return count < least ? kMissing : kNone;
        if (!skip_number(p)) return kNotANumber;
    }
}

template <class Id>
Error edge_line(const char*& p, const char* end, const Layout& layout, Id& source, Id& target) {
    if (layout.tag) {
        if (*p != layout.tag || !ends_word(p[1])) return kTag;
        ++p;
        skip_blanks(p);
    }
    int64_t u = 0, v = 0;
    if (Error error = read_id(p, end, layout, u)) return error;
    skip_blanks(p);
    if (Error error = read_id(p, end, layout, v)) return error;
    if (Error error = skip_numbers(p, layout.min_values, layout.max_values)) return error;
    if (*p != '\n') return kSurplus;
    source = static_cast<Id>(u);
    target = static_cast<Id>(v);
    return kNone;
}

template <class Id>
void parse_edges(const char* text, int64_t size, const Layout& layout, Id* sources, Id* targets, Outcome& out) {
    const char* p = text;
    for (const char* end = text + size; p < end; ++p) {
        ++out.lines;
        skip_blanks(p);
        if (*p == '\n') continue;
        if (*p == layout.comment) {
            skip_line(p);
            continue;
        }
        out.error = edge_line(p, end, layout, sources[out.edges], targets[out.edges]);
        if (out.error) {
            out.offset = p - text;
            return;
        }
        ++out.edges;
    }
}

Error adjacency_line(const char*& p, const char* end, const Layout& layout, int32_t row, int32_t* rows,
                     int32_t* columns, int64_t& edges) {
    if (Error error = skip_numbers(p, layout.row_values, layout.row_values)) return error;
    while (*p != '\n') {
        int64_t v = 0;
        if (Error error = read_id(p, end, layout, v)) return error;
        if (Error error = skip_numbers(p, layout.entry_values, layout.entry_values)) return error;
        rows[edges] = row;
        columns[edges] = static_cast<int32_t>(v);
        ++edges;
    }
    return kNone;
}

}  // namespace

extern "C" {

// Lines "[tag] u v [numbers]". The ids of a block of n bytes are at most n / 4 + 1 pairs.
void parse_edges_int32(const char* text, int64_t size, const Layout* layout, int32_t* sources, int32_t* targets,
                       Outcome* out) {
    parse_edges(text, size, *layout, sources, targets, *out);
}

void parse_edges_int64(const char* text, int64_t size, const Layout* layout, int64_t* sources, int64_t* targets,
                       Outcome* out) {
    parse_edges(text, size, *layout, sources, targets, *out);
}

// Lines that list the neighbours of vertex 0, 1, ... of the block (an empty line: none). At most n / 2 + 1 pairs.
void parse_adjacency(const char* text, int64_t size, const Layout* layout, int32_t* rows, int32_t* columns,
                     Outcome* out) {
    const char* p = text;
    for (const char* end = text + size; p < end; ++p) {
        ++out->lines;
        skip_blanks(p);
        if (*p == layout->comment) {
            skip_line(p);
            continue;
        }
        if (*p != '\n') {
            const auto row = static_cast<int32_t>(out->rows);
            out->error = kRows;
            if (row < layout->max_rows) out->error = adjacency_line(p, end, *layout, row, rows, columns, out->edges);
            if (out->error) {
                out->offset = p - text;
                return;
            }
            out->last_row = out->rows + 1;
        }
        ++out->rows;
    }
}
}
