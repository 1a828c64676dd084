/**
 * The client of a tokd server, for browsers and Node (18 or newer), without dependencies.
 *
 *     import { Tokd } from "http://127.0.0.1:8000/client.js";
 *     const { ids } = await new Tokd().encode({ text: "Hello, world" });
 *
 * Bodies and answers are those of the HTTP API; `client.d.ts` has their types.
 */

/** An error that the server told: `code` is stable, `path` is the field, `problem` the whole answer. */
export class TokdError extends Error {
  constructor(problem, status) {
    super(problem.detail ?? `the server answered ${status}`);
    this.name = "TokdError";
    this.status = status;
    this.code = problem.code ?? "unknown";
    this.path = problem.path ?? null;
    this.problem = problem;
  }
}

export class Tokd {
  /**
   * @param {{base?: string | URL, key?: string | null, fetch?: typeof fetch}} [options]
   *   base: the server's address, by default that of this file; key: sent as a bearer.
   */
  constructor({ base = new URL(".", import.meta.url), key = null, fetch = globalThis.fetch.bind(globalThis) } = {}) {
    this.base = String(base).replace(/\/*$/, "/");
    this.key = key;
    this.fetch = fetch;
  }

  encode(body, options) { return this.post("encode", body, options); }
  decode(body, options) { return this.post("decode", body, options); }
  offsets(body, options) { return this.post("offsets", body, options); }
  count(body, options) { return this.post("count", body, options); }
  render(body, options) { return this.post("render", body, options); }
  parse(body, options) { return this.post("parse", body, options); }
  explain(body, options) { return this.post("explain", body, options); }

  async tokenizers(options) { return (await this.get("tokenizers", options)).tokenizers; }
  tokenizer(reference, options) { return this.get(`tokenizers/${encodeURIComponent(reference)}`, options); }
  check(reference, options) { return this.get(`tokenizers/${encodeURIComponent(reference)}/check`, options); }

  /** The audit of a `tokenizer.json`, as a Blob or a File, where the server allows it. */
  async checkFile(file, options) { return (await this.request("POST", "check", file, options)).json(); }

  train(body, options) { return this.post("train-job", body, options); }
  job(id, options) { return this.get(`train-job/${encodeURIComponent(id)}`, options); }
  report(id, options) { return this.get(`train-job/${encodeURIComponent(id)}/report`, options); }
  async jobs(options) { return (await this.get("train-job", options)).jobs; }
  async cancel(id, options) { return (await this.request("DELETE", `train-job/${encodeURIComponent(id)}`, null, options)).json(); }
  /** The archive of a job that succeeded, as a Blob. */
  async artifact(id, { size, ...options } = {}) {
    const query = size === undefined ? "" : `?size=${encodeURIComponent(size)}`;
    return (await this.request("GET", `train-job/${encodeURIComponent(id)}/artifact${query}`, null, options)).blob();
  }

  /** Every change of a job until it ends; a broken connection is taken up again after the last event seen. */
  events(id, options) { return this.#changes(`train-job/${encodeURIComponent(id)}`, options); }

  encodeCorpus(body, options) { return this.post("encode-job", body, options); }
  encodeJob(id, options) { return this.get(`encode-job/${encodeURIComponent(id)}`, options); }
  async encodeJobs(options) { return (await this.get("encode-job", options)).jobs; }
  async cancelEncodeJob(id, options) { return (await this.request("DELETE", `encode-job/${encodeURIComponent(id)}`, null, options)).json(); }
  encodeEvents(id, options) { return this.#changes(`encode-job/${encodeURIComponent(id)}`, options); }
  manifest(id, options) { return this.get(`encode-job/${encodeURIComponent(id)}/manifest`, options); }
  /** A file that the manifest names, as a Blob. */
  async tokenFile(id, name, options) {
    return (await this.request("GET", `encode-job/${encodeURIComponent(id)}/files/${encodeURIComponent(name)}`, null, options)).blob();
  }

  async *#changes(path, { signal } = {}) {
    let seen = null;
    for (;;) {
      const headers = seen === null ? {} : { "last-event-id": seen };
      let answer;
      try {
        answer = await this.request("GET", `${path}/events`, null, { signal, headers });
        if (answer.status === 204) return;
        for await (const event of eventsOf(answer.body)) {
          seen = event.id ?? seen;
          const job = JSON.parse(event.data);
          yield job;
          if (["succeeded", "failed", "cancelled"].includes(job.state)) return;
        }
      } catch (error) {
        if (error instanceof TokdError || signal?.aborted) throw error;
      }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }

  async post(path, body, options) { return (await this.request("POST", path, body, options)).json(); }
  async get(path, options) { return (await this.request("GET", path, null, options)).json(); }

  /** Send one request; raises `TokdError` for what the server refuses, and what `fetch` raises if there is no answer. */
  async request(method, path, body, { signal, headers = {} } = {}) {
    const sent = { ...headers };
    if (body !== null) sent["content-type"] = "application/json";
    if (this.key) sent.authorization = `Bearer ${this.key}`;
    const answer = await this.fetch(this.base + path, {
      method, headers: sent, signal, body: body === null || body instanceof Blob ? body ?? undefined : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    const text = await answer.text();
    let problem = {};
    try { problem = JSON.parse(text); } catch { /* What stands between may answer in its own words. */ }
    throw new TokdError(problem, answer.status);
  }
}

/** Read server-sent events from a stream of bytes. */
async function* eventsOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = block.split("\n").filter((line) => !line.startsWith(":")).map((line) => line.split(/: ?(.*)/s));
        const data = fields.filter(([name]) => name === "data").map(([, text]) => text).join("\n");
        if (data) yield { id: fields.find(([name]) => name === "id")?.[1], data };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
