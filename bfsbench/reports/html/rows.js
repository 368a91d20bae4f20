/* The rows of a table, one line each. If there are many rows, the document holds only the rows in view. */

const ROW_HEIGHT = 29; // px; page.css has the same height
const DRAWN_WHOLE = 200; // up to this number, all rows are in the document
const PRINTED = 500; // largest number of rows that are printed
const BEYOND = 20; // rows above and below the view that are also in the document
const ON_PAPER = matchMedia("print");

class Rows {
  /* `line` is a function that returns the element of a row. */
  constructor(scroll, body, line) {
    this.scroll = scroll;
    this.body = body;
    this.line = line;
    this.rows = [];
    this.drawn = [-1, -1];
    scroll.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroll);
    ON_PAPER.addEventListener("change", () => {
      this.drawn = [-1, -1];
      this.draw();
    });
  }

  show(rows) {
    this.rows = rows;
    this.drawn = [-1, -1];
    this.scroll.scrollTop = 0;
    this.draw();
  }

  draw() {
    const [first, last] = this.range();
    if (first >= this.drawn[0] && last <= this.drawn[1]) return;
    const whole = this.rows.length <= DRAWN_WHOLE || ON_PAPER.matches;
    const from = whole ? first : Math.max(0, first - BEYOND);
    const to = whole ? last : Math.min(this.rows.length, last + BEYOND);
    this.drawn = [from, to];
    const lines = this.rows.slice(from, to).map((row, place) => {
      const line = this.line(row);
      line.setAttribute("aria-rowindex", from + place + 2); // indices start at 1, and the header has index 1
      return line;
    });
    const after = ON_PAPER.matches ? 0 : this.rows.length - to;
    this.body.replaceChildren(...space(from), ...lines, ...space(after));
  }

  /* Returns the range of rows that must be in the document: the first index, and the index after the last. */
  range() {
    const count = this.rows.length;
    if (ON_PAPER.matches) return [0, Math.min(count, PRINTED)];
    if (count <= DRAWN_WHOLE) return [0, count];
    const first = Math.min(count, Math.floor(this.scroll.scrollTop / ROW_HEIGHT));
    return [first, Math.min(count, first + Math.ceil(this.scroll.clientHeight / ROW_HEIGHT))];
  }
}

/* Returns an empty row that is as high as `rows` rows which are not in the document. Returns [] for 0 rows. */
function space(rows) {
  if (!rows) return [];
  const cell = element("td", { colSpan: 1000 });
  cell.style.height = `${rows * ROW_HEIGHT}px`;
  return [element("tr", { className: "space" }, cell)];
}
