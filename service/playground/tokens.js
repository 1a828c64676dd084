/** The view of a text and its tokens. */

import { cut } from "./cut.js";
import { byId, copy, h, number, said, tell } from "./dom.js";
import { guard, put, textOf } from "./field.js";
import { writeFragment } from "./fragment.js";
import { Latest } from "./latest.js";
import { TokenView } from "./token_view.js";
import { visible } from "./visible.js";

const FIRST = "Tokenization turns text into numbers.\nnaïve café · 東京 · 🙂👍🏽 · 1,234.5";
const MEANINGS = [["reject", "Refuse it"], ["text", "Ordinary text"], ["parse", "The token itself"]];
/** More ids make the field slow; the button copies them all. */
const MOST_IDS = 20_000;
const latest = new Latest();
const ranks = new Latest();
const NONE = { tokens: [], bytes: 0 };
let app, view, policy = "reject", found = NONE;

export function create(given) {
  app = given;
  policy = MEANINGS.some(([name]) => name === app.state.special) ? app.state.special : "reject";
  guard(byId("text"));
  put(byId("text"), app.state.text ?? FIRST);
  byId("framed").checked = app.state.framed === "1";
  byId("whitespace").checked = app.state.spaces !== "0";
  view = new TokenView(byId("token-list"), detail);
  byId("text").addEventListener("input", show);
  byId("framed").addEventListener("change", show);
  byId("whitespace").addEventListener("change", () => {
    writeFragment({ spaces: byId("whitespace").checked ? null : "0" });
    view.show(found.tokens, { spaces: byId("whitespace").checked });
  });
  byId("copy-ids").addEventListener("click", async () => {
    await copy(`[${found.tokens.map((token) => token.id).join(", ")}]`);
    byId("copied").textContent = "Copied";
  });
  byId("decode").addEventListener("click", decode);
}

export function show() {
  const text = textOf(byId("text"));
  writeFragment({ text: text === FIRST ? null : text, special: policy === "reject" ? null : policy, framed: byId("framed").checked ? "1" : null });
  latest.run(
    async () => [text, await app.client.offsets({
      text, tokenizer: app.tokenizer, unit: "byte", special_tokens: policy, add_special_tokens: byId("framed").checked,
    })],
    ([asked, answer]) => draw(asked, answer),
    fail,
  );
}

function draw(text, { ids, spans, tokenizer }) {
  set(cut(text, ids, spans, app.info(tokenizer)), [...text].length);
  const literals = found.tokens.some((token) => token.special && !token.unknown && token.end > token.start);
  ask(policy === "reject" ? null : literals || policy === "text" ? "The literals of special tokens in this text are taken as:" : null);
}

/** Show tokens, or that there are none: nothing of a text before may stand for one that was refused. */
function set(cutText, characters) {
  found = cutText;
  const { bytes, tokens } = found;
  const ids = tokens.map((token) => token.id);
  const unknown = tokens.filter((token) => token.unknown).length;
  tell(byId("tokens-error"), null);
  tell(byId("decode-error"), null);
  view.show(tokens, { spaces: byId("whitespace").checked });
  const rows = characters === null ? [] : [
    ["tokens", ids.length], ...(unknown ? [["of them unknown", unknown]] : []), ["characters", characters], ["bytes", bytes],
    ["tokens a character", characters ? ids.length / characters : 0], ["tokens a byte", bytes ? ids.length / bytes : 0],
    ["bytes a token", ids.length ? bytes / ids.length : 0],
  ];
  byId("numbers").replaceChildren(...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, number.format(value)))));
  byId("copy-ids").disabled = characters === null;
  byId("copied").textContent = "";
  byId("token-detail").textContent = characters === null ? "" : "Point at a token, or go through them with the arrow keys.";
  byId("ids").value = ids.length <= MOST_IDS ? ids.join(" ") : "";
  byId("ids").placeholder = ids.length > MOST_IDS ? `${number.format(ids.length)} ids; copy them with the button` : "";
}

function fail(error) {
  set(NONE, null);
  const { literal, span } = error.problem ?? {};
  const isLiteral = error.code === "reserved_literal";
  ask(isLiteral ? `“${visible(literal)}” at ${span[0]} to ${span[1]} is the literal of a special token. What does it mean here?` : null);
  if (!app.failed(error) && !isLiteral) tell(byId("tokens-error"), said(error));
}

/** Offer the three meanings of a reserved literal. */
function ask(question) {
  const box = byId("literal");
  box.hidden = !question;
  if (!question) return;
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.meaning : null;
  const button = ([meaning, label]) => h("button", {
    type: "button", "data-meaning": meaning, "aria-pressed": String(policy === meaning),
    onclick: () => { policy = meaning; show(); },
  }, label);
  box.replaceChildren(h("span", {}, question), ...MEANINGS.map(button));
  if (focused) box.querySelector(`[data-meaning=${focused}]`).focus();
}

function detail(token) {
  const shown = token.chips ? token.chips.join(" ") : visible(token.text.slice(0, 80));
  const bytes = token.chips ?? Array.from(new TextEncoder().encode(token.text.slice(0, 80)), (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
  const rank = h("span", {}, "…");
  const fact = (name, value) => h("span", { class: "fact" }, `${name} `, h("b", {}, value));
  byId("token-detail").replaceChildren(
    h("bdi", { class: "what" }, shown), fact("id", String(token.id)), fact("span", `${token.start} to ${token.end}`),
    fact("bytes", bytes.join(" ")), fact("rank", rank),
  );
  ranks.run(() => rankOf(token), (text) => { rank.textContent = text; }, () => { rank.textContent = "none"; });
}

/** The rank of the merge that ends in a token, if its text becomes this token by merges. */
async function rankOf(token) {
  if (token.chips || token.special || !token.text || token.text.length > 100) return "none";
  const { pieces } = await app.client.explain({ text: token.text, tokenizer: app.tokenizer });
  const [piece] = pieces;
  if (pieces.length !== 1 || piece.ids.length !== 1 || !piece.merges?.length) return "none";
  const last = piece.merges.at(-1);
  return number.format(last.rank ?? last.score);
}

async function decode() {
  const ids = (byId("ids").value.match(/\d+/g) ?? []).map(Number);
  tell(byId("decode-error"), null);
  try {
    const { text } = await app.client.decode({ ids, tokenizer: app.tokenizer });
    put(byId("text"), text);
    byId("text").dispatchEvent(new Event("input"));
  } catch (error) {
    if (!app.failed(error)) tell(byId("decode-error"), said(error));
  }
}
