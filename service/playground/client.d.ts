/** Types of client.js: the fields are those of the HTTP API (docs/http.md). */

export type SpecialTokens = "reject" | "text" | "parse";
export type Span = [number, number];
export type Message = { role: string; [field: string]: unknown };

export interface Options { signal?: AbortSignal; headers?: Record<string, string> }
export interface ChatOptions {
  tools?: object[]; documents?: object[]; template_args?: object; template?: string;
  add_generation_prompt?: boolean; continue_final_message?: boolean; unused?: "refuse" | "report";
}
export interface TextRequest extends ChatOptions {
  tokenizer?: string; text?: string | string[]; text_pair?: string | string[]; messages?: Message[] | Message[][];
  special_tokens?: SpecialTokens; add_special_tokens?: boolean;
}
export interface EncodeRequest extends TextRequest {
  return?: string[]; nbest?: number; max_length?: number; truncation_side?: "left" | "right"; padding?: string;
  train_on?: "assistant" | "last" | string[]; [option: string]: unknown;
}
export interface OffsetsRequest extends TextRequest {
  unit?: "byte" | "char" | "utf16"; trim_offsets?: boolean; tokens?: boolean; target_spans?: Span[] | Span[][];
}
export interface Answer { tokenizer: string; [field: string]: unknown }
export interface Encoded extends Answer {
  ids: number[]; count: number; segmentations?: { ids: number[]; score: number }[];
}
export interface Offsets extends Answer { ids: number[]; spans: Span[] }
export interface Rendered extends Answer {
  template: string; text: string; spans: { message: number | null; field: string; start: number; end: number }[];
}
export interface ExplainedToken { id: number; text: string; bytes: string }
export interface Explained extends Answer {
  pieces: ({ text: string; ids: number[] } & (
    | { kind: "merges"; start: ExplainedToken[]; merges: { at: number; rank?: number; score?: number; token: ExplainedToken }[]; whole?: ExplainedToken }
    | { kind: "matches"; matches: { start: number; end: number; token: ExplainedToken }[]; unknown: boolean }
    | { kind: "lattice"; edges: { start: number; end: number; score: number; token: ExplainedToken | null }[]; best: number[]; path: number[] }
  ))[];
}
export interface TokenizerInfo extends Answer {
  name: string; default: boolean; vocab_size: number; special_tokens: Record<string, number>; unk_id: number | null; template: string | null;
}
export interface Job {
  id: string; name: string | null; state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  phase: "counting" | "merging" | "learning" | "seeds" | "pruning" | "publishing" | null;
  progress: { done: number; total: number | null; unit: string; rate: number | null; seconds_left: number | null; tokens_per_byte: number | null; newest: string[] } | null;
  error: { code: string; message: string; path: string | null } | null;
  artifact: { tokenizer: string; name: string; href: string; sizes: { size: number; tokenizer: string; name: string; href: string }[] } | null;
  [field: string]: unknown;
}
export interface EncodeJob {
  id: string; name: string | null; state: Job["state"]; phase: "encoding" | "publishing" | null;
  progress: { done: number; total: number | null; unit: string; rate: number | null; seconds_left: number | null } | null;
  error: Job["error"];
  output: {
    manifest: string; hash: string; format: string; dtype: string; documents: number; tokens: number; shards: number; bytes: number; skipped: number;
  } | null;
  [field: string]: unknown;
}
export interface Manifest {
  format: string; layout: string; tokenizer: string; dtype: string; documents: number; tokens: number;
  shards: { documents: number; tokens: number; files: Record<string, { name: string; bytes: number; sha256: string }> }[];
  [field: string]: unknown;
}
export interface Check extends Answer {
  name: string; ok: boolean;
  points: { number: number; name: string; status: "passed" | "failed" | "not_applicable"; summary: string; evidence: object }[];
}

export interface ParseRequest {
  outputs: ({ text: string; finish_reason?: string } | { ids: number[]; finish_reason?: string })[];
  messages?: Message[]; tools?: object[]; documents?: object[]; prompt?: string; continue_final_message?: boolean;
  template_args?: object; template?: string; tokenizer?: string;
}
export interface ParsedOutput {
  message: Message; arguments: string[]; unfinished: string | null; exact: boolean | null;
  parts: { field: string | null; start: number; end: number; first_id: number | null; end_id: number | null }[];
  malformed: { reason: string; start: number; end: number }[];
  difference: { at: number; written: string; rendered: string } | null;
}

export class TokdError extends Error {
  status: number; code: string; path: string | null; problem: Record<string, unknown>;
  constructor(problem: Record<string, unknown>, status: number);
}

export class Tokd {
  base: string; key: string | null; fetch: typeof fetch;
  constructor(options?: { base?: string | URL; key?: string | null; fetch?: typeof fetch });
  encode(body: EncodeRequest, options?: Options): Promise<Encoded>;
  decode(body: { ids: number[] | number[][]; tokenizer?: string; skip_special_tokens?: boolean }, options?: Options): Promise<Answer & { text: string }>;
  offsets(body: OffsetsRequest, options?: Options): Promise<Offsets>;
  count(body: TextRequest, options?: Options): Promise<Answer & { count: number }>;
  render(body: ChatOptions & { messages: Message[]; tokenizer?: string }, options?: Options): Promise<Rendered>;
  parse(body: ParseRequest, options?: Options): Promise<Answer & { outputs: ParsedOutput[] }>;
  explain(body: { text: string; tokenizer?: string }, options?: Options): Promise<Explained>;
  tokenizers(options?: Options): Promise<TokenizerInfo[]>;
  tokenizer(reference: string, options?: Options): Promise<TokenizerInfo>;
  check(reference: string, options?: Options): Promise<Check>;
  checkFile(file: Blob, options?: Options): Promise<Check>;
  train(body: { corpus: object; settings?: object; name?: string }, options?: Options): Promise<Job>;
  job(id: string, options?: Options): Promise<Job>;
  report(id: string, options?: Options): Promise<Record<string, unknown>>;
  jobs(options?: Options): Promise<Job[]>;
  cancel(id: string, options?: Options): Promise<Job>;
  artifact(id: string, options?: Options & { size?: number }): Promise<Blob>;
  events(id: string, options?: { signal?: AbortSignal }): AsyncGenerator<Job, void>;
  encodeCorpus(body: { corpus: object; tokenizer?: string; settings?: object; name?: string }, options?: Options): Promise<EncodeJob>;
  encodeJob(id: string, options?: Options): Promise<EncodeJob>;
  encodeJobs(options?: Options): Promise<EncodeJob[]>;
  cancelEncodeJob(id: string, options?: Options): Promise<EncodeJob>;
  encodeEvents(id: string, options?: { signal?: AbortSignal }): AsyncGenerator<EncodeJob, void>;
  manifest(id: string, options?: Options): Promise<Manifest>;
  tokenFile(id: string, name: string, options?: Options): Promise<Blob>;
  post(path: string, body: unknown, options?: Options): Promise<any>;
  get(path: string, options?: Options): Promise<any>;
  request(method: string, path: string, body: unknown, options?: Options): Promise<Response>;
}
