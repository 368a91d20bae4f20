// Lines of text to vertex ids. A block is a run of whole lines, the last of them ended by '\n' too, so a scan that
// stops at a line break needs no test for the end of the block.
#include <cstdint>

namespace {

enum Error : int32_t { kNone, kNotAnId, kNegative, kBelowFirst, kAboveLast, kMissing, kNotANumber, kSurplus, kTag, kRows };

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

// Reads an id; on an error `p` is left at the start of the word.
inline Error read_id(const char*& p, const Layout& layout, int64_t& id) {
    if (!is_digit(*p)) {
        if (*p == '\n') return kMissing;
        return *p == '-' && is_digit(p[1]) ? kNegative : kNotAnId;
    }
    const uint64_t last = static_cast<uint64_t>(layout.last_id);
    const char* q = p;
    uint64_t value = 0;
    bool above = false;
    for (; is_digit(*q); ++q) {
        // Ten times a value that passed this test, plus nine, still fits 64 bits.
        above |= value > UINT64_MAX / 10 - 1;
        value = value * 10 + static_cast<uint64_t>(*q - '0');
    }
    if (!ends_word(*q)) return kNotAnId;
    if (above || value > last) return kAboveLast;
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
Error edge_line(const char*& p, const Layout& layout, Id& source, Id& target) {
    if (layout.tag) {
        if (*p != layout.tag || !ends_word(p[1])) return kTag;
        ++p;
        skip_blanks(p);
    }
    int64_t u = 0, v = 0;
    if (Error error = read_id(p, layout, u)) return error;
    skip_blanks(p);
    if (Error error = read_id(p, layout, v)) return error;
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
        out.error = edge_line(p, layout, sources[out.edges], targets[out.edges]);
        if (out.error) {
            out.offset = p - text;
            return;
        }
        ++out.edges;
    }
}

Error adjacency_line(const char*& p, const Layout& layout, int32_t row, int32_t* rows, int32_t* columns, int64_t& edges) {
    if (Error error = skip_numbers(p, layout.row_values, layout.row_values)) return error;
    while (*p != '\n') {
        int64_t v = 0;
        if (Error error = read_id(p, layout, v)) return error;
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
            out->error = out->rows < layout->max_rows
                             ? adjacency_line(p, *layout, static_cast<int32_t>(out->rows), rows, columns, out->edges)
                             : kRows;
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
