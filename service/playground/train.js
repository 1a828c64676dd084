/** The view of a training: a corpus in, a job that is watched, a tokenizer out. */

import { line } from "./chart.js";
import * as compare from "./compare.js";
import { byId, h, number, said, tell } from "./dom.js";
import { visible } from "./visible.js";

const SHOWN = 24;
let app, job = null, watching = null, rates = [];

export function create(given) {
  app = given;
  byId("train-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("cancel").addEventListener("click", () => attempt(async () => app.client.cancel(job.id)));
  byId("corpus-files").addEventListener("change", (event) => take(event.target.files));
  byId("corpus").addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

export function show() {}

async function take(files) {
  const texts = await Promise.all([...files].map((file) => file.text()));
  byId("corpus").value = texts.join("\n");
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
    corpus: { texts: [byId("corpus").value] },
    settings: { vocab_size: Number(byId("vocab-size").value), pattern: byId("pattern").value },
  };
  const submitted = await attempt(() => app.client.train(body));
  if (!submitted) return;
  watching?.abort();
  watching = new AbortController();
  rates = [];
  byId("job").hidden = false;
  byId("job-result").replaceChildren();
  byId("job-chart").replaceChildren();
  draw(submitted);
  const { signal } = watching;
  await attempt(async () => {
    for await (const next of app.client.events(submitted.id, { signal })) draw(next);
    if (job.state === "succeeded") await finish();
  });
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
    if (progress.rate && progress.unit === "merges") rates.push([progress.done, progress.rate]);
  }
  byId("job-state").textContent = parts.filter(Boolean).join(" · ");
  const bar = byId("job-progress");
  if (ended) bar.value = job.state === "succeeded" ? 1 : 0;
  else if (progress?.total) bar.value = progress.done / progress.total;
  else bar.removeAttribute("value");
  if (rates.length > 1) byId("job-chart").replaceChildren(line(rates, "merges a second, by merges done"));
  if (job.error) tell(byId("train-error"), `${job.error.code}: ${job.error.message}`);
}

async function finish() {
  const reference = job.artifact.tokenizer;
  const [report] = await Promise.all([app.client.report(job.id), app.addTokenizer(reference)]);
  const text = byId("corpus").value.slice(0, 50_000);
  const bytes = new TextEncoder().encode(text).length;
  const { count } = await app.client.count({ text, tokenizer: reference, special_tokens: "text", add_special_tokens: false });
  const newest = await newestTokens(reference, report.vocab_size);
  const download = h("button", { type: "button", class: "primary", onclick: () => attempt(save) }, "Download");
  const beside = h("button", { type: "button", onclick: () => {
    compare.add(app.tokenizer);
    compare.add(reference);
    byId("tab-compare").click();
  } }, "Compare with the chosen tokenizer");
  byId("job-result").replaceChildren(
    h("p", {}, `${number.format(report.vocab_size)} tokens, ${number.format(report.merges)} merges in ${number.format(report.seconds)} s; ${number.format(count / bytes)} tokens a byte of this corpus.`),
    report.vocab_size < report.wanted ? h("p", {}, `No pair was left after ${number.format(report.merges)} merges, so it is smaller than wanted.`) : null,
    h("h3", {}, "The newest tokens"),
    h("p", { class: "tokens" }, ...newest.map((token, index) => h("span", { class: `token c${index % 6}` }, h("bdi", {}, visible(token))))),
    report.timeline.length > 1 ? line(report.timeline, "merges, by seconds") : null,
    h("div", { class: "row" }, download, beside),
  );
}

/** The texts of the last learned tokens, the newest first. */
async function newestTokens(tokenizer, size) {
  const ids = Array.from({ length: Math.max(0, Math.min(SHOWN, size - 256)) }, (_, index) => [size - 1 - index]);
  return ids.length ? (await app.client.decode({ ids, tokenizer })).text : [];
}

async function save() {
  const link = h("a", { href: URL.createObjectURL(await app.client.artifact(job.id)), download: `${job.artifact.name}.tar.gz` });
  link.click();
  URL.revokeObjectURL(link.href);
}
