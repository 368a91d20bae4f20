/* Level profiles: frontier and time a level, coloured and shaped by kernel; a cursor tells one level's values. */

const WIDE = { width: 1000, panel: 210, left: 96, right: 12, top: 22, gap: 44, ticks: 8 };
const NARROW = { ...WIDE, width: 400, panel: 140, left: 54, ticks: 4 };
const SHAPES = [ // around 0, each about as large to the eye
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.3 * r}L${1.2 * r},${r}H${-1.2 * r}z`,
  (r) => `M0,${-1.4 * r}L${1.4 * r},0L0,${1.4 * r}L${-1.4 * r},0z`,
  (r) => `M0,${1.3 * r}L${1.2 * r},${-r}H${-1.2 * r}z`,
  (r) => `M${-1.3 * r},${-r / 2}H${1.3 * r}V${r / 2}H${-1.3 * r}z`,
];

function drawProfiles(profiles) {
  const holder = element("div");
  const facts = element("p", { className: "facts", role: "status" });
  const origin = element("p", { className: "note" });
  const legend = element("div", { className: "kernels" });
  const draw = () => {
    const of = profiles.filter((profile) => profile.graph === graphs.select.value);
    offer(searches.select, of.map((profile) => profile.search));
    const profile = of.find((found) => found.search === searches.select.value);
    const kernels = distinct(profile.kernel).sort();
    legend.replaceChildren(...kernels.map((name, place) => element("span", {},
      drawing("svg", { viewBox: "-6 -6 12 12" }, mark(place, 4, 0, 0)), name)));
    origin.textContent = `From ${profile.origin}`;
    facts.textContent = "Hover, tap or use the arrow keys for the values of a level.";
    const box = holder.clientWidth < 600 ? NARROW : WIDE; // so that its letters can be read
    holder.replaceChildren(profileChart(box, profile, kernels, facts));
  };
  const graphs = chooser("graph", distinct(profiles.map((profile) => profile.graph)), draw);
  const searches = chooser("search", distinct(profiles.map((profile) => profile.search)), draw);
  section(
    "profiles",
    "Level profiles",
    element("p", { className: "note" }, "From a run of its own that is not among the timed ones; the last level of a launch also has what launching took. Colours and shapes are kernels or layers of one."),
    element("div", { className: "controls" }, graphs.node, searches.node),
    legend,
    holder,
    facts,
    origin,
  );
  draw();
}

function mark(kernel, radius, x, y) {
  const place = kernel % SHAPES.length;
  const transform = `translate(${x.toFixed(1)},${y.toFixed(1)})`;
  return drawing("path", { d: SHAPES[place](radius), fill: `var(--kernel-${place})`, transform });
}

function profileChart(box, profile, kernels, facts) {
  const height = box.top + 2 * box.panel + box.gap + 40;
  const chart = drawing("svg", { class: "profile", viewBox: `0 0 ${box.width} ${height}`, tabindex: "0", role: "img" });
  chart.setAttribute("aria-label", `Frontier and time by level of ${profile.search} on ${profile.graph}`);
  const last = Math.max(1, ...profile.level);
  const across = (level) => box.left + (level / last) * (box.width - box.left - box.right);
  const bottom = box.top + 2 * box.panel + box.gap;
  profilePanel(box, chart, profile, kernels, profile.frontier_size, "frontier (vertices)", box.top, across);
  profilePanel(box, chart, profile, kernels, profile.time_us, "time (µs)", box.top + box.panel + box.gap, across);
  const step = Math.max(1, niceStep(last / box.ticks));
  for (let level = 0; level <= last; level += step) {
    chart.append(drawing("text", { x: across(level), y: bottom + 18, "text-anchor": "middle" }, shown(level)));
  }
  chart.append(drawing("text", { x: (box.left + box.width) / 2, y: bottom + 36, "text-anchor": "middle" }, "level"));
  follow(box, chart, profile, across, last, bottom, facts);
  return chart;
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
}

function profilePanel(box, chart, profile, kernels, values, label, top, across) {
  const known = values.filter((value) => value > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(...known)));
  const high = Math.max(10 * low, 10 ** Math.ceil(Math.log10(Math.max(...known))));
  const down = (value) => top + box.panel * (1 - Math.log(value / low) / Math.log(high / low));
  for (let tick = low; tick <= high * 1.001; tick *= 10) {
    chart.append(drawing("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: down(tick), y2: down(tick) }));
    chart.append(drawing("text", { x: box.left - 6, y: down(tick) + 4, "text-anchor": "end" }, shown(tick)));
  }
  chart.append(drawing("text", { x: box.left, y: top - 8 }, label));
  const path = profile.level.flatMap((level, place) =>
    values[place] > 0 ? [`${across(level).toFixed(1)},${down(values[place]).toFixed(1)}`] : []);
  chart.append(drawing("polyline", { class: "path", points: path.join(" ") }));
  const radius = profile.level.length < 100 ? 5 : 2;
  profile.level.forEach((level, place) => {
    if (values[place] > 0) {
      chart.append(mark(kernels.indexOf(profile.kernel[place]), radius, across(level), down(values[place])));
    }
  });
}

/* A line at the level nearest to the pointer, or moved by arrow keys, and its values in words. */
function follow(box, chart, profile, across, last, bottom, facts) {
  const cursor = drawing("line", { class: "cursor", y1: box.top, y2: bottom, visibility: "hidden" });
  chart.append(cursor);
  let place = 0;
  const show = (next) => {
    place = Math.min(profile.level.length - 1, Math.max(0, next));
    const x = across(profile.level[place]);
    for (const [key, value] of Object.entries({ x1: x, x2: x, visibility: "visible" })) cursor.setAttribute(key, value);
    const edges = profile.edges_inspected[place];
    facts.textContent = `level ${profile.level[place]}: ${shown(profile.frontier_size[place])} vertices, `
      + `${edges === null ? "" : `${shown(edges)} edges inspected, `}${measured(profile.time_us[place])} µs, `
      + `kernel ${profile.kernel[place]}`;
  };
  const point = (event) => {
    const frame = chart.getBoundingClientRect();
    const x = ((event.clientX - frame.left) / frame.width) * box.width;
    const level = ((x - box.left) / (box.width - box.left - box.right)) * last;
    const distances = profile.level.map((known) => Math.abs(known - level));
    show(distances.indexOf(Math.min(...distances)));
  };
  chart.addEventListener("pointermove", point);
  chart.addEventListener("pointerdown", point);
  chart.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(place + steps[event.key]);
  });
}
