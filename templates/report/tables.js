// Sorts the rows of a table by a click on a column's title: upwards, downwards, as they were. In a
// narrow window, a row is a block.
const FEWEST_ROWS = 3;

/** Return a cell's number or text; null for an empty one, which stays last. */
function cellValue(row, at) {
  const text = (row.cells[at]?.textContent ?? "").trim();
  if (text === "" || text === "-" || text === "not known") return null;
  const value = Number(text.replace(/[,%\s]/g, ""));
  return Number.isNaN(value) ? text : value;
}

function compareValues(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one.localeCompare(other, "en", { numeric: true });
}

/** Return the rows in the order of a column; the last ones are those that have no value. */
function sortedRows(rows, at, direction) {
  const values = new Map(rows.map((row) => [row, cellValue(row, at)]));
  return [...rows].sort((one, other) => {
    const [first, second] = [values.get(one), values.get(other)];
    if (first === null || second === null) return (first === null) - (second === null);
    return direction * compareValues(first, second);
  });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const titles = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (titles.length === 0 || body.rows.length < FEWEST_ROWS) return;
  const original = [...body.rows].filter((row) => !row.classList.contains("rest"));
  const last = [...body.rows].filter((row) => row.classList.contains("rest"));
  titles.forEach((title, at) => {
    if (original.slice(0, 50).every((row) => cellValue(row, at) === null)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "none" }[title.getAttribute("aria-sort")] ?? "ascending";
      for (const other of titles) other.removeAttribute("aria-sort");
      if (next !== "none") title.setAttribute("aria-sort", next);
      const sorted = next === "none" ? original : sortedRows(original, at, next === "ascending" ? 1 : -1);
      body.append(...sorted, ...last);
    });
  });
}

/** Name each cell's column in the cell, for narrow windows, which show a row as a block. */
function labelCells(table) {
  const titles = [...(table.tHead?.rows[0].cells ?? [])].map((title) => title.textContent);
  if (titles.length < 3 || table.classList.contains("labelled")) return;
  table.classList.add("labelled");
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => { if (cell.colSpan === 1) cell.dataset.label = titles[at]; });
  }
}

const narrow = matchMedia("(max-width: 40rem)");
const tables = [...document.querySelectorAll("table")];
const labelAll = () => { if (narrow.matches) tables.forEach(labelCells); };
tables.forEach(makeSortable);
labelAll();
narrow.addEventListener("change", labelAll);
