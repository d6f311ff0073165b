// @ts-check
/** The widget, as its host calls it. Everything that is only looking happens here, without the kernel. */

import { follow, forget, storeOf } from "../store/stores.js";
import { openLibrary } from "./library.js";
import { View } from "./view.js";
/** @typedef {import("../ground/wire.js").Model} Model */

/** Called once for a model, before any view: data that arrives early is not lost. @param {{model: Model}} context */
export function initialize({ model }) {
  if (model.get("is_library"))
    return openLibrary(model, {
      initialize,
      render,
      forget: (/** @type {{model: Model}} */ context) => forget(context.model),
    });
  const store = storeOf(model);
  store.stop?.();
  store.stop = follow(model, store);
  return () => forget(model);
}

/** Called for every view. @param {{model: Model, el: HTMLElement}} context */
export function render({ model, el: host }) {
  const store = storeOf(model);
  if (!store.stop) initialize({ model });
  const view = new View(model, store, host);
  return () => view.remove();
}
