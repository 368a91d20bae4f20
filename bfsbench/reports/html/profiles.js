/* Level profiles of several searches on one graph. Each search has a colour, and each kernel has a shape. A
   cursor shows the values of a level. */

const SHAPES = [ // functions that return a path around x, y; all shapes look about equally large
  (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (x, y, r) => `M${x},${y - 1.3 * r}l${1.2 * r},${2.3 * r}h${-2.4 * r}z`,
  (x, y, r) => `M${x},${y - 1.4 * r}l${1.4 * r},${1.4 * r}l${-1.4 * r},${1.4 * r}l${-1.4 * r},${-1.4 * r}z`,
  (x, y, r) => `M${x},${y + 1.3 * r}l${1.2 * r},${-2.3 * r}h${-2.4 * r}z`,
  (x, y, r) => `M${x - 1.3 * r},${y - r / 2}h${2.6 * r}v${r}h${-2.6 * r}z`,
  (x, y, r) => `M${x - r / 2},${y - 1.3 * r}h${r}v${2.6 * r}h${-r}z`,
  (x, y, r) => `M${x - 1.2 * r},${y - 1.2 * r}h${1.2 * r}v${2.4 * r}h${1.2 * r}v${-1.2 * r}h${-2.4 * r}z`,
];
const SEARCH_COLOURS = 8; // --search-0 and so on in page.css
const SELECTED_AT_FIRST = 6;
const MARKED_UP_TO = 150; // largest number of levels for which each level has a mark
const QUANTITIES = [
  { key: "frontier_size", label: "frontier (vertices)", unit: "vertices", text: shown },
  { key: "edges_inspected", label: "inspected (arcs)", unit: "arcs", text: shown },
  { key: "time_us", label: "time (µs)", unit: "µs", text: measured },
];

class Profiles {
  constructor() {
    this.legend = element("fieldset", { className: "searches" });
    this.kernels = element("div", { className: "kernels" });
    this.holder = element("div", { className: "profiles" });
    this.facts = element("div", { className: "facts", role: "status" });
    this.origin = element("p", { className: "note" });
    this.sources = chooser("source", [], () => this.list());
    this.node = element("div", { id: "profiles" },
      element("h3", {}, "Level profiles"),
      element("p", { className: "note" }, "Measured in a separate run, which is not among the timed runs. The last level of a launch includes the time of launching."),
      element("div", { className: "controls" }, this.sources.node),
      this.legend,
      this.kernels,
      this.holder,
      this.facts,
      this.origin);
    new ResizeObserver(() => this.shown?.length && this.width !== this.holder.clientWidth && this.draw()).observe(this.holder);
  }

  show(profiles) {
    this.profiles = profiles;
    this.node.hidden = !profiles.length;
    if (!profiles.length) return;
    const sources = distinct(profiles.map(({ source }) => String(source)));
    offer(this.sources.select, sources);
    this.sources.node.hidden = sources.length < 2;
    this.list();
  }

  /* Lists the searches from the chosen source. Searches at their fastest grid and block come first. */
  list() {
    const found = this.profiles.filter(({ source }) => String(source) === this.sources.select.value);
    const sorted = [...found.filter(({ fastest }) => fastest), ...found.filter(({ fastest }) => !fastest)];
    let selected = 0;
    this.boxes = sorted.map((profile, place) => {
      const box = element("input", { type: "checkbox", checked: profile.fastest && selected < SELECTED_AT_FIRST });
      selected += box.checked;
      box.addEventListener("change", () => this.draw());
      const colour = `var(--search-${place % SEARCH_COLOURS})`;
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = colour;
      return { profile, box, colour, node: element("label", {}, box, swatch, profile.search) };
    });
    this.legend.replaceChildren(element("legend", {}, "searches"), ...this.boxes.map(({ node }) => node));
    this.draw();
  }

  draw() {
    this.shown = this.boxes.filter(({ box }) => box.checked);
    const marked = this.shown.filter(({ profile }) => profile.level.length <= MARKED_UP_TO);
    const mixed = marked.map(({ profile }) => distinct(profile.kernel)).filter((names) => names.length > 1);
    this.shapes = distinct(mixed.flat()).sort();
    this.kernels.replaceChildren(...this.shapes.map((name, place) => element("span", {},
      drawing("svg", { viewBox: "-6 -6 12 12" }, drawing("path", { d: SHAPES[place % SHAPES.length](0, 0, 4), fill: "currentColor" })), `level by ${name}`)));
    this.origin.textContent = distinct(this.shown.map(({ profile }) => profile.origin)).map((from) => `From ${from}.`).join(" ");
    this.facts.textContent = this.shown.length ? "Point at a level, or use the arrow keys, for its values." : "Choose a search.";
    this.width = this.holder.clientWidth;
    this.holder.replaceChildren(...(this.shown.length ? [profileChart(this)] : []));
  }

  /* Shows the values of a level, with one line per search. */
  tell(level) {
    const lines = this.shown.map(({ profile, colour }) => {
      const place = profile.level.indexOf(level);
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = colour;
      const values = QUANTITIES.map(({ key, text }) => element("td", { className: "number" }, place < 0 ? "" : text(profile[key][place])));
      return element("tr", {}, element("th", { scope: "row" }, swatch, profile.search), ...values, element("td", {}, place < 0 ? "" : profile.kernel[place]));
    });
    const heads = [`level ${shown(level)}`, ...QUANTITIES.map(({ unit }) => unit), "kernel"];
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
    this.facts.replaceChildren(element("table", { className: "level" }, element("thead", {}, head), element("tbody", {}, ...lines)));
  }
}
