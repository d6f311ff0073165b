// @ts-check
/** The share menu: text, picture and offline page of what is shown, written by the kernel. */

import { el } from "../ground/element.js";
/** @typedef {import("./view.js").View} View */

/** What the menu offers, by suffix. */
const FORMATS = { txt: "copy text", svg: "picture (SVG)", png: "picture (PNG)", html: "offline page" };

/** Draw the menu. A details element needs no code to open by mouse or keys, or to tell screen readers its state. */
export function drawShareMenu() {
  return el(
    "details",
    { class: "xs-sharing" },
    el("summary", { class: "xs-pill" }, "share ▾"),
    el(
      "div",
      {},
      Object.entries(FORMATS).map(([suffix, label]) =>
        el("button", { class: "xs-pill", type: "button", "data-command": `share ${suffix}` }, label),
      ),
    ),
  );
}

/** Close the menu; return whether it was open. @param {View} view */
export function closeShareMenu(view) {
  const menu = view.root.querySelector(".xs-sharing[open]");
  menu?.removeAttribute("open");
  if (menu?.contains(view.active)) /** @type {HTMLElement} */ (menu.firstChild).focus({ preventScroll: true });
  return Boolean(menu);
}

/** Ask the kernel for a file, and copy or download what it sends. @param {View} view @param {string} suffix */
export function share(view, suffix) {
  const { model, store } = view;
  const id = `${Date.now()} ${Math.random()}`;
  const tell = (/** @type {string} */ words) => {
    view.getPart("xs-count").textContent = words;
  };
  /** @param {any} [message] @param {DataView[]} [buffers] */
  const receive = async (message, buffers) => {
    if (message?.shared !== id) return;
    model.off("msg:custom", receive);
    if (!buffers?.length) return tell(message.error);
    const blob = new Blob(/** @type {BlobPart[]} */ (buffers), { type: message.type });
    try {
      if (suffix !== "txt") throw 0;
      await view.window.navigator.clipboard.writeText(await blob.text());
      tell("copied");
    } catch {
      // It is a file, or the page may not write to the clipboard.
      const link = view.root.ownerDocument.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = message.name;
      link.click();
      URL.revokeObjectURL(link.href);
      tell(`saved ${message.name}`);
    }
  };
  model.on("msg:custom", receive);
  store.queries.sendMessage(store, { share: suffix, id, program: store.program?.number });
  closeShareMenu(view);
  tell("writing …");
}
