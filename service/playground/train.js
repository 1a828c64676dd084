/** The view of a training: a corpus in, a job that is watched, a tokenizer out. */

import { line } from "./chart.js";
import * as compare from "./compare.js";
import { byId, h, number, said, tell } from "./dom.js";
import { guard, put, textOf } from "./field.js";
import { writeFragment } from "./fragment.js";
import { visible } from "./visible.js";

const SHOWN = 24;
const [BPE, PATTERN, SIZE] = ["bpe", "cl100k_base", "512"];
const MODELS = { bpe: "byte-level BPE", wordpiece: "WordPiece", unigram: "Unigram", word: "words", character: "characters" };
let app, job = null, followed = null, watching = null, curve = [];

export function create(given) {
  app = given;
  followed = app.state.job ?? null;
  for (const [id, value, usual] of [["vocab-size", app.state.size, SIZE], ["pattern", app.state.pattern, PATTERN]]) {
    byId(id).value = value ?? usual;
    // What a link says may be no choice, or no number.
    if (!byId(id).value) byId(id).value = usual;
  }
  guard(byId("corpus"));
  byId("train-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("train-form").addEventListener("change", () => {
    showPattern();
    const [pattern, size] = [byId("pattern").value, byId("vocab-size").value];
    writeFragment({ model: model() === BPE ? null : model(), pattern: pattern === PATTERN ? null : pattern, size: size === SIZE ? null : size });
  });
  byId("sample").addEventListener("click", () => attempt(async () => {
    fill(Object.values(await app.client.get("playground/languages.json")));
  }));
  byId("cancel").addEventListener("click", () => attempt(async () => app.client.cancel(job.id)));
  byId("corpus-files").addEventListener("change", (event) => take(event.target.files));
  byId("corpus").addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

/** Offer the models that this server trains, which its own description lists, and take up a job that a link names. */
export async function show() {
  if (followed && !watching) watch(followed);
  if (byId("model").options.length) return;
  const document = await attempt(() => app.description());
  const choices = choicesOf(document?.components.schemas.TrainingSettings?.properties.model ?? {}, document);
  byId("model").replaceChildren(...choices.map((name) => h("option", { value: name }, MODELS[name] ?? name)));
  const chosen = [app.state.model, BPE].find((name) => choices.includes(name));
  if (chosen) byId("model").value = chosen;
  byId("model-part").hidden = choices.length < 2;
  showPattern();
}

/** Of the models, byte-level BPE alone is cut by a pattern that is chosen. */
function showPattern() {
  byId("pattern-part").hidden = model() !== BPE;
}

/** The values that a field of an OpenAPI document may have. */
function choicesOf(field, document) {
  if (field.$ref) return choicesOf(document.components.schemas[field.$ref.split("/").at(-1)], document);
  return field.enum ?? (field.anyOf ?? []).flatMap((branch) => choicesOf(branch, document));
}

const model = () => byId("model").value || BPE;

async function take(files) {
  fill(await Promise.all([...files].map((file) => file.text())));
}

function fill(texts) {
  put(byId("corpus"), texts.join("\n"));
  byId("corpus").dispatchEvent(new Event("input"));
}

/** Do what may fail, and tell why it did. */
async function attempt(work) {
  tell(byId("train-error"), null);
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError" && !app.failed(error)) tell(byId("train-error"), said(error));
    return null;
  }
}

async function submit() {
  const body = {
    corpus: { texts: [textOf(byId("corpus"))] },
    settings: {
      vocab_size: Number(byId("vocab-size").value),
      ...(byId("model").value ? { model: model() } : {}),
      ...(model() === BPE ? { pattern: byId("pattern").value } : {}),
    },
  };
  const submitted = await attempt(() => app.client.train(body));
  if (!submitted) {
    // A job that has ended is not that of this corpus; one that runs can still be cancelled.
    if (byId("cancel").disabled) {
      byId("job").hidden = true;
      writeFragment({ job: null });
    }
    return;
  }
  const following = watch(submitted.id);
  draw(submitted);
  await following;
}

