/** The view of the steps from a piece to its ids. */

import { byId, h, number, said, tell } from "./dom.js";
import { writeFragment } from "./fragment.js";
import { Latest } from "./latest.js";
import { framesOf } from "./frames.js";
import { directionOf, visible } from "./visible.js";

const FIRST = "lower";
const latest = new Latest();
let app, pieces = [], chosen = 0, frames = [], at = 0, linked = 0;

export function create(given) {
  app = given;
  byId("merge-text").value = app.state.merge ?? FIRST;
  [chosen, linked] = [app.state.piece, app.state.step].map((value) => Math.max(0, Math.trunc(value) || 0));
  byId("merge-text").addEventListener("input", () => show());
  byId("presets").addEventListener("click", (event) => {
    if (event.target.tagName !== "BUTTON") return;
    byId("merge-text").value = event.target.textContent;
    show();
  });
  byId("step").addEventListener("input", () => go(Number(byId("step").value)));
  byId("step-first").addEventListener("click", () => go(0));
  byId("step-back").addEventListener("click", () => go(at - 1));
  byId("step-on").addEventListener("click", () => go(at + 1));
  byId("step-last").addEventListener("click", () => go(frames.length - 1));
}

export function show() {
  const text = byId("merge-text").value;
  writeFragment({ merge: text === FIRST ? null : text });
  byId("pieces").dir = byId("symbols").dir = directionOf(text);
  latest.run(() => app.client.explain({ text, tokenizer: app.tokenizer }), (answer) => {
    tell(byId("merges-error"), null);
    pieces = answer.pieces;
    choose(Math.min(chosen, Math.max(0, pieces.length - 1)));
  }, (error) => {
    pieces = [];
    choose(0);
    tell(byId("merges-error"), app.failed(error) ? null : said(error));
  });
}

function choose(index) {
  const hadFocus = byId("pieces").contains(document.activeElement);
  chosen = index;
  byId("pieces").replaceChildren(...pieces.map((piece, place) => h("button", {
    type: "button", class: `token c${place % 6}`, "aria-pressed": String(place === index), dir: "auto", onclick: () => choose(place),
  }, visible(piece.text) || "(empty)")));
  if (hadFocus) byId("pieces").children[index]?.focus();
  frames = pieces.length ? framesOf(pieces[index]) : [];
  byId("steps-bar").hidden = frames.length < 2;
  byId("step").max = Math.max(0, frames.length - 1);
  byId("step-table").replaceChildren(...(pieces.length ? [tableOf(pieces[index])] : []));
  go(linked);
  linked = 0;
}

function go(step) {
  at = Math.max(0, Math.min(frames.length - 1, step));
  byId("step").value = at;
  byId("step-back").disabled = byId("step-first").disabled = at <= 0;
  byId("step-on").disabled = byId("step-last").disabled = at >= frames.length - 1;
  const frame = frames[at];
  writeFragment({ piece: chosen ? String(chosen) : null, step: at ? String(at) : null });
  byId("step-told").textContent = frame ? frame.told : "";
  byId("symbols").replaceChildren(...(frame?.symbols ?? []).map((symbol, index) => h(
    "span", { class: `token c${index % 6}${symbol.isNew ? " new" : ""}${symbol.isOpen ? " open" : ""}` },
    h("bdi", {}, symbol.text), symbol.id === null ? null : h("small", {}, String(symbol.id)),
  )));
  byId("step-table").querySelectorAll("tbody tr").forEach((row, index) => row.classList.toggle("now", index === frame?.row));
}

function tableOf(piece) {
  if (piece.kind === "merges") {
    return table(["step", piece.merges[0]?.score === undefined ? "rank" : "score", "token", "id"], piece.merges.map((merge, index) => [
      index + 1, number.format(merge.rank ?? merge.score), visible(merge.token.text), merge.token.id,
    ]));
  }
  if (piece.kind === "matches") {
    return table(["match", "characters", "entry", "id"], piece.matches.map((match, index) => [
      index + 1, `${match.start} to ${match.end}`, visible(match.token.text), match.token.id,
    ]));
  }
  const path = new Set(piece.path);
  const rows = piece.edges.map((edge, index) => [
    path.has(index) ? "best way" : "", `${edge.start} to ${edge.end}`, edge.token ? visible(edge.token.text) : "unknown",
    edge.token?.id ?? "", number.format(edge.score), number.format(piece.best[edge.end]),
  ]);
  return table(["", "characters", "entry", "id", "score", "best sum there"], rows, (row) => row[0] !== "");
}

function table(names, rows, isChosen = () => false) {
  if (!rows.length) return h("p", { class: "hint" }, "There is nothing to merge.");
  const line = (row) => h("tr", { class: isChosen(row) ? "chosen" : null }, ...row.map((value) => h("td", {}, h("bdi", {}, String(value)))));
  return h("table", {}, h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, ...rows.map(line)));
}
