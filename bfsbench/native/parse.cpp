// parse: reads vertex ids and edge weights from lines of text. The text is passed in blocks of whole lines, whose
// last line also ends with '\n'. So a scan that stops at line ends needs no test for the end of the block.
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
    kRows,
    kWeight
};

}  // namespace

extern "C" {

struct Layout {
    int64_t first_id;      // smallest allowed vertex id; it becomes id 0 if `shift` is set
    int64_t last_id;       // largest allowed vertex id
    int64_t max_rows;      // largest number of vertices, for adjacency lists only
    int32_t shift;         // true if `first_id` is subtracted from each id
    int32_t min_values;    // smallest number of numbers after the two ids, for edge lists only
    int32_t max_values;    // largest number of numbers after the two ids, for edge lists only
    int32_t row_values;    // number of numbers before the first neighbour, for adjacency lists only
    int32_t entry_values;  // number of numbers after each neighbour, for adjacency lists only
    int32_t weighted;      // true if the first number after an edge or neighbour is a weight to store
    char comments[4];      // a line that starts with one of these characters is skipped; '/' stands for "//"
    char tag;              // the one-letter word with which every line of an edge list starts, 0 for none
    char separator;        // a character that separates words besides blanks, 0 for none
};

struct Outcome {
    int64_t edges;
    int64_t lines;   // number of lines read, including the faulty line
    int64_t rows;    // number of vertices read, for adjacency lists only
    int64_t last_row;  // number of vertices, without blank lines at the end; for adjacency lists only
    int64_t offset;  // position of the faulty word in the block, in bytes
    int32_t error;
    int32_t weights;  // true if the first number after some edge or neighbour is not the text "1"
};
}

namespace {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool ends_word(char c) { return is_blank(c) || c == '\n'; }
inline bool ends_word(char c, const Layout& layout) { return ends_word(c) || (c == layout.separator && c); }

inline bool is_comment(const char* p, const Layout& layout) {
    for (char c : layout.comments)
        if (c && *p == c && (c != '/' || p[1] == '/')) return true;
    return false;
}

inline void skip_blanks(const char*& p) {
    while (is_blank(*p)) ++p;
}

// Skips the gap between two words: blanks and at most one separator.
inline void skip_gap(const char*& p, const Layout& layout) {
    skip_blanks(p);
    if (layout.separator && *p == layout.separator) {
        ++p;
        skip_blanks(p);
    }
}

inline void skip_line(const char*& p) {
    while (*p != '\n') ++p;
}

// Reads up to 7 digits with one load. Returns their value, and moves `q` past the digits. Leaves `q`
// unchanged if there are no digits or more than 7.
//
// The first character is the lowest byte of `chunk`. XOR with '0' turns digits into their values. Adding 0x76
// then sets the top bit of every byte that is not a digit. A shift moves the digits to the high end, so that
// zeros stand before them. Neighbouring digits are combined into pairs. Two multiplications weight and add the
// four pairs.
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

// Reads a vertex id into `id` and moves `p` past the id. If the id is wrong, the function returns an error
// and `p` stays at the start of the word.
inline Error read_id(const char*& p, const char* end, const Layout& layout, int64_t& id) {
    const char* q = p;
    uint64_t value = end - p >= 8 ? read_short(q) : 0;
    bool above = false;
    if (q == p) {
        for (; is_digit(*q); ++q) {
            // Records that the number is too large before the multiplication below can overflow 64 bits.
            above |= value > UINT64_MAX / 10 - 1;
            value = value * 10 + static_cast<uint64_t>(*q - '0');
        }
        if (q == p && *p == '\n') return kMissing;
        if (q == p) return *p == '-' && is_digit(p[1]) ? kNegative : kNotAnId;
    }
    if (!ends_word(*q, layout)) return kNotAnId;
    if (above || value > static_cast<uint64_t>(layout.last_id)) return kAboveLast;
    if (value < static_cast<uint64_t>(layout.first_id)) return kBelowFirst;
    p = q;
    id = static_cast<int64_t>(value) - (layout.shift ? layout.first_id : 0);
    return kNone;
}

// Skips a decimal number such as -1.5e+3. The exponent letter may also be Fortran's d. Returns false if the
// word is not a number.
inline bool skip_number(const char*& p, const Layout& layout) {
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
    if (!ends_word(*q, layout)) return false;
    p = q;
    return true;
}

// Stores the number from p to `end` in `weight`. Returns false if the number does not fit an int32, has a fraction
// other than zeros, or has an exponent. 1e3 is refused too, although its value is an integer.
inline bool read_weight(const char* p, const char* end, int32_t& weight) {
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    int64_t value = 0;
    for (; p < end && is_digit(*p); ++p) {
        value = value * 10 + (*p - '0');
        if (value > int64_t{INT32_MAX} + 1) return false;
    }
    if (p < end && *p == '.')
        for (++p; p < end && *p == '0';) ++p;
    if (p < end) return false;
    if (negative) value = -value;
    weight = static_cast<int32_t>(value);
    return value == weight;
}

// Skips `least` to `most` numbers and the gap before each number. Leaves `p` at the next word or at the line's end.
// Stores the first number in `weight`, unless `weight` is null. Returns an error if a number is missing, if a word
// is not a number, or if the first number is not a valid weight. In this case `p` stays at the
// faulty word.
inline Error skip_numbers(const char*& p, int32_t least, int32_t most, const Layout& layout, int32_t* weight,
                          Outcome& out) {
    for (int32_t count = 0;; ++count) {
        const char* before = p;
        if (count == most) {
            skip_blanks(p);
            return kNone;
        }
        skip_gap(p, layout);
        if (*p == '\n') {
            if (count < least) return kMissing;
            p = before;
            skip_blanks(p);
            return kNone;
        }
        const char* word = p;
        if (!skip_number(p, layout)) return kNotANumber;
        if (count) continue;
        out.weights |= p - word != 1 || *word != '1';
        if (weight && !read_weight(word, p, *weight)) {
            p = word;
            return kWeight;
        }
    }
}

// Skips exactly `count` numbers without storing them.
inline Error skip_numbers(const char*& p, int32_t count, const Layout& layout) {
    Outcome ignored{};
    return skip_numbers(p, count, count, layout, nullptr, ignored);
}

template <class Id>
Error edge_line(const char*& p, const char* end, const Layout& layout, Id& source, Id& target, int32_t* weight,
                Outcome& out) {
    if (layout.tag) {
        if (*p != layout.tag || !ends_word(p[1])) return kTag;
        ++p;
        skip_blanks(p);
    }
    int64_t u = 0, v = 0;
    if (Error error = read_id(p, end, layout, u)) return error;
    skip_gap(p, layout);
    if (Error error = read_id(p, end, layout, v)) return error;
    if (Error error = skip_numbers(p, layout.min_values, layout.max_values, layout, weight, out)) return error;
    if (*p != '\n') return kSurplus;
    source = static_cast<Id>(u);
    target = static_cast<Id>(v);
    return kNone;
}

template <class Id>
void parse_edges(const char* text, int64_t size, const Layout& layout, Id* sources, Id* targets, int32_t* weights,
                 Outcome& out) {
    const char* p = text;
    for (const char* end = text + size; p < end; ++p) {
        ++out.lines;
        skip_blanks(p);
        if (*p == '\n') continue;
        if (is_comment(p, layout)) {
            skip_line(p);
            continue;
        }
        int32_t* weight = layout.weighted ? &weights[out.edges] : nullptr;
        out.error = edge_line(p, end, layout, sources[out.edges], targets[out.edges], weight, out);
        if (out.error) {
            out.offset = p - text;
            return;
        }
        ++out.edges;
    }
}

Error adjacency_line(const char*& p, const char* end, const Layout& layout, int32_t row, int32_t* rows,
                     int32_t* columns, int32_t* weights, Outcome& out) {
    if (Error error = skip_numbers(p, layout.row_values, layout)) return error;
    while (*p != '\n') {
        int64_t v = 0;
        if (Error error = read_id(p, end, layout, v)) return error;
        int32_t* weight = layout.weighted ? &weights[out.edges] : nullptr;
        const int32_t values = layout.entry_values;
        if (Error error = skip_numbers(p, values, values, layout, weight, out)) return error;
        rows[out.edges] = row;
        columns[out.edges] = static_cast<int32_t>(v);
        ++out.edges;
    }
    return kNone;
}

}  // namespace

