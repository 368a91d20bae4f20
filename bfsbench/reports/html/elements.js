/* Functions that other scripts use: they make elements, write numbers for people, and make lists to choose from. */

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/* Returns a name that may be broken after punctuation, but not inside a word. */
function breakable(name) {
  const made = document.createDocumentFragment();
  for (const part of name.split(/(?<=[:,=_(-])/)) made.append(part, element("wbr"));
  return made;
}

function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const GROUPED = new Intl.NumberFormat("en");
const PLAIN = new Intl.NumberFormat("en", { useGrouping: false, maximumFractionDigits: 20 });
const FOUR_DIGITS = new Intl.NumberFormat("en", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 });
const THREE_DIGITS = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/* Returns a value as text. Numbers have all digits, and numbers from 10,000 on have commas between thousands. */
function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  return (value >= 10000 ? GROUPED : PLAIN).format(value);
}

/* Returns a measured number as text with four significant digits. */
function measured(value) {
  return value === null || value === undefined ? "" : FOUR_DIGITS.format(value);
}

/* Returns a ratio as text with three significant digits. A ratio above 999 is rounded to a whole number. */
function times(ratio) {
  if (ratio === null || ratio === undefined) return "";
  return ratio >= 999.5 ? GROUPED.format(Math.round(ratio)) : THREE_DIGITS.format(ratio);
}

/* Returns the grid, block and knobs of a cell in words. */
function launchOf({ grid, block, knobs }) {
  return [grid && `grid ${grid}`, block && `block ${block}`, knobs].filter(Boolean).join(", ");
}

function distinct(values) {
  return [...new Set(values)];
}

/* Returns a list to choose from, with a label. `changed` is called with the choice. */
function chooser(label, names, changed) {
  const select = element("select", {}, ...names.map((name) => element("option", { value: name }, name)));
  select.addEventListener("change", () => changed(select.value));
  return { node: element("label", {}, label, select), select };
}

/* Replaces the names in a list. The choice stays if the new names contain it. */
function offer(select, names) {
  const before = select.value;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(before)) select.value = before;
}

function section(id, title, ...children) {
  document.querySelector("nav").append(element("a", { href: `#${id}` }, title));
  const made = element("section", { id }, element("h2", {}, title), ...children);
  document.querySelector("main").append(made);
  return made;
}

/* Colours a cell by the ratio of its time to the best time. Ratios from `darkest` on have the darkest colour. */
function shade(cell, ratio, darkest) {
  const share = Math.min(1, Math.log(ratio) / Math.log(darkest));
  cell.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  cell.classList.add("time");
  cell.classList.toggle("deep", share > DEEP);
  cell.classList.toggle("best", ratio === 1);
}

const DEEP = 0.55; // with more of the dark colour, white numbers have more contrast than black numbers

/* Lets the tab key stop at only one cell of a table. Arrow keys move between cells that have a tabIndex. */
function moveByArrows(table) {
  const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  table.addEventListener("focusin", ({ target }) => target.tagName === "TD" && makeStop(table, target));
  table.addEventListener("keydown", (event) => {
    const from = event.target.closest("td");
    if (!from || !(event.key in moves)) return;
    event.preventDefault();
    const [down, across] = moves[event.key];
    let [line, column] = [from.parentElement.rowIndex, from.cellIndex];
    do [line, column] = [line + down, column + across];
    while (table.rows[line]?.cells[column]?.hasAttribute("tabindex") === false);
    table.rows[line]?.cells[column]?.focus();
  });
}

/* Makes a cell the only cell of the table at which the tab key stops. */
function makeStop(table, cell) {
  for (const other of table.querySelectorAll('td[tabindex="0"]')) other.tabIndex = -1;
  if (cell) cell.tabIndex = 0;
}

function ramp(darkest) {
  return element("div", { className: "key" }, "best", element("span", { className: "ramp" }), `${Number(darkest.toPrecision(3))} times the best and more`);
}
