// @ts-check
/** Loader of the view of arrays: the kernel sends its code when the first one is opened. */

import { toNode } from "../ground/element.js";
import { watchTheme } from "./theme.js";
/** @typedef {import("../ground/wire.js").Model} Model */
/** @typedef {import("./view.js").View} View */
/** What the code exports, and its styles.
 * @typedef {{showArray: typeof import("../array/array_view.js").showArray, style: string}} Viewer */

/** @type {WeakMap<Model, Promise<Viewer>>} */
const viewers = new WeakMap();

/** Ask the kernel about arrays. @param {Model} model @param {object} question @returns {Promise<any>} */
function askKernel(model, question) {
  return new Promise((resolve, reject) => {
    const id = `${Date.now()} ${Math.random()}`;
    /** @param {any} [message] @param {DataView[]} [buffers] */
    const receive = (message, buffers) => {
      if (message?.looked !== id) return;
      model.off("msg:custom", receive);
      if (message.error) reject(new Error(message.error));
      else resolve({ ...message, buffers });
    };
    model.on("msg:custom", receive);
    model.send?.({ ...question, id });
  });
}

/** @param {Model} model @returns {Promise<Viewer>} */
async function loadViewer(model) {
  const { buffers } = await askKernel(model, { look: "code" });
  const [script, style] = buffers.map((/** @type {DataView} */ buffer) => new TextDecoder().decode(buffer));
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return { ...(await import(url)), style };
}

/**
 * Show an array in an element; say there why it cannot be shown.
 * @param {Model} model
 * @param {HTMLElement} host
 * @param {object} question
 * @param {() => void} [close]
 */
async function showIn(model, host, question, close) {
  host.textContent = "asking the kernel …";
  try {
    if (!viewers.has(model)) viewers.set(model, loadViewer(model));
    const { showArray, style } = await /** @type {Promise<Viewer>} */ (viewers.get(model));
    await showArray(host, (asked) => askKernel(model, asked), question, style, close);
  } catch (error) {
    host.textContent = `Not shown: ${/** @type {Error} */ (error).message}`;
  }
}

/**
 * Show the array that an element with `data-look` names, below the graph.
 * @param {View} view
 * @param {Element|null} target
 */
export function openArray(view, target) {
  const asked = target?.closest("[data-look]:not([disabled])")?.getAttribute("data-look");
  if (!asked) return;
  const host = view.getPart("xs-array");
  host.hidden = false;
  const question = JSON.parse(asked);
  showIn(view.model, host, { program: view.store.measured?.number, ...question }, () => {
    host.hidden = true;
    host.textContent = "";
    view.graph.svg.focus({ preventScroll: true });
  });
}

/** Show the array of a model that is nothing else. @param {Model} model @param {HTMLElement} host */
export function renderArray(model, host) {
  const root = /** @type {HTMLElement} */ (toNode({ tag: "div", attributes: { class: "xs-root" }, children: [] }));
  host.append(root);
  showIn(model, root, { handle: model.get("array") });
  return watchTheme(root);
}