extern "C" {

// Parses the lines "[tag] u v [numbers]" of an edge list, up to the first faulty line. For a block
// of n bytes, the arrays must have 1 + n/4 elements, because the block has at most this number of pairs of
// ids. Each pair has one weight. `weights` is used only if layout->weighted is set. *out must be zero on
// entry.
void parse_edges_int32(const char* text, int64_t size, const Layout* layout, int32_t* sources, int32_t* targets,
                       int32_t* weights, Outcome* out) {
    parse_edges(text, size, *layout, sources, targets, weights, *out);
}

void parse_edges_int64(const char* text, int64_t size, const Layout* layout, int64_t* sources, int64_t* targets,
                       int32_t* weights, Outcome* out) {
    parse_edges(text, size, *layout, sources, targets, weights, *out);
}

// Parses a block of lines of an adjacency list, up to the first faulty line. `text` is the block, and `size`
// its length in bytes. Comment lines are skipped. The other lines list the neighbours of the vertices 0, 1,
// 2, and so on. A blank line stands for a vertex without neighbours. A block of n bytes has at most n / 2 + 1
// neighbours, so the arrays must have this length. *out must be zero on entry.
void parse_adjacency(const char* text, int64_t size, const Layout* layout, int32_t* rows, int32_t* columns,
                     int32_t* weights, Outcome* out) {
    const char* p = text;
    for (const char* end = text + size; p < end; ++p) {
        ++out->lines;
        skip_blanks(p);
        if (is_comment(p, *layout)) {
            skip_line(p);
            continue;
        }
        if (*p != '\n') {
            const auto row = static_cast<int32_t>(out->rows);
            out->error = kRows;
            if (row < layout->max_rows) out->error = adjacency_line(p, end, *layout, row, rows, columns, weights, *out);
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
