// @ts-check
/** Stores by model; each follows the state of its model. */

import { Store } from "./store.js";
/** @typedef {import("../ground/wire.js").Model} Model */

/** @returns {Map<string, Store>} the stores of all models in this page */
function getStores() {
  const page = /** @type {{__xlascope_stores?: Map<string, Store>}} */ (globalThis);
  return (page.__xlascope_stores ??= new Map());
}

/**
 * Return the store of a model, the same for every view and every reload of this code.
 * @param {Model} model
 * @returns {Store}
 */
export function getStore(model) {
  const stores = getStores();
  const uid = model.get("uid");
  let store = stores.get(uid);
  if (!store) stores.set(uid, (store = new Store()));
  store.uid = uid;
  return store;
}

/** Remove the store of a model that is gone. @param {Model} model */
export function removeStore(model) {
  getStore(model).stop?.();
  getStores().delete(model.get("uid"));
}

/** Subscribe a store to its model: to the current state and every change. @param {Model} model @param {Store} store */
export function subscribeStore(model, store) {
  const programs = () => store.takePrograms(model.get("programs"), model.get("jaxprs"));
  const live = () => store.takeLive(model.get("live"), model.get("profiles"));
  const open = () => store.notify("open");
  const asks = () => {
    store.queries.readModel(model);
    store.notify("asks");
  };
  store.queries.readModel(model);
  const origin = getStores().get(model.get("live")?.origin ?? "");
  if (origin && store.seq < 0) store.adopt(origin);
  const changes = {
    "change:programs": programs,
    "change:live": live,
    "change:opened": open,
    "change:answers": asks,
    "change:findings": asks,
    "change:questions": asks,
  };
  for (const [name, handler] of Object.entries(changes)) model.on(name, handler);
  live();
  programs();
  return () => {
    for (const [name, handler] of Object.entries(changes)) model.off(name, handler);
  };
}
