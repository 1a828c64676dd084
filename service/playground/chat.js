/** The view of a chat: who wrote what, and what is trained on. */

import { byId, h, number, said, tell } from "./dom.js";
import { drawable, guard, put, textOf } from "./field.js";
import { writeFragment } from "./fragment.js";
import { Latest } from "./latest.js";
import { asChatInPython, asCurl, block } from "./snippets.js";
import { markOf } from "./token_view.js";
import { visibleParts } from "./visible.js";

const ROLES = ["system", "user", "assistant", "tool"];
const FIRST = [
  { role: "system", content: "You are brief." },
  { role: "user", content: "What is a token? <|im_end|>" },
  { role: "assistant", content: "A piece of text with a number." },
];
/** More characters of a chat are not drawn. */
const MOST = 50_000;
const latest = new Latest(), latestParsed = new Latest();
let app, messages = FIRST;

export function create(given) {
  app = given;
  try {
    messages = app.state.chat ? checked(JSON.parse(app.state.chat)) : FIRST;
  } catch { /* A fragment that is no chat is a new page. */ }
  byId("tools").value = app.state.tools ?? "";
  byId("arguments").value = app.state.arguments ?? "";
  for (const id of ["tools", "arguments"]) byId(id).addEventListener("input", show);
  for (const id of ["generation", "mask", "labels"]) {
    byId(id).checked = app.state[id] === "1";
    byId(id).addEventListener("change", show);
  }
  guard(byId("written"));
  byId("written").addEventListener("input", parse);
  byId("add-message").addEventListener("click", () => {
    messages = [...messages, { role: messages.at(-1)?.role === "user" ? "assistant" : "user", content: "" }];
    list();
    show();
    byId("messages").lastChild.querySelector("textarea").focus();
  });
  list();
}

function checked(found) {
  if (!Array.isArray(found) || !found.every((each) => typeof each?.content === "string" && typeof each?.role === "string")) throw new TypeError("no chat");
  return found;
}

function list() {
  byId("messages").replaceChildren(...messages.map((message, index) => {
    const roles = ROLES.includes(message.role) ? ROLES : [...ROLES, message.role];
    const role = h("select", { "aria-label": `Role of message ${index + 1}` }, ...roles.map((each) => h("option", { value: each }, each)));
    role.value = message.role;
    role.addEventListener("change", () => change(index, { role: role.value }));
    const content = h("textarea", { rows: "2", dir: "auto", spellcheck: "false", "aria-label": `Content of message ${index + 1}` });
    const box = h("div", { class: "message" }, content);
    guard(content);
    put(content, message.content);
    content.addEventListener("input", () => change(index, { content: textOf(content) }));
    const remove = h("button", { type: "button", "aria-label": `Remove message ${index + 1}`, onclick: () => {
      messages = messages.toSpliced(index, 1);
      list();
      show();
      byId("add-message").focus();
    } }, "Remove");
    box.prepend(h("div", { class: "row" }, role, remove));
    return box;
  }));
}

function change(index, fields) {
  messages = messages.with(index, { ...messages[index], ...fields });
  show();
}

