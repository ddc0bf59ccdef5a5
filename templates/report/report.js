// Starts the page: draws, and shows the chosen operator everywhere.

function row(list, name, text) {
  const [term, told] = [document.createElement("dt"), document.createElement("dd")];
  term.textContent = name;
  told.textContent = text;
  list.append(term, told);
}

/** Return a tensor's shape, type and quantization. */
function operandText(operand) {
  const parts = [`${operand.shape.join(" × ") || "scalar"} ${operand.dtype}`];
  const digits = (scale) => Number(scale.toPrecision(5));
  if (operand.scales === 1) parts.push(`scale ${digits(operand.least_scale)}`);
  if (operand.scales > 1) parts.push(`${operand.scales} scales from ${digits(operand.least_scale)} to ${digits(operand.most_scale)}`);
  if (operand.zero_point !== null) parts.push(`zero point ${operand.zero_point}`);
  return parts.join(", ");
}

function showFacts(layer) {
  byId("facts-title").textContent = `${layer.operator} ${layer.code}`;
  const list = byId("facts-list");
  list.replaceChildren();
  row(list, "runs on", place(layer) + (layer.partition ? `, ${layer.partition}` : ""));
  row(list, "because", layer.reason);
  if (layer.merged_into !== null) row(list, "computed with", `${layer.merged_into}`);
  if (layer.cycles !== null) row(list, "NPU cycles", number(layer.cycles));
  if (layer.cpu !== null) row(list, `CPU ${report.costs.cpu_unit}`, number(layer.cpu));
  if (layer.share !== null) row(list, "share", percent(layer.share));
  row(list, "MACs", number(layer.macs));
  if (layer.utilisation !== null) row(list, "MAC units busy", percent(layer.utilisation));
  for (const [name, value] of Object.entries(layer.attributes)) row(list, name, value);
  for (const operand of layer.operands) row(list, operand.role, operandText(operand));
  row(list, "constants", `${number(layer.constant_bytes)} B`);
  if (layer.encoded_bytes !== null) row(list, "as the NPU reads them", `${number(layer.encoded_bytes)} B`);
  if (layer.erratum) row(list, "erratum", layer.erratum);
  row(list, "tensor", layer.output);
}

/** Show a layer's facts, and mark it in every chart and table. */
function choose(index) {
  const layer = report.layers[index];
  if (layer === undefined) return;
  for (const old of document.querySelectorAll(".chosen")) {
    old.classList.remove("chosen");
    if (old.matches(".node")) old.setAttribute("tabindex", -1);
  }
  for (const one of document.querySelectorAll(`[data-layer="${index}"]`)) {
    one.classList.add("chosen");
    if (one.matches(".node")) one.setAttribute("tabindex", 0);
  }
  reveal(index);
  showFacts(layer);
}

function chooseByAddress() {
  const found = /^#layer-(\d+)$/.exec(location.hash);
  if (found) choose(Number(found[1]));
}

const reveal = drawGraph();
for (const slider of document.querySelectorAll("[data-widens]")) widen(slider);
startSearch(choose);
addEventListener("resize", fitLabelsSoon);
document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-layer]");
  if (!found || event.target.closest("thead")) return;
  choose(Number(found.dataset.layer));
  if (found.closest("#graph")) event.preventDefault();
});
addEventListener("hashchange", chooseByAddress);
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});
if (report.layers.length) {
  const hottest = report.layers.reduce((one, other) => ((other.share ?? 0) > (one.share ?? 0) ? other : one));
  choose(hottest.operator);
}
chooseByAddress();
fitLabels();
document.documentElement.dataset.ready = "true";
