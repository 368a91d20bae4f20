/* The matrix of searches by graphs: ratios to the best time of each graph. The best searches come first. */

const MATRIX_DARKEST = 30; // the ratio to the best time that has the darkest colour

class Matrix {
  constructor(kind, chosen) {
    this.kind = kind;
    this.chosen = chosen; // called with the graph of a cell
    this.graphs = kind.graphs.map((graph, place) => ({ ...graph, place })).filter((graph) => graph.compared);
    this.searches = kind.searches.filter((search) => this.graphs.some(({ place }) => search.cells[place]));
    this.facts = element("p", { className: "facts", role: "status" }, "Point at a cell, or move by arrow keys; Enter shows the graph alone.");
    this.body = element("tbody");
    this.columns = this.figures();
    this.table = element("table", { className: "map matrix" }, this.head(), this.body);
    moveByArrows(this.table);
    section(
      `matrix${kind.key}`,
      `Searches by graphs${kind.heading ? `, ${kind.heading}` : ""}`,
      element("p", { className: "note" }, this.note()),
      element("div", { className: "scroll tall" }, this.table),
      ramp(MATRIX_DARKEST),
      this.facts,
      ...kind.notes.map((note) => element("p", { className: "note" }, note)),
    );
    this.sort(this.columns[0]);
  }

  note() {
    const left = this.kind.graphs.length - this.graphs.length;
    const alone = left ? ` ${left} ${left === 1 ? "graph is" : "graphs are"} left out, because only one search has times, or because the number of sources is unusual.` : "";
    const fewer = this.lacking() ? ` Searches with times on fewer graphs come later: their means are over fewer graphs, which may be easier; "times ${this.searches[0].name}" is over the graphs on which both searches have times.` : "";
    return `Each time is divided by the time of the best search of the graph; the mean is geometric, over graphs. A time is ${this.kind.statistic}, of equally many repeats; "by medians": ${this.kind.typical}.${fewer}${alone}`;
  }

  /* Returns whether a search lacks a comparable time on any graph. */
  lacking() {
    return this.searches.some((search) => search.graphs < this.graphs.length);
  }

  /* Returns the columns beside the ratios, such as the geometric mean. */
  figures() {
    const run = (search) => this.graphs.filter(({ place }) => search.cells[place]).length; // with a time or without
    const figures = [
      { label: "geometric mean", value: (search) => search.mean, text: times, shaded: true },
      { label: "by medians", value: (search) => search.typical, text: times, extra: true },
      { label: "worst", value: (search) => search.worst, text: times, shaded: true },
      { label: "best on", value: (search) => -search.best, text: (value, search) => `${-value} of ${run(search)}`, extra: true },
    ];
    if (this.lacking()) {
      figures.push({ label: `times ${this.searches[0].name}`, value: (search) => search.against_first, text: times, extra: true });
      figures.push({ label: "graphs", value: (search) => -search.graphs, text: (value) => String(-value), extra: true });
    }
    if (this.searches.some((search) => search.prepared !== null)) {
      figures.push({ label: "preprocessing (ms)", value: (search) => search.prepared, text: measured, extra: true });
    }
    return figures;
  }

  head() {
    const button = (label, title, column) => {
      const made = element("button", { type: "button", title }, label);
      made.addEventListener("click", () => this.sort(column));
      column.header = element("th", { scope: "col", className: column.extra ? "extra" : "" }, made);
      return column.header;
    };
    for (const graph of this.graphs) graph.value = (search) => search.cells[graph.place]?.ratio ?? null;
    return element("thead", {}, element("tr", {},
      element("th", { scope: "col", className: "frozen-0" }, "search"),
      ...this.columns.map((column) => button(column.label, `Sort by ${column.label}`, column)),
      ...this.graphs.map((graph) => button(element("span", { className: "graph" }, breakable(graph.short)), `${graph.title}, ${graph.searched}: sort by it`, graph))));
  }

  /* Sorts the searches by a column, with the least value first. Sorting by the mean keeps their given order. */
  sort(column) {
    for (const other of [...this.columns, ...this.graphs]) other.header.removeAttribute("aria-sort");
    column.header.setAttribute("aria-sort", "ascending");
    const least = (search) => column.value(search) ?? Infinity;
    const sorted = column === this.columns[0] ? this.searches : [...this.searches].sort((a, b) => (least(a) < least(b) ? -1 : least(a) > least(b) ? 1 : 0));
    this.body.replaceChildren(...sorted.map((search) => this.line(search)));
    makeStop(this.table, this.table.querySelector("td[tabindex]"));
  }

  line(search) {
    const figures = this.columns.map(({ value, text, shaded, extra }) => {
      const found = value(search);
      const cell = element("td", { className: extra ? "figure extra" : "figure" }, found === null ? "" : text(found, search));
      if (shaded && found !== null) shade(cell, found, MATRIX_DARKEST);
      return cell;
    });
    const name = element("th", { scope: "row", className: "frozen-0", title: search.name }, breakable(search.name));
    name.classList.toggle("host", search.host);
    return element("tr", {}, name, ...figures, ...this.graphs.map((graph) => this.cell(search, graph)));
  }

  cell(search, graph) {
    const found = search.cells[graph.place];
    if (!found) return element("td", { title: "not run" });
    const timed = isTimed(found);
    const cell = element("td", { tabIndex: -1 }, timed ? (times(found.ratio) || `${measured(found.ms)} ms`) + (found.changed ? "†" : "") : found);
    if (!timed) cell.className = "failed";
    else if (found.ratio) shade(cell, found.ratio, MATRIX_DARKEST);
    const reason = found === "failed" ? "no time, see Failures" : "no time from all sources: not compared";
    const told = !timed ? reason : `${measured(found.ms)} ms, median ${measured(found.median)} ms`
      + (found.ratio ? `, ${times(found.ratio)} times the best` : ", not compared")
      + `, ${launchOf(found)}`;
    const words = `${search.name} on ${graph.title}, ${graph.searched}: ${told}`;
    cell.setAttribute("aria-label", words);
    for (const event of ["pointerenter", "focus"]) cell.addEventListener(event, () => (this.facts.textContent = words));
    cell.addEventListener("click", () => this.chosen(graph.title));
    cell.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // the list of graphs gets the focus, but must not open
      this.chosen(graph.title);
    });
    return cell;
  }
}
