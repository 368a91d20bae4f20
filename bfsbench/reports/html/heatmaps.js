/* The time over grid and block on one graph. The reader chooses a search, and points at a cell for its details. */

/* Returns the ratio to the best time that has the darkest colour: the worst ratio of the map, within limits. */
function darkestOf(times) {
  return Math.min(10, Math.max(1.25, Math.max(...times) / Math.min(...times)));
}

class HeatMaps {
  constructor() {
    this.holder = element("div", { className: "scroll" });
    this.legend = element("div");
    this.facts = element("p", { className: "facts", role: "status" });
    this.points = element("button", { type: "button" }, "points");
    this.searches = chooser("search", [], () => this.draw());
    this.node = element("div", { id: "heatmaps" },
      element("h3", {}, "Time over grid and block"),
      element("p", { className: "note" }, "Search time (ms) by grid (blocks, down) and block (threads, across), each with its best knobs."),
      element("div", { className: "controls" }, this.searches.node),
      this.holder,
      this.legend,
      this.facts,
      this.points);
  }

  /* Offers these maps, and shows the largest of them first. */
  show(maps) {
    this.maps = maps;
    this.node.hidden = !maps.length;
    if (!maps.length) return;
    offer(this.searches.select, maps.map((map) => map.series));
    const largest = maps.reduce((a, b) => (b.cells.flat().length > a.cells.flat().length ? b : a));
    this.searches.select.value = largest.series;
    this.draw();
  }

  draw() {
    const map = this.maps.find(({ series }) => series === this.searches.select.value);
    this.facts.textContent = `${map.searched}: ${map.statistic}. Point at a cell, or move by arrow keys.`;
    this.points.hidden = true;
    const table = mapTable(map, (grid, block, words) => {
      this.facts.textContent = words;
      this.points.hidden = false;
      this.points.onclick = () => showPoints({ graph: map.name, variant: map.variant, grid, block });
    });
    this.holder.replaceChildren(table);
    this.legend.replaceChildren(ramp(darkestOf(timesOf(map))));
    moveByArrows(table);
    makeStop(table, table.querySelector("td[tabindex]"));
  }
}

/* Returns the table of a map. `tell` is called with the grid, block and description of a cell at which the reader points. */
function mapTable(map, tell) {
  const times = timesOf(map);
  const [best, darkest] = [Math.min(...times), darkestOf(times)];
  const head = element("tr", {}, element("th", {}, "grid \\ block"), ...map.blocks.map((block) => element("th", { scope: "col" }, shown(block))));
  const lines = map.cells.map((line, place) => element("tr", {},
    element("th", { scope: "row" }, map.grids[place]),
    ...line.map((cell, column) => mapCell(map, cell, map.grids[place], map.blocks[column], best, darkest, tell))));
  return element("table", { className: "map" }, element("thead", {}, head), element("tbody", {}, ...lines));
}

function timesOf(map) {
  return map.cells.flat().filter((cell) => cell && cell.ms).map((cell) => cell.ms);
}

function mapCell(map, cell, grid, block, best, darkest, tell) {
  if (cell === null) return element("td");
  const failed = cell === "failed";
  const node = element("td", { tabIndex: -1, className: failed ? "failed" : "time" }, failed ? "failed" : measured(cell.ms));
  let words = `grid ${grid}, block ${block}: no time, see Failures`;
  if (!failed) {
    const ratio = cell.ms / best;
    shade(node, ratio, darkest);
    const knobs = cell.knobs ? `, ${cell.knobs}` : "";
    words = `grid ${grid}, block ${block}${knobs}: ${measured(cell.ms)} ms, ${ratio.toFixed(2)} times the best of the map, `
      + `${cell.sources} ${cell.sources === 1 ? "source" : "sources"}`;
  }
  node.title = words;
  for (const event of ["pointerenter", "focus", "click"]) {
    node.addEventListener(event, () => tell(grid, block, words));
  }
  return node;
}
