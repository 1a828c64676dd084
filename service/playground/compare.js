/** The view of several tokenizers on the same text. */

import { bars } from "./chart.js";
import { cut, literalsOf } from "./cut.js";
import { byId, h, number, said, tell } from "./dom.js";
import { guard, put, textOf } from "./field.js";
import { writeFragment } from "./fragment.js";
import { Latest } from "./latest.js";
import { TokenView } from "./token_view.js";

const MOST = 4;
const LANGUAGES = [
  "english", "german", "french", "spanish", "portuguese", "italian", "polish", "finnish", "turkish", "swahili",
  "vietnamese", "russian", "greek", "arabic", "hebrew", "hindi", "thai", "korean", "japanese", "chinese",
];
const latest = new Latest();
const charts = new Latest();
let app, picked = new Set(), sentences = null, charted = "";

export function create(given) {
  app = given;
  guard(byId("compare-text"));
  put(byId("compare-text"), app.state.compare ?? "The tokenizer cuts 12,345 words: naïve café, 東京, Straße.");
  byId("compare-text").addEventListener("input", show);
  picked = new Set((app.state.with ?? "").split(",").filter(Boolean).slice(0, MOST));
}

/** Compare a further tokenizer from now on. */
export function add(reference) {
  picked.add(reference);
  if (picked.size > MOST) picked.delete(picked.values().next().value);
}

export function show() {
  picked = new Set([...picked].filter((each) => app.info(each)));
  if (!picked.size) app.tokenizers.slice(0, MOST).forEach((each) => picked.add(each.tokenizer));
  list();
  const chosen = [...picked];
  const text = textOf(byId("compare-text"));
  writeFragment({ compare: text, with: chosen.join(",") });
  const ask = (tokenizer) => app.client.offsets({ text, tokenizer, unit: "byte", special_tokens: "text", add_special_tokens: false });
  latest.run(async () => [text, chosen, await inTurn(chosen, ask)], draw, fail);
  if (charted !== chosen.join()) charts.run(() => fertility(chosen), drawFertility, fail);
}

/** Ask for one after the other, so that a page has one request under way. */
async function inTurn(chosen, ask) {
  const answers = [];
  for (const each of chosen) answers.push(await ask(each));
  return answers;
}

function list() {
  const focused = document.activeElement?.value;
  const boxes = app.tokenizers.map((each) => {
    const box = h("input", { type: "checkbox", value: each.tokenizer, checked: picked.has(each.tokenizer), disabled: !picked.has(each.tokenizer) && picked.size >= MOST });
    box.addEventListener("change", () => {
      if (box.checked) picked.add(each.tokenizer);
      else picked.delete(each.tokenizer);
      show();
    });
    return h("label", {}, box, ` ${each.name}`);
  });
  byId("compare-picks").replaceChildren(byId("compare-picks").firstElementChild, ...boxes);
  boxes.find((label) => label.firstChild.value === focused)?.firstChild.focus();
}

/** A span as one number, of which a set of a million is made soon; no text has so many bytes. */
const placeOf = ({ start, end }) => start * 2 ** 26 + end;

function draw([text, chosen, answers]) {
  tell(byId("compare-error"), null);
  const cuts = answers.map(({ ids, spans }, index) => cut(text, ids, spans, literalsOf(app.info(chosen[index]))));
  const places = cuts.map(({ tokens }) => new Set(tokens.map(placeOf)));
  const fewest = Math.min(...cuts.map(({ tokens }) => tokens.length));
  byId("compare-columns").replaceChildren(...cuts.map(({ tokens, bytes }, index) => {
    const title = h("h3", {}, app.info(chosen[index])?.name ?? chosen[index]);
    const more = tokens.length > fewest ? `, ${number.format((tokens.length / fewest - 1) * 100)} % more than the fewest` : "";
    const count = h("p", { class: "hint" }, `${number.format(tokens.length)} tokens, ${number.format(tokens.length ? bytes / tokens.length : 0)} bytes a token${more}`);
    const root = h("div", { class: "tokens", role: "listbox", tabindex: "0", "aria-label": `Tokens of ${title.textContent}` });
    const differs = (token) => places.some((other) => !other.has(placeOf(token)));
    new TokenView(root).show(tokens, { differs });
    return h("article", {}, title, count, root);
  }));
}

async function fertility(chosen) {
  sentences ??= await app.client.get("playground/languages.json");
  const texts = LANGUAGES.map((name) => sentences[name]);
  const ask = (tokenizer) => app.client.count({ text: texts, tokenizer, special_tokens: "text", add_special_tokens: false });
  return [chosen, await inTurn(chosen, ask)];
}

function drawFertility([chosen, answers]) {
  charted = chosen.join();
  const groups = LANGUAGES.map((name, index) => [name, answers.map(({ count }) => count[index])]);
  byId("fertility").replaceChildren(...bars(groups, chosen.map((each) => app.info(each)?.name ?? each)));
}

function fail(error) {
  if (!app.failed(error)) tell(byId("compare-error"), said(error));
}
