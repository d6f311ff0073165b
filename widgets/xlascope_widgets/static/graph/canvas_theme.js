// @ts-check
/** The panel's colours and fonts for a canvas, which cannot use style sheets. */

/** @typedef {Record<string, string>} Theme */

const NAMES = [
  "bg",
  "bg2",
  "ink",
  "ink2",
  "line2",
  "hull",
  "fwd",
  "bwd",
  "upd",
  "again",
  "sel",
  "onbar",
  "onheat",
  "heat0",
  "heat1",
  "heat2",
  "heat3",
  "heat4",
  "mono",
];

export const PASS_COLOURS = { forward: "fwd", backward: "bwd", update: "upd", recomputed: "again" };

/** Return the current colours and fonts. @param {Element} element anything in the panel @returns {Theme} */
export function readTheme(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--xs-${name}`).trim() || "#888"]));
}

/**
 * Call a function when the host changes its colours.
 * @param {Element} root
 * @param {() => void} changed
 * @returns {() => void} stops it
 */
export function watchColours(root, changed) {
  const observer = new MutationObserver(changed);
  observer.observe(root, { attributes: true, attributeFilter: ["class"] });
  for (const element of [document.body, document.documentElement]) observer.observe(element, { attributes: true });
  return () => observer.disconnect();
}
