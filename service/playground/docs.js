/** The documentation: a filter, and examples that are sent, answered readably, and written as programs. */

import { byId, h } from "./dom.js";
import { readable } from "./readable.js";
import { asCurl, asJavaScript, asPython, block } from "./snippets.js";

const JSON_TYPE = /^application\/(.*\+)?json\b/;
const TEXT_TYPE = /^text\/|^$/;

/** What each route says, without what is written below. */
const SAID = new Map(Array.from(document.querySelectorAll("section"), (section) => [section, section.textContent.toLowerCase()]));

byId("filter").addEventListener("input", () => {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  for (const [section, text] of SAID) {
    section.hidden = !words.every((word) => text.includes(word));
    document.querySelector(`nav a[href="#${section.querySelector("h2").id}"]`).hidden = section.hidden;
  }
});

/** The request of an example as it stands: its places filled in, its body on one line. */
function request(form) {
  const { method, path, answer } = form.dataset;
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.elements[name].value || name.toUpperCase()).replaceAll("%3A", ":").replaceAll("%40", "@"));
  const body = form.elements.body?.value;
  const isFile = answer && !JSON_TYPE.test(answer) && !TEXT_TYPE.test(answer);
  return {
    method, body, url: String(new URL(filled, document.baseURI)), json: body === undefined ? undefined : oneLine(body),
    key: "key" in form.dataset, isText: TEXT_TYPE.test(answer), file: isFile ? "answer.tar.gz" : undefined,
  };
}

/** Take the line breaks out of JSON: none is within a string. */
const oneLine = (json) => json.replace(/\n\s*/g, " ").trim();

function writePrograms(form) {
  const asked = request(form);
  form.querySelector(".programs").replaceChildren(
    block("curl", asCurl(asked)), block("Python", asPython(asked)), block("JavaScript", asJavaScript(asked)),
  );
}

async function send(form) {
  const out = form.querySelector("output");
  const show = (text) => out.replaceChildren(h("pre", { tabindex: "0" }, text));
  // The answer before would be taken for that of this request.
  out.replaceChildren();
  const { method, url, body } = request(form);
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const key = byId("key")?.value;
  if (key) headers.authorization = `Bearer ${key}`;
  try {
    const answer = await fetch(url, { method, headers, body });
    const kind = answer.headers.get("content-type") ?? "";
    if (!JSON_TYPE.test(kind) && !TEXT_TYPE.test(kind)) {
      show(`${answer.status}\n${(await answer.blob()).size} bytes of ${kind}`);
      return;
    }
    const text = await answer.text();
    show(`${answer.status}\n${JSON_TYPE.test(kind) ? readable(text) : text}`);
    if (answer.status === 202) follow(form.dataset.path, JSON.parse(text).id);
  } catch (error) {
    show(`no answer: ${error.message}`);
  }
}

/** Fill the id of a job that was submitted here into the examples below the path that took it. */
function follow(path, id) {
  for (const form of document.forms) {
    if (!form.elements.id || !form.dataset.path.startsWith(`${path}/`)) continue;
    form.elements.id.value = id;
    writePrograms(form);
  }
}

for (const field of document.querySelectorAll("input, textarea")) field.dir = "auto";
for (const form of document.forms) {
  writePrograms(form);
  form.addEventListener("input", () => writePrograms(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}