/** Show a job until it ends, from its beginning: a server that went away on the way is asked again when it is back. */
async function watch(id) {
  watching?.abort();
  const own = new AbortController();
  watching = own;
  followed = id;
  writeFragment({ job: id });
  curve = [];
  byId("job").hidden = false;
  byId("job-result").replaceChildren();
  byId("job-chart").replaceChildren();
  const isDone = await attempt(async () => {
    for await (const next of app.client.events(id, { signal: own.signal })) draw(next);
    if (job.state === "succeeded") await finish();
    return true;
  });
  if (!isDone && watching === own) watching = null;
}

function draw(next) {
  job = next;
  const { progress } = job;
  const ended = ["succeeded", "failed", "cancelled"].includes(job.state);
  byId("cancel").disabled = ended;
  const parts = [job.state, job.phase];
  if (progress) {
    parts.push(`${number.format(progress.done)}${progress.total ? ` of ${number.format(progress.total)}` : ""} ${progress.unit}`);
    if (progress.rate) parts.push(`${number.format(progress.rate)} ${progress.unit} a second`);
    if (progress.tokens_per_byte) curve.push([progress.done, progress.tokens_per_byte]);
    showNewest(progress.newest ?? []);
  }
  byId("job-state").textContent = parts.filter(Boolean).join(" · ");
  const bar = byId("job-progress");
  if (ended) bar.value = job.state === "succeeded" ? 1 : 0;
  else if (progress?.total) bar.value = progress.done / progress.total;
  else bar.removeAttribute("value");
  if (ended) showNewest([]);
  drawCurve(curve);
  if (job.error) tell(byId("train-error"), `${job.error.code}: ${job.error.message}`);
}

function showNewest(texts) {
  byId("job-newest").hidden = !texts.length;
  byId("job-newest").replaceChildren("newest: ", ...coloured(texts));
}

const coloured = (texts) => texts.map((text, index) => h("span", { class: `token c${index % 6}` }, h("bdi", {}, visible(text))));

function drawCurve(points) {
  if (points.length < 2) return;
  const [from, to] = [points[0], points.at(-1)].map(([, perByte]) => number.format(perByte));
  byId("job-chart").replaceChildren(line(points, `tokens a byte, by merges: ${from} to ${to}`));
}

async function finish() {
  const reference = job.artifact.tokenizer;
  const [report] = await Promise.all([app.client.report(job.id), app.addTokenizer(reference)]);
  const text = textOf(byId("corpus")).slice(0, 50_000);
  const bytes = new TextEncoder().encode(text).length;
  const { count } = await app.client.count({ text, tokenizer: reference, special_tokens: "text", add_special_tokens: false });
  drawCurve(report.curve ?? []);
  const newest = await newestTokens(reference, report);
  const download = h("button", { type: "button", class: "primary", onclick: () => attempt(save) }, "Download");
  const beside = h("button", { type: "button", onclick: () => {
    compare.add(app.tokenizer);
    compare.add(reference);
    byId("tab-compare").click();
  } }, "Compare with the chosen tokenizer");
  // Of nothing the browser itself would make the word null.
  byId("job-result").replaceChildren(...[
    h("p", {}, `${number.format(report.vocab_size)} tokens${report.merges ? `, ${number.format(report.merges)} merges` : ""} in ${number.format(report.seconds)} s${bytes ? `; ${number.format(count / bytes)} tokens a byte of this corpus` : ""}.`),
    report.vocab_size < report.wanted ? h("p", {}, `The corpus has no more, so it is smaller than the ${number.format(report.wanted)} tokens that were wanted.`) : null,
    ...report.advice.map((each) => h("p", {}, each)),
    h("p", {}, "In requests, name it as ", h("code", {}, reference), "; download it to use it elsewhere."),
    h("h3", {}, "The newest tokens"),
    h("p", { class: "tokens" }, ...coloured(newest)),
    h("div", { class: "row" }, download, beside),
  ].filter(Boolean));
}

/** The texts of the last learned tokens, the newest first. */
async function newestTokens(tokenizer, { vocab_size: size, tokens }) {
  const ids = Array.from({ length: Math.min(SHOWN, tokens, size) }, (_, index) => [size - 1 - index]);
  return ids.length ? (await app.client.decode({ ids, tokenizer })).text : [];
}

async function save() {
  const link = h("a", { href: URL.createObjectURL(await app.client.artifact(job.id)), download: `${job.artifact.name ?? "trained"}.tar.gz` });
  link.click();
  URL.revokeObjectURL(link.href);
}
