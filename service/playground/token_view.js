/** Coloured tokens. Of a long text only the blocks that are near what is seen hold elements. */

import { h } from "./dom.js";
import { directionOf, visible, visibleParts } from "./visible.js";

const BLOCK = 150;
const COLOURS = 6;
/** More characters of one token are not drawn: marks may be put on one letter without end. */
const MOST_SHOWN = 200;

export class TokenView {
  /** `chosen` is called with a token when it is pointed at or focused. */
  constructor(root, chosen = () => {}) {
    this.root = root;
    this.tokens = [];
    this.blocks = [];
    this.spaces = true;
    this.at = 0;
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.toggle(entry)), { rootMargin: "400px" });
    const tell = (event) => {
      const element = event.target.closest?.("[data-index]");
      if (element) chosen(this.tokens[element.dataset.index], Number(element.dataset.index));
    };
    root.addEventListener("pointerover", tell);
    root.addEventListener("focusin", tell);
    root.addEventListener("keydown", (event) => this.move(event));
  }

  show(tokens, { spaces = true, differs = () => false } = {}) {
    Object.assign(this, { tokens, spaces, differs, at: 0 });
    this.observer.disconnect();
    this.root.dir = directionOf(tokens.slice(0, BLOCK).map((token) => (token.special && !token.unknown ? "" : token.whole ?? token.text)).join(""));
    this.blocks = blocksOf(tokens).map(([start, end]) => {
      const block = h("div", { class: "block", role: "group", "aria-label": `tokens ${start + 1} to ${end}` });
      Object.assign(block, { range: [start, end] });
      return block;
    });
    this.root.replaceChildren(...this.blocks);
    for (const block of this.blocks) block.style.minHeight = `${Math.ceil((block.range[1] - block.range[0]) / 14) * 1.9}em`;
    this.blocks.slice(0, 2).forEach((block) => this.fill(block));
    if (this.blocks.length > 2) this.blocks.forEach((block) => this.observer.observe(block));
  }

  toggle({ target, isIntersecting }) {
    if (isIntersecting) {
      this.fill(target);
    } else if (target.firstChild && !target.contains(document.activeElement)) {
      target.style.minHeight = `${target.offsetHeight}px`;
      target.replaceChildren();
    }
  }

  fill(block) {
    if (block.firstChild) return;
    const [start, end] = block.range;
    block.style.minHeight = "";
    for (let index = start; index < end; index++) block.append(this.element(index));
  }

  element(index) {
    const token = this.tokens[index];
    const classes = ["token", `c${index % COLOURS}`];
    if (token.unknown) classes.push("unknown");
    else if (token.special) classes.push("special");
    if (this.differs(token)) classes.push("differs");
    if (token.chips) classes.push("half", token.opens ? "opens" : "", token.closes ? "closes" : "");
    const element = h("span", {
      class: classes.join(" "), role: "option", tabindex: "-1", "aria-selected": "false", "data-index": index, "aria-label": spoken(token),
      // Signs alone are mirrored as the text around them is.
      dir: /\p{L}/u.test(token.text) ? "auto" : null,
    });
    if (token.chips) {
      element.append(...token.chips.slice(0, MOST_SHOWN).map((byte) => h("span", { class: "byte" }, byte)));
      if (token.closes) element.append(h("bdi", { class: "whole" }, ...nodesOf(token.whole)));
      return element;
    }
    const text = token.text.length > MOST_SHOWN ? `${token.text.slice(0, MOST_SHOWN)}…` : token.text;
    element.append(...nodesOf(text, this.spaces));
    return element;
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || !this.tokens.length) return;
    event.preventDefault();
    const inside = this.root.contains(document.activeElement) && document.activeElement !== this.root;
    const next = inside || !Number.isFinite(step) ? this.at + step : 0;
    this.at = Math.max(0, Math.min(this.tokens.length - 1, next));
    const block = this.blocks.find(({ range }) => this.at < range[1]);
    this.fill(block);
    const element = block.children[this.at - block.range[0]];
    this.root.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    element.setAttribute("aria-selected", "true");
    element.focus();
  }
}

/** The element of a mark; a number is framed, as the bytes are. */
export const markOf = (shown) => h("span", { class: shown.length > 1 ? "mark byte" : "mark" }, shown);

const nodesOf = (text, spaces) => visibleParts(text, spaces).map(([part, isMark]) => (isMark ? markOf(part) : part));

function spoken(token) {
  const what = token.chips ? `bytes ${token.chips.slice(0, 8).join(" ")} of ${token.whole}` : visible(token.text.slice(0, MOST_SHOWN));
  return `${token.unknown ? "unknown " : token.special ? "special token " : ""}${what}, id ${token.id}`;
}

/** Cut tokens into blocks, at the end of a line where there is one. */
function blocksOf(tokens) {
  const blocks = [];
  let start = 0;
  while (start < tokens.length) {
    let end = Math.min(start + BLOCK, tokens.length);
    for (let at = end; end < tokens.length && at > start + BLOCK / 2; at--) {
      if (tokens[at - 1].text.endsWith("\n")) {
        end = at;
        break;
      }
    }
    blocks.push([start, end]);
    start = end;
  }
  return blocks;
}
