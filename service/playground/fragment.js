/** The state of the page in the fragment of its address, which a browser sends to no server. */

const MOST = 20_000;
let timer = 0;

export function readFragment() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Change fields of the fragment soon; a long text is left out, for browsers bound an address. */
export function writeFragment(fields) {
  Object.assign(pending, fields);
  clearTimeout(timer);
  timer = setTimeout(flush, 300);
}

const pending = {};

function flush() {
  const all = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(pending)) {
    if (value && value.length <= MOST) all.set(name, value);
    else all.delete(name);
    delete pending[name];
  }
  history.replaceState(null, "", `#${all}`);
}
