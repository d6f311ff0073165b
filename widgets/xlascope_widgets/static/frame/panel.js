// @ts-check
/** Entry points of the widget for its host. All viewing happens here, without the kernel. */

import { getStore, removeStore, subscribeStore } from "../store/stores.js";
import { renderArray } from "./array_loader.js";
import { openLibrary } from "./library.js";
import { View } from "./view.js";
/** @typedef {import("../ground/wire.js").Model} Model */

/**
 * Prepare a model before any view exists, so that data that arrives early is not lost.
 * @param {{model: Model}} context
 */
export function initialize({ model }) {
  if (model.get("is_library"))
    return openLibrary(model, {
      initialize,
      render,
      forget: (/** @type {{model: Model}} */ context) => removeStore(context.model),
    });
  if (model.get("array")) return undefined;
  const store = getStore(model);
  store.stop?.();
  store.stop = subscribeStore(model, store);
  return () => removeStore(model);
}

/** Create a view of a model. @param {{model: Model, el: HTMLElement}} context */
export function render({ model, el: host }) {
  if (model.get("array")) return renderArray(model, host);
  const store = getStore(model);
  if (!store.stop) initialize({ model });
  const view = new View(model, store, host);
  return () => view.remove();
}
