/** The page: its tabs, the chosen tokenizer, the key, and what happens while the server is away. */

import { Tokd } from "../client.js";
import * as audit from "./audit.js";
import * as chat from "./chat.js";
import * as compare from "./compare.js";
import { byId, h } from "./dom.js";
import { readFragment, VIEWS as NAMES, writeFragment } from "./fragment.js";
import * as merges from "./merges.js";
import * as tokens from "./tokens.js";
import * as train from "./train.js";

const VIEWS = { tokens, compare, merges, chat, train, audit };
const KEY = "tokd-key";
const RETRY = 1000;

/** What every view gets: the client, the tokenizers, and `failed`, which deals with what is not a view's own error. */
const app = {
  client: new Tokd({ base: new URL("../", import.meta.url), key: sessionStorage.getItem(KEY) }),
  tokenizers: [],
  state: readFragment(),
  get tokenizer() { return byId("tokenizer").value || undefined; },
  info(reference) { return this.tokenizers.find((each) => each.tokenizer === reference || each.name === reference); },
  /** What a link calls a tokenizer: its name, which is shorter than its hash, if that means no other one. */
  called(reference) {
    const { name } = this.info(reference);
    return this.info(name).tokenizer === reference ? name : reference;
  },
  async addTokenizer(reference) {
    if (!this.info(reference)) this.tokenizers.push(await this.client.tokenizer(reference));
    listTokenizers(this.tokenizer);
  },
  /** The server's description of itself, which tells what it allows. */
  description() {
    described ??= this.client.get("openapi.json").catch((error) => { described = null; throw error; });
    return described;
  },
  failed,
};
let described = null;
let shown = null;

/** Return whether an error was dealt with here: the server is away, or wants a key. */
function failed(error) {
  if (error.status === 401) {
    byId("key-form").hidden = false;
    byId("key-wrong").textContent = app.client.key ? "This key is not known here." : "";
    byId("key").focus();
    return true;
  }
  if (error instanceof TypeError) {
    if (byId("away").hidden) {
      byId("away").hidden = false;
      setTimeout(retry, RETRY);
    }
    return true;
  }
  return false;
}

async function retry() {
  try {
    await app.client.get("healthz");
  } catch (error) {
    if (error instanceof TypeError) {
      setTimeout(retry, RETRY);
      return;
    }
  }
  byId("away").hidden = true;
  await begin();
}

async function begin() {
  try {
    const found = await app.client.tokenizers();
    const kept = app.tokenizers.filter((each) => !found.some((other) => other.tokenizer === each.tokenizer));
    app.tokenizers = [...found, ...kept];
  } catch (error) {
    if (!failed(error)) throw error;
    return;
  }
  byId("key-form").hidden = true;
  listTokenizers(app.tokenizer ?? app.state.tokenizer);
  VIEWS[shown].show();
}

function listTokenizers(chosen) {
  const select = byId("tokenizer");
  select.replaceChildren(...app.tokenizers.map((each) => h("option", { value: each.tokenizer }, each.name)));
  const known = app.info(chosen) ?? app.tokenizers.find((each) => each.default);
  if (known) select.value = known.tokenizer;
}

function choose(name, focus = false) {
  shown = NAMES.includes(name) ? name : "tokens";
  for (const tab of byId("tabs").children) {
    const own = tab.getAttribute("aria-controls") === shown;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !own;
    if (own && focus) tab.focus();
  }
  writeFragment({ view: shown });
  if (app.tokenizers.length) VIEWS[shown].show();
}

byId("tabs").addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (tab) choose(tab.getAttribute("aria-controls"));
});
byId("tabs").addEventListener("keydown", (event) => {
  const at = NAMES.indexOf(shown);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + NAMES.length, Home: 0, End: NAMES.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  choose(NAMES[next % NAMES.length], true);
});
byId("tokenizer").addEventListener("change", () => {
  writeFragment({ tokenizer: app.called(app.tokenizer) });
  VIEWS[shown].show();
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  app.client.key = byId("key").value;
  sessionStorage.setItem(KEY, app.client.key);
  begin();
});

// A link that is opened in a tab with this page changes its address alone.
addEventListener("hashchange", () => location.reload());

for (const view of Object.values(VIEWS)) view.create(app);
choose(app.state.view);
begin();
