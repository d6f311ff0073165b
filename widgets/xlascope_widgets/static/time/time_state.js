// @ts-check
/** State of the panes of times, kept beside the store so that a view that is drawn again finds it. */

/** @typedef {import("../store/store.js").Store} Store */

/**
 * @typedef {object} TimeState
 * @property {"pass"|"kind"} colour what the colours of the timeline mean
 * @property {Map<number, [number, number]>} views the part of the timeline that is seen, by program
 * @property {string} by whose times are listed
 * @property {string} order what the list is sorted by
 * @property {Map<number, number>} at the kernel at which memory is shown, by program
 */

/** @type {WeakMap<Store, TimeState>} */
const states = new WeakMap();

/** @param {Store} store @returns {TimeState} */
export function getTimeState(store) {
  /** @type {TimeState} */ const state = states.get(store) ?? {
    colour: "pass",
    views: new Map(),
    by: "kernels",
    order: "time",
    at: new Map(),
  };
  states.set(store, state);
  return state;
}
