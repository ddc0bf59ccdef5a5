// Finds operators by number, code, tensor, place, attribute or reason.

/** Return a text in lower case, with "3 × 3" and "3x3" alike. */
const plain = (text) => text.toLowerCase().replace(/(\d)\s*[×x*]\s*(?=\d)/g, "$1×");

/** Return what is searched of a layer; an attribute is "stride=2×2". */
function searched(layer) {
  const attributes = Object.entries(layer.attributes).map(([name, value]) => `${name}=${value}`);
  return plain([layer.operator, layer.code, layer.output, place(layer), layer.partition, ...attributes, layer.reason].join(" "));
}

/** Let the search boxes choose operators with `chosen`; all of them show the same words. */
function startSearch(chosen) {
  const boxes = [...document.querySelectorAll("[data-search]")];
  const texts = report.layers.map(searched);
  let found = [];
  let at = -1;
  const find = (text) => {
    const words = plain(text).split(/\s+/).filter(Boolean);
    found = words.length ? report.layers.filter((_, i) => words.every((word) => texts[i].includes(word))) : [];
    at = -1;
    const matching = new Set(found.map((layer) => layer.operator));
    for (const box of boxes) box.value = text;
    for (const one of document.querySelectorAll("#graph .node, #graph-map [data-node]")) {
      one.classList.toggle("dim", words.length > 0 && !matching.has(Number(one.dataset.layer ?? one.dataset.node)));
    }
    for (const row of document.querySelectorAll("#layers tr[data-layer]")) {
      row.hidden = words.length > 0 && !matching.has(Number(row.dataset.layer));
    }
    const said = words.length ? `${found.length} of ${report.layers.length}` : "";
    for (const output of document.querySelectorAll("[data-found]")) output.textContent = said;
  };
  for (const box of boxes) {
    box.addEventListener("input", () => find(box.value));
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") find("");
      if (event.key !== "Enter" || found.length === 0) return;
      at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
      if (at < 0) at = found.length - 1;
      chosen(found[at].operator);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea")) return;
    event.preventDefault();
    boxes[0].focus();
  });
}
