/** The same request as a command and as a program, ready to copy. */

import { copy, h } from "./dom.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Write a value as Python: JSON, but for its three names, which are replaced outside of strings. */
const python = (value) => JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => ({ true: "True", false: "False", null: "None" })[part] ?? part);

export function curl(url, body, key) {
  const secret = key ? ' -H "authorization: Bearer $KEY"' : "";
  return `curl -s ${url} -H 'content-type: application/json'${secret} -d ${quoted(JSON.stringify(body))}`;
}

export function asPython(base, body, key) {
  const { messages, return: parts, ...rest } = body;
  const options = Object.entries({ ...rest, parts }).filter(([, value]) => value !== undefined);
  const secret = key ? ', key=os.environ["KEY"]' : "";
  return [
    ...(key ? ["import os", ""] : []),
    "from service.client import Client", "",
    `with Client(${JSON.stringify(base)}${secret}) as client:`,
    `    messages = ${python(messages)}`,
    `    answer = client.encode_chat(messages${options.map(([name, value]) => `, ${name}=${python(value)}`).join("")})`,
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
