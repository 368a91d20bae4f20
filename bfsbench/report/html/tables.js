/* Tables that sort by a click on a header and filter by words and by lists. */

const FIRST_ROWS = 100;
const LISTED = ["graph", "variant", "backend", "status"];
const LONG = ["knobs", "reason", "search_ms_samples", "file", "host_cpu"];

const MINOR = [ // left out on paper
  "mteps_q1", "mteps_median", "mteps_q3", "mteps_graph500", "device", "search_ms_samples", "wall_ms", "reset_ms",
  "depth", "reached", "taken_at", "python", "schema", "throttled_rows",
];

function cellClass({ key, number }) {
  const names = [number && "number", LONG.includes(key) && "long", MINOR.includes(key) && "minor"];
  return names.filter(Boolean).join(" ");
}

class SortedTable {
  constructor(table) {
    this.table = table;
    this.keys = table.columns.map((column) => column.key);
    this.order = null; // {index, descending}
    this.exact = {}; // column's key -> value that rows must have
    this.words = [];
    this.all = false;
    this.text = table.rows.map((row) => row.map((cell) => cell ?? "").join("\t").toLowerCase());
    this.body = element("tbody");
    this.count = element("span", { className: "count", role: "status" });
    this.more = element("button", { type: "button", className: "more", hidden: true });
    this.more.addEventListener("click", () => {
      this.all = true;
      this.draw();
    });
    this.node = section(
      table.name,
      table.title,
      ...table.notes.map((note) =>
        element("p", { className: note.startsWith("Warning") ? "warning" : "note" }, note)),
      ...(table.rows.length ? [this.controls(), this.grid(), this.more] : [element("p", {}, "None.")]),
    );
    if (table.rows.length) this.draw();
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
      const list = chooser(key, ["all", ...values], (value) => this.require(key, value));
      this.lists[key] = list.select;
      nodes.push(list.node);
    }
    return element("div", { className: "controls" }, element("label", { className: "words" }, "filter", this.input), ...nodes, this.count);
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
  only(values) {
    this.exact = values;
    this.words = [];
    this.input.value = "";
    for (const [key, select] of Object.entries(this.lists)) select.value = values[key] ?? "all";
    this.draw();
    this.node.scrollIntoView();
  }

  grid() {
    this.headers = this.table.columns.map((column, index) => {
      const button = element("button", { type: "button" }, column.label);
      button.addEventListener("click", () => this.sort(index));
      return element("th", { scope: "col", className: cellClass(column) }, button);
    });
    const extra = this.table.name.startsWith("best") ? [element("th", { scope: "col" })] : [];
    const head = element("thead", {}, element("tr", {}, ...this.headers, ...extra));
    const name = this.table.rows.length > 20 ? "scroll tall" : "scroll";
    return element("div", { className: name, tabIndex: 0 }, element("table", {}, head, this.body));
  }

  sort(index) {
    const again = this.order && this.order.index === index;
    this.order = { index, descending: again ? !this.order.descending : false };
    this.headers.forEach((header, place) => {
      if (place === index) header.setAttribute("aria-sort", this.order.descending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    this.draw();
  }

  found() {
    const exact = Object.entries(this.exact).map(([key, value]) => [this.keys.indexOf(key), value]);
    const rows = this.table.rows.filter((row, place) =>
      exact.every(([index, value]) => (row[index] ?? "") === value)
      && this.words.every((word) => this.text[place].includes(word)));
    if (!this.order) return rows;
    const { index, descending } = this.order;
    const sign = descending ? -1 : 1;
    return rows.sort((a, b) => {
      if (a[index] === null || b[index] === null) return (a[index] === null) - (b[index] === null); // last
      if (typeof a[index] === "number") return sign * (a[index] - b[index]);
      return sign * String(a[index]).localeCompare(String(b[index]), "en", { numeric: true });
    });
  }

  draw() {
    const rows = this.found();
    const visible = this.all ? rows : rows.slice(0, FIRST_ROWS);
    this.body.replaceChildren(...visible.map((row) => this.line(row)));
    this.count.textContent = `${rows.length} of ${this.table.rows.length} rows`;
    this.more.hidden = visible.length === rows.length;
    this.more.textContent = `Show all ${rows.length} rows`;
  }

  line(row) {
    const cells = row.map((cell, index) => {
      const column = this.table.columns[index];
      const text = column.number && !column.whole ? measured(cell) : shown(cell);
      const title = typeof cell === "number" ? String(cell) : "";
      return element("td", { className: cellClass(column), title }, text);
    });
    if (this.table.name.startsWith("best")) cells.push(element("td", {}, this.origin(row)));
    return element("tr", {}, ...cells);
  }

  /* Leads from a number to the points it was made from. */
  origin(row) {
    const button = element("button", { type: "button" }, "points");
    button.addEventListener("click", () => {
      const keys = ["graph", "variant", "backend", "grid", "block", "knobs"];
      showPoints(Object.fromEntries(keys.map((key) => [key, row[this.keys.indexOf(key)] ?? ""])));
    });
    return button;
  }
}
