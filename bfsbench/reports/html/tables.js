/* Tables that the reader can sort by a click on a header, and filter by words and by lists. */

const LISTED = ["graph", "variant", "backend", "status"];
const FROZEN = ["graph", "variant"]; // do not scroll sideways if they are the first columns
const WIDEST = { graph: innerWidth < 1600 ? 34 : 56, variant: 26, search_ms_samples: 48 }; // largest widths in characters; WIDE for all other columns
const WIDE = 120;
const NARROW_PAGE = matchMedia("(max-width: 700px)");
const COMPARE = new Intl.Collator("en", { numeric: true }).compare;

const MINOR = [ // columns that are not printed
  "mteps_q1", "mteps_median", "mteps_q3", "mteps_graph500", "device", "search_ms_samples", "wall_ms", "reset_ms",
  "depth", "reached", "taken_at", "python", "schema", "throttled_rows",
];

class SortedTable {
  constructor(table) {
    this.table = table;
    this.keys = table.columns.map((column) => column.key);
    this.order = null; // {index, descending}
    this.exact = {}; // column's key -> value that rows must have
    this.words = [];
    this.leads = table.name.startsWith("best"); // each row has a button that leads to its points
    this.columns = table.columns.map((column, index) => this.column(column, index));
    this.body = element("tbody");
    this.count = element("span", { className: "count", role: "status" });
    this.printed = element("span", { className: "on-paper" }, `; the first ${PRINTED} on paper`);
    this.node = section(
      table.name,
      table.title,
      ...table.notes.map((note) =>
        element("p", { className: note.startsWith("Warning") ? "warning" : "note" }, note)),
      ...(table.rows.length ? [this.controls(), this.grid()] : [element("p", {}, "None.")]),
    );
    if (table.rows.length) this.draw();
  }

  column(column, index) {
    const text = column.number && !column.whole ? measured : shown;
    const frozen = index < FROZEN.length && FROZEN.slice(0, index + 1).every((key, place) => this.keys[place] === key);
    const names = [column.number && "number", MINOR.includes(column.key) && "minor", frozen && `frozen-${index}`];
    return { ...column, text, width: this.width(column, index, text), className: names.filter(Boolean).join(" ") };
  }

  /* Returns a column's width in characters. The longest cell fits, up to a limit, and the header fits into two lines. */
  width({ key, label, number }, index, text) {
    let longest = 0;
    if (number) {
      const values = this.table.rows.map((row) => row[index]).filter((value) => value !== null);
      for (const value of [values.reduce((a, b) => (a < b ? a : b)), values.reduce((a, b) => (a > b ? a : b))]) longest = Math.max(longest, text(value).length);
    } else {
      for (const row of this.table.rows) longest = Math.max(longest, String(row[index] ?? "").length);
    }
    const word = Math.max(...label.split(" ").map((part) => part.length));
    const most = NARROW_PAGE.matches && key in WIDEST ? 16 : WIDEST[key] ?? WIDE;
    return Math.max(4, word + 2, Math.ceil(label.length / 2) + 2, Math.min(longest, most));
  }

  controls() {
    this.input = element("input", { type: "search", placeholder: "words that rows must have" });
    this.input.addEventListener("input", () => {
      this.words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.draw();
    });
    this.lists = {};
    const nodes = [];
    for (const key of LISTED) {
      const values = this.values(key);
      if (values.length < 2) continue;
      const list = chooser(this.columns[this.keys.indexOf(key)].label, ["all", ...values], (value) => this.require(key, value));
      this.lists[key] = list.select;
      nodes.push(list.node);
    }
    this.reset = element("button", { type: "button" }, "Reset");
    this.reset.addEventListener("click", () => {
      this.order = null;
      this.markOrder();
      this.only({}, false);
    });
    return element("div", { className: "controls" }, element("label", { className: "words" }, "filter", this.input), ...nodes, this.reset, this.count, this.printed);
  }

  values(key) {
    const index = this.keys.indexOf(key);
    return index < 0 ? [] : distinct(this.table.rows.map((row) => row[index] ?? "")).sort();
  }

  require(key, value) {
    if (value === "all") delete this.exact[key];
    else this.exact[key] = value;
    this.draw();
  }

