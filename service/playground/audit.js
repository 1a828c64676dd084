/** The view of an audit: its points with their evidence, of a tokenizer that is loaded or of a file. */

import { byId, h, said, tell } from "./dom.js";
import { readable } from "./readable.js";

const SIGNS = { passed: "✓", failed: "✗", not_applicable: "–" };
let app, audited = null, running = false;

export function create(given) {
  app = given;
  byId("run-audit").addEventListener("click", () => {
    const reference = app.tokenizer;
    run(byId("run-audit"), reference, () => app.client.check(reference));
  });
  byId("audit-file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await run(event.target, file, () => app.client.checkFile(file));
    // The same file is read again when it is chosen again.
    event.target.value = "";
  });
}

export async function show() {
  enable();
  if (audited !== app.tokenizer && !(audited instanceof File)) clear();
  try {
    byId("audit-upload").hidden = !(await app.description()).paths["/check"];
  } catch (error) {
    if (!app.failed(error)) tell(byId("audit-error"), said(error));
  }
}

/** Let nobody begin an audit while one runs, nor before the tokenizers are known. */
function enable() {
  byId("run-audit").disabled = running || !app.tokenizer;
  byId("audit-file").disabled = running;
}

function clear() {
  audited = null;
  byId("points").replaceChildren();
  byId("audit-verdict").textContent = "";
  tell(byId("audit-error"), null);
}

async function run(control, what, check) {
  running = true;
  enable();
  clear();
  byId("audit-verdict").textContent = "The audit runs…";
  try {
    const { points, ok, name } = await check();
    audited = what;
    byId("audit-verdict").textContent = ok ? `${name}: no point failed.` : `${name}: ${points.filter((point) => point.status === "failed").length} points failed.`;
    byId("points").replaceChildren(...points.map((point) => h(
      "li", { class: point.status },
      h("details", {},
        h("summary", {}, h("span", { class: "sign", "aria-label": point.status.replace("_", " "), role: "img" }, SIGNS[point.status]), ` ${point.name}`, h("span", { class: "hint" }, point.summary)),
        h("pre", { tabindex: "0" }, readable(JSON.stringify(point.evidence)))),
    )));
  } catch (error) {
    byId("audit-verdict").textContent = "";
    if (!app.failed(error)) tell(byId("audit-error"), said(error));
  } finally {
    running = false;
    enable();
    control.focus();
  }
}