function json(id, label) {
  const text = byId(id).value.trim();
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${label}: this is not JSON: ${error.message}`);
  }
}

export function show() {
  writeFragment({
    chat: messages === FIRST ? null : JSON.stringify(messages), tools: byId("tools").value || null, arguments: byId("arguments").value || null,
    ...Object.fromEntries(["generation", "mask", "labels"].map((id) => [id, byId(id).checked ? "1" : null])),
  });
  parse();
  latest.run(async () => {
    const body = { messages, tools: json("tools", "Tools"), template_args: json("arguments", "Template arguments"), add_generation_prompt: byId("generation").checked || undefined, tokenizer: app.tokenizer };
    const parts = ["ids", "count", "spans", "assistant_mask", "labels", "reserved_literals"];
    const rendered = await app.client.render(body);
    return [body, rendered, await app.client.encode({ ...body, return: parts })];
  }, draw, (error) => {
    for (const id of ["rendered", "legend", "chat-count", "chat-code"]) byId(id).replaceChildren();
    tell(byId("chat-error"), app.failed(error) ? null : said(error));
  });
}

/** Read the answer that a model wrote to the messages. */
function parse() {
  const text = textOf(byId("written"));
  latestParsed.run(async () => {
    if (!text) return null;
    const body = { outputs: [{ text }], messages, tools: json("tools", "Tools"), template_args: json("arguments", "Template arguments"), tokenizer: app.tokenizer };
    return (await app.client.parse(body)).outputs[0];
  }, (found) => {
    byId("parsed").textContent = found ? JSON.stringify(found.message, null, 2) : "";
    byId("parsed-state").textContent = found ? stateOf(found) : "";
  }, (error) => {
    byId("parsed").textContent = "";
    byId("parsed-state").textContent = app.failed(error) ? "" : said(error);
  });
}

function stateOf({ exact, difference, unfinished, malformed }) {
  const told = exact ? ["The message renders back to this text."] : [`Rendered, it differs at character ${difference.at}: ${JSON.stringify(difference.rendered)} in place of ${JSON.stringify(difference.written)}.`];
  if (unfinished) told.push(`Unfinished: ${unfinished}.`);
  for (const { reason, start, end } of malformed) told.push(`Characters ${start} to ${end}: ${reason}.`);
  return told.join(" ");
}

function draw([body, rendered, encoded]) {
  tell(byId("chat-error"), null);
  // Spans are in characters; a string of JavaScript is in halves of them.
  const all = [...rendered.text];
  const characters = all.slice(0, MOST);
  const authors = Array(characters.length).fill("template");
  for (const { message, start, end, field } of rendered.spans) {
    authors.fill(message === null ? field.split(/[.[]/)[0] : body.messages[message].role, start, end);
  }
  const marks = characters.map(() => new Set());
  const mark = (name, [start, end]) => { for (let at = start; at < Math.min(end, characters.length); at++) marks[at].add(name); };
  encoded.reserved_literals.forEach(({ start, end }) => mark("literal", [start, end]));
  encoded.spans.forEach((span, index) => {
    if (byId("mask").checked && encoded.assistant_mask[index]) mark("masked", span);
    if (byId("labels").checked && encoded.labels[index] !== -100) mark("labelled", span);
  });
  const root = byId("rendered");
  root.replaceChildren();
  let start = 0, content;
  const key = (at) => `author-${ROLES.includes(authors[at]) || authors[at] === "template" ? authors[at] : "other"} ${[...marks[at]].join(" ")}`;
  for (let at = 1; at <= characters.length; at++) {
    if (at < characters.length && key(at) === key(start)) continue;
    const run = h("span", { class: key(start), title: authors[start] });
    for (const [text, isMark] of visibleParts(drawable(characters.slice(start, at).join("")), false)) {
      run.append(isMark ? markOf(text) : text);
      if (text === "↵") run.append("\n");
    }
    // Marks within a content leave its direction as it is.
    if (!start || authors[start] !== authors[start - 1]) root.append(content = h("bdi"));
    content.append(run);
    start = at;
  }
  if (all.length > MOST) root.append(h("span", { class: "author-template" }, `… ${number.format(all.length - MOST)} characters more`));
  const seen = new Map(authors.map((author, at) => [author, key(at).split(" ")[0]]));
  const names = [...seen].map(([author, colour]) => h("span", { class: colour }, author));
  if (encoded.reserved_literals.length) names.push(h("span", { class: "literal" }, "reserved literal, taken as text"));
  if (byId("mask").checked) names.push(h("span", { class: "masked" }, "assistant mask"));
  if (byId("labels").checked) names.push(h("span", { class: "labelled" }, "trained on"));
  byId("legend").replaceChildren(...names);
  const trained = encoded.labels.filter((label) => label !== -100).length;
  byId("chat-count").textContent = `${number.format(encoded.count)} tokens, ${number.format(trained)} of them trained on`;
  const sent = JSON.parse(JSON.stringify({ ...body, return: ["ids", "labels"] }));
  const base = app.client.base.replace(/\/$/, "");
  byId("chat-code").replaceChildren(block("curl", asCurl({ method: "POST", url: `${base}/encode`, json: JSON.stringify(sent), key: Boolean(app.client.key) })), block("Python", asChatInPython(base, sent, app.client.key)));
}