  /* Shows only the rows that have these values. */
  only(values, scroll = true) {
    this.exact = values;
    this.words = [];
    this.input.value = "";
    for (const [key, select] of Object.entries(this.lists)) select.value = values[key] ?? "all";
    this.draw();
    if (scroll) this.node.scrollIntoView();
  }

  grid() {
    this.headers = this.columns.map((column, index) => {
      const button = element("button", { type: "button" }, column.label);
      button.addEventListener("click", () => this.sort(index));
      return element("th", { scope: "col", className: column.className, title: column.label }, button);
    });
    const widths = this.columns.map(({ width, className }) => {
      const made = element("col", { className: className.includes("minor") ? "minor" : "" });
      made.style.width = `calc(${width}ch + 20px)`;
      return made;
    });
    const extra = this.leads ? [element("th", { scope: "col" }, element("span", {}, "points"))] : [];
    const head = element("thead", {}, element("tr", {}, ...this.headers, ...extra));
    const table = element("table", { className: "lines" }, element("colgroup", {}, ...widths), head, this.body);
    table.style.setProperty("--after-first", `calc(${this.columns[0].width}ch + 20px)`);
    table.style.width = `calc(${this.columns.reduce((sum, { width }) => sum + width, 0)}ch + ${20 * this.columns.length + 90 * this.leads}px)`;
    table.setAttribute("aria-rowcount", this.table.rows.length + 1);
    const scroll = element("div", { className: "scroll tall", tabIndex: 0, role: "region" }, table);
    scroll.setAttribute("aria-label", this.table.title);
    this.rows = new Rows(scroll, this.body, (row) => this.line(row));
    return scroll;
  }

  sort(index) {
    const again = this.order && this.order.index === index;
    this.order = { index, descending: again ? !this.order.descending : false };
    this.markOrder();
    this.draw();
  }

  markOrder() {
    this.headers.forEach((header, place) => {
      if (this.order?.index === place) header.setAttribute("aria-sort", this.order.descending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
  }

  found() {
    const exact = Object.entries(this.exact)
      .map(([key, value]) => [this.keys.indexOf(key), value ?? ""])
      .filter(([index]) => index >= 0);
    if (this.words.length) this.text ??= this.table.rows.map((row) => row.join("\t").toLowerCase());
    const rows = this.table.rows.filter((row, place) =>
      exact.every(([index, value]) => (row[index] ?? "") === value)
      && this.words.every((word) => this.text[place].includes(word)));
    if (!this.order) return rows;
    const { index, descending } = this.order;
    const sign = descending ? -1 : 1;
    return rows.sort((a, b) => {
      if (a[index] === null || b[index] === null) return (a[index] === null) - (b[index] === null); // empty cells come last
      if (typeof a[index] === "number") return sign * (a[index] - b[index]);
      return sign * COMPARE(a[index], b[index]);
    });
  }

  draw() {
    const rows = this.found();
    this.rows.show(rows);
    const hidden = Object.entries(this.exact).filter(([key, value]) => !(key in this.lists) && value);
    const only = hidden.length ? `, only those of ${hidden.map(([key, value]) => `${key} ${value}`).join(", ")}` : "";
    this.count.textContent = `${rows.length} of ${this.table.rows.length} rows${only}`;
    this.printed.hidden = rows.length <= PRINTED;
    this.reset.disabled = !this.order && !this.words.length && !Object.keys(this.exact).length;
  }

  line(row) {
    const cells = this.columns.map((column, index) => {
      const text = column.text(row[index]);
      const title = typeof row[index] === "number" ? String(row[index]) : text;
      return element("td", { className: column.className, title }, text);
    });
    if (this.leads) cells.push(element("td", {}, this.origin(row)));
    return element("tr", {}, ...cells);
  }

  /* Returns a button that leads from a row to the points that its numbers were computed from. */
  origin(row) {
    const button = element("button", { type: "button" }, "points");
    button.addEventListener("click", () => {
      const keys = ["graph", "variant", "backend", "grid", "block", "knobs"];
      showPoints(Object.fromEntries(keys.map((key) => [key, row[this.keys.indexOf(key)] ?? ""])));
    });
    return button;
  }
}
