// What the other files share: the report's data, and small helpers.
const report = JSON.parse(document.getElementById("report").textContent);
const byId = (id) => document.getElementById(id);
const number = (value) => (value === null ? "not known" : value.toLocaleString("en-US"));
const percent = (value) => (value === null ? "not known" : `${(100 * value).toFixed(1)}%`);
const limited = (value, least, most) => Math.min(Math.max(value, least), most);
const KINDS = { npu: "npu", cpu: "cpu", "": "gone" };
const kind = (layer) => KINDS[layer.on] ?? "other";
const place = (layer) => (layer.on === "" ? "nowhere" : layer.on.length === 3 ? layer.on.toUpperCase() : layer.on);
const mostShare = report.layers.reduce((most, layer) => Math.max(most, layer.share ?? 0), 1e-9);

/** Return the part of a tensor's name that tells it from others. */
function short(name, longest) {
  const text = name.split(";")[0].split("/").slice(-2).join("/");
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/** Add an element of SVG. */
function element(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

/** Return by what a turn of the wheel zooms; null if it should scroll the page. */
function wheelFactor(event, box) {
  if (!event.ctrlKey && !event.metaKey && !box.matches(":focus-within")) return null;
  const pixels = event.deltaY * (event.deltaMode === 0 ? 1 : 30);
  return Math.exp(-0.005 * limited(pixels, -60, 60));
}

/** Return by what a key zooms: 0 for the whole, null if it does something else. */
function keyFactor(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  return { "+": 1.3, "=": 1.3, "-": 1 / 1.3, _: 1 / 1.3, 0: 0 }[event.key] ?? null;
}
