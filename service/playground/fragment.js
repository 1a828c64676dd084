/** The state of the page: that of the view in the fragment of its address, which a browser sends to no server; all in the tab. */

const MOST = 20_000;
/** The fields of each view, which its links hold where they are not as on a new page. */
const FIELDS = {
  tokens: ["text", "special", "framed", "spaces"],
  compare: ["compare", "with"],
  merges: ["merge", "piece", "step"],
  chat: ["chat", "tools", "arguments", "generation", "mask", "labels"],
  train: ["job", "model", "pattern", "size"],
  audit: [],
};
const state = { ...history.state, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
let timer = 0;

export const VIEWS = Object.keys(FIELDS);
export const readFragment = () => ({ ...state });

/** Change fields of the state soon; null is the value of a new page, which also stands for a long text: browsers bound an address. */
export function writeFragment(fields) {
  for (const [name, value] of Object.entries(fields)) state[name] = value?.length > MOST ? null : value;
  clearTimeout(timer);
  timer = setTimeout(flush, 300);
}

function flush() {
  const kept = ["view", "tokenizer", ...FIELDS[state.view]].filter((name) => (state[name] ?? null) !== null);
  const fields = String(new URLSearchParams(kept.map((name) => [name, state[name]])));
  // These stand for themselves in a fragment, and a chat has many of them.
  history.replaceState(state, "", `#${fields.replace(/%(?:21|2C|2F|3A|3F|40)/g, decodeURIComponent)}`);
}
