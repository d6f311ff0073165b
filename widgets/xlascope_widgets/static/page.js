// @ts-check
/**
 * Panel in a page of its own: its state is part of the page, in the form that a notebook's front end gives a widget.
 */

import { initialize, render } from "./frame/panel.js";

/** @type {Record<string, any>} */
const state = JSON.parse(document.getElementById("xlascope-state")?.textContent ?? "{}");
/** @type {Map<string, Set<() => void>>} */
const handlers = new Map();

const model = {
  get: (/** @type {string} */ name) => state[name],
  set(/** @type {string} */ name, /** @type {unknown} */ value) {
    state[name] = value;
    for (const handler of handlers.get(`change:${name}`) ?? []) handler();
  },
  on(/** @type {string} */ event, /** @type {() => void} */ handler) {
    handlers.set(event, (handlers.get(event) ?? new Set()).add(handler));
  },
  off(/** @type {string} */ event, /** @type {() => void} */ handler) {
    handlers.get(event)?.delete(handler);
  },
  save_changes() {},
  send() {},
};

const host = document.getElementById("xlascope-panel");
initialize({ model });
if (host) render({ model, el: host });
