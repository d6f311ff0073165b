// @ts-check
/** Banners that the user can close for good. */

import { el } from "../ground/element.js";
/** @typedef {import("../ground/element.js").Child} Child */

/** Where the browser keeps which are closed, and how many of them. */
const KEY = "xlascope.closed",
  MOST = 200;

/** Those closed since the page was loaded: of a file, or in a sandbox, that is all there is. @type {Set<string>} */
const closedHere = new Set();

/** @returns {string[]} */
function readClosedBanners() {
  try {
    const closed = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(closed) ? closed : [];
  } catch {
    return [];
  }
}

/** Return a short key of a text, which may be long. @param {string} text */
function hashText(text) {
  let hash = 5381;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 33) ^ text.charCodeAt(i)) >>> 0;
  return `${hash.toString(36)}.${text.length}`;
}

/** @param {string} about */
export function isClosed(about) {
  return closedHere.has(hashText(about)) || readClosedBanners().includes(hashText(about));
}

/** Draw the button that closes a banner. @param {string} about */
export function drawCloseButton(about) {
  return el(
    "button",
    {
      class: "xs-close",
      type: "button",
      "data-close": hashText(about),
      "aria-label": "close this",
      title: "close; it does not come back",
    },
    "×",
  );
}

/**
 * Draw a banner, or nothing where it was closed.
 * @param {string} about
 * @param {Record<string, string|null>} attributes
 * @param {...Child} children
 */
export function drawBanner(about, attributes, ...children) {
  return isClosed(about) ? null : el("div", { class: "xs-note", ...attributes }, drawCloseButton(about), children);
}

/** Handle a click on a close button; return whether it was one. @param {Element} target */
export function handleCloseClick(target) {
  const number = target.closest("[data-close]")?.getAttribute("data-close");
  if (!number) return false;
  closedHere.add(number);
  try {
    localStorage.setItem(
      KEY,
      JSON.stringify([...readClosedBanners().filter((other) => other !== number), number].slice(-MOST)),
    );
  } catch {
    // Without local storage it lasts as long as the page.
  }
  return true;
}
