/** The view of several tokenizers on the same text. */

import { bars } from "./chart.js";
import { TokdError } from "../client.js";
import { cut } from "./cut.js";
import { byId, h, number, said, tell } from "./dom.js";
import { guard, put, textOf } from "./field.js";
import { writeFragment } from "./fragment.js";
import { Latest } from "./latest.js";
import { TokenView } from "./token_view.js";

const MOST = 4;
const FIRST = "The tokenizer cuts 12,345 words: naïve café, 東京, Straße.";
/** From this share on what is unknown stands behind a number, which then says nothing; as in `tokd compare`. */
const UNKNOWN = 0.01;
const latest = new Latest();
const charts = new Latest();
let app, picked = new Set(), isPicked = false, charted = "";

export function create(given) {
  app = given;
  guard(byId("compare-text"));
  put(byId("compare-text"), app.state.compare ?? FIRST);
  byId("compare-text").addEventListener("input", show);
  picked = new Set(app.state.with?.split(",").slice(0, MOST));
  isPicked = picked.size > 0;
}

/** Compare a further tokenizer from now on. */
export function add(reference) {
  isPicked = true;
  picked.add(reference);
  if (picked.size > MOST) picked.delete(picked.values().next().value);
}

export function show() {
  picked = new Set([...picked].map((each) => app.info(each)?.tokenizer).filter(Boolean));
  if (!picked.size) app.tokenizers.slice(0, MOST).forEach((each) => picked.add(each.tokenizer));
  list();
  const chosen = [...picked];
  const text = textOf(byId("compare-text"));
  writeFragment({ compare: text === FIRST ? null : text, with: isPicked ? chosen.map((each) => app.called(each)).join(",") : null });
  const ask = (tokenizer) => app.client.offsets({ text, tokenizer, unit: "byte", special_tokens: "text", add_special_tokens: false });
  latest.run(async () => [text, chosen, await inTurn(chosen, ask)], draw, fail);
  if (charted === chosen.join()) return;
  charted = chosen.join();
  charts.run(async () => [chosen, await app.client.post("compare", { tokenizers: chosen })], drawFertility, (error) => {
    charted = "";
    byId("fertility").replaceChildren(...(app.failed(error) ? [] : [h("p", { class: "error", role: "alert" }, said(error))]));
  });
}

/** Ask for one after the other, so that a page has one request under way; a refusal is the answer about that one. */
async function inTurn(chosen, ask) {
  const answers = [];
  for (const each of chosen) {
    answers.push(await ask(each).catch((error) => {
      if (error instanceof TokdError && error.status !== 401) return error;
      throw error;
    }));
  }
  return answers;
}

function list() {
  const focused = document.activeElement?.value;
  const boxes = app.tokenizers.map((each) => {
    const box = h("input", { type: "checkbox", value: each.tokenizer, checked: picked.has(each.tokenizer), disabled: !picked.has(each.tokenizer) && picked.size >= MOST });
    box.addEventListener("change", () => {
      isPicked = true;
      if (box.checked) picked.add(each.tokenizer);
      else picked.delete(each.tokenizer);
      show();
    });
    return h("label", {}, box, ` ${each.name}`);
  });
  byId("compare-hint").textContent = boxes.length > 1
    ? "Underlined tokens are cut differently by another tokenizer."
    : "There is one tokenizer: train another, or start the server with a second --artifact.";
  byId("compare-picks").replaceChildren(byId("compare-picks").firstElementChild, ...boxes);
  boxes.find((label) => label.firstChild.value === focused)?.firstChild.focus();
}

/** A span as one number, of which a set of a million is made soon; no text has so many bytes. */
const placeOf = ({ start, end }) => start * 2 ** 26 + end;

function draw([text, chosen, answers]) {
  const named = chosen.map((each, index) => ({ name: app.info(each)?.name ?? each, info: app.info(each), answer: answers[index] }));
  const [refused, taken] = [true, false].map((wanted) => named.filter(({ answer }) => answer instanceof TokdError === wanted));
  tell(byId("compare-error"), refused.map(({ name, answer }) => `${name}: ${said(answer)}`).join(" · "));
  const size = [...text].length;
  for (const each of taken) {
    Object.assign(each, cut(text, each.answer.ids, each.answer.spans, each.info));
    each.places = new Set(each.tokens.map(placeOf));
    each.unknown = each.tokens.reduce((sum, token) => sum + (token.unknown ? [...token.text].length : 0), 0) / Math.max(1, size);
  }
  // Where the text is unknown the number is small, and says nothing.
  const fewest = Math.min(...taken.filter(({ unknown }) => unknown < UNKNOWN).map(({ tokens }) => tokens.length));
  byId("compare-columns").replaceChildren(...taken.map(({ name, tokens, bytes, unknown }) => {
    const more = unknown < UNKNOWN && tokens.length > fewest ? `, ${number.format((tokens.length / fewest - 1) * 100)} % more than the fewest` : "";
    const facts = [`${number.format(tokens.length)} tokens`, `${number.format(tokens.length ? bytes / tokens.length : 0)} bytes a token${more}`];
    const count = h("p", { class: "hint" }, facts.join(", "), unknown ? h("b", { class: "lost" }, ` ${number.format(unknown * 100)} % of the characters are unknown`) : null);
    const root = h("div", { class: "tokens", role: "listbox", tabindex: "0", "aria-label": `Tokens of ${name}` });
    const differs = (token) => taken.some(({ places }) => !places.has(placeOf(token)));
    new TokenView(root).show(tokens, { differs });
    return h("article", {}, h("h3", {}, name), count, root);
  }));
}

function drawFertility([chosen, { texts }]) {
  const shown = (cost) => (cost === null ? { text: "no tokens for a part of it" }
    : cost.unknown < UNKNOWN ? { size: cost.tokens, text: number.format(cost.tokens) }
    : { text: `${number.format(cost.tokens)}*, ${number.format(cost.unknown * 100)} % unknown` });
  const groups = Object.entries(texts).map(([name, { costs }]) => [name, costs.map(shown)]);
  const names = chosen.map((each) => app.info(each)?.name ?? each);
  const note = groups.some(([, values]) => values.some(({ text }) => text.includes("*")))
    ? h("p", { class: "hint" }, "* Unknown text becomes few tokens, which say nothing; it has no bar.") : "";
  byId("fertility").replaceChildren(...bars(groups, names), note);
}

function fail(error) {
  byId("compare-columns").replaceChildren();
  tell(byId("compare-error"), app.failed(error) ? null : said(error));
}
