/** The view of an audit: its points with their evidence. */

import { byId, h, said, tell } from "./dom.js";

const SIGNS = { passed: "✓", failed: "✗", not_applicable: "–" };
let app, audited = null;

export function create(given) {
  app = given;
  byId("run-audit").addEventListener("click", run);
}

export function show() {
  if (audited !== app.tokenizer) {
    byId("points").replaceChildren();
    byId("audit-verdict").textContent = "";
  }
}

async function run() {
  const button = byId("run-audit");
  const reference = app.tokenizer;
  button.disabled = true;
  tell(byId("audit-error"), null);
  byId("audit-verdict").textContent = "The audit runs…";
  try {
    const { points, ok, name } = await app.client.check(reference);
    audited = reference;
    byId("audit-verdict").textContent = ok ? `${name}: no point failed.` : `${name}: ${points.filter((point) => point.status === "failed").length} points failed.`;
    byId("points").replaceChildren(...points.map((point) => h(
      "li", { class: point.status },
      h("details", {},
        h("summary", {}, h("span", { class: "sign", "aria-label": point.status.replace("_", " "), role: "img" }, SIGNS[point.status]), ` ${point.name}`, h("span", { class: "hint" }, point.summary)),
        h("pre", { tabindex: "0" }, JSON.stringify(point.evidence, null, 1))),
    )));
  } catch (error) {
    byId("audit-verdict").textContent = "";
    if (!app.failed(error)) tell(byId("audit-error"), said(error));
  } finally {
    button.disabled = false;
    button.focus();
  }
}
