/** The same request as a command and as programs, ready to copy. */

import { copy, h } from "./dom.js";

const NAMES = { true: "True", false: "False", null: "None" };
const quoted = (text) => (/^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const literal = JSON.stringify;

/** Write JSON as Python, which is the same but for three names outside of strings. */
const python = (json) => json.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => NAMES[part] ?? part);

/**
 * Each of these writes one request.
 *
 * @typedef {{method: string, url: string, json?: string, key?: boolean, file?: string}} Request
 *   json: the body; key: a key goes with it; file: where an answer goes that is no text.
 */

export function asCurl({ method, url, json, key, file }) {
  const other = method === (json === undefined ? "GET" : "POST") ? "" : ` -X ${method}`;
  const secret = key ? ' -H "authorization: Bearer $KEY"' : "";
  const body = json === undefined ? "" : ` -H 'content-type: application/json' -d ${quoted(json)}`;
  return `curl -s${other} ${quoted(url)}${secret}${body}${file ? ` -o ${file}` : ""}`;
}

export function asPython({ method, url, json, key, file, isText }) {
  const body = json === undefined ? "" : `, json=${python(json)}`;
  const secret = key ? ', headers={"authorization": "Bearer " + os.environ["KEY"]}' : "";
  const shown = isText ? "print(answer.text)" : "print(answer.json())";
  return [
    ...(key ? ["import os", ""] : []),
    "import httpx", "",
    `answer = httpx.request(${literal(method)}, ${literal(url)}${body}${secret}, timeout=60)`,
    file ? `open(${literal(file)}, "wb").write(answer.content)` : shown,
  ].join("\n");
}

export function asJavaScript({ method, url, json, key, file, isText }) {
  const headers = [...(json === undefined ? [] : ['"content-type": "application/json"']), ...(key ? ['authorization: `Bearer ${key}`'] : [])];
  const options = [
    `method: ${literal(method)}`,
    ...(headers.length ? [`headers: { ${headers.join(", ")} }`] : []),
    ...(json === undefined ? [] : [`body: JSON.stringify(${json})`]),
  ];
  const shown = file ? "(await answer.blob()).size" : isText ? "await answer.text()" : "await answer.json()";
  return [
    ...(key ? ["const key = process.env.KEY;"] : []),
    `const answer = await fetch(${literal(url)}, {`, ...options.map((option) => `  ${option},`), "});",
    `console.log(${shown});`,
  ].join("\n");
}

/** Write a chat's request for the Python client. */
export function asChatInPython(base, body, key) {
  const { messages, return: parts, ...rest } = body;
  const options = Object.entries({ ...rest, parts }).filter(([, value]) => value !== undefined);
  const secret = key ? ', key=os.environ["KEY"]' : "";
  return [
    ...(key ? ["import os", ""] : []),
    "from service.client import Client", "",
    `with Client(${literal(base)}${secret}) as client:`,
    `    messages = ${python(literal(messages))}`,
    `    answer = client.encode_chat(messages${options.map(([name, value]) => `, ${name}=${python(literal(value))}`).join("")})`,
    "    print(answer.ids)",
  ].join("\n");
}

export function block(name, text) {
  const button = h("button", { type: "button" }, `Copy ${name}`);
  button.addEventListener("click", async () => {
    await copy(text);
    button.textContent = "Copied";
  });
  return h("div", { class: "code" }, h("div", { class: "row" }, h("b", {}, name), button), h("pre", { tabindex: "0" }, text));
}
