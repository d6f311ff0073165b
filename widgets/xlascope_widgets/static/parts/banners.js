// @ts-check
/** What a banner is about may be known already: it can be closed, and does not come back. */

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
    const known = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(known) ? known : [];
  } catch {
    return [];
  }
}

/** Texts may be long: a number stands for them. @param {string} text */
function hashText(text) {
  let found = 5381;
  for (let i = 0; i < text.length; i++) found = (Math.imul(found, 33) ^ text.charCodeAt(i)) >>> 0;
  return `${found.toString(36)}.${text.length}`;
}

/** @param {string} about */
export function isClosed(about) {
  return closedHere.has(hashText(about)) || readClosedBanners().includes(hashText(about));
}

/** A button that closes what says that. @param {string} about */
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
 * A banner, or nothing where one about this was closed.
 * @param {string} about
 * @param {Record<string, string|null>} attributes
 * @param {...Child} children
 */
export function drawBanner(about, attributes, ...children) {
  return isClosed(about) ? null : el("div", { class: "xs-note", ...attributes }, drawCloseButton(about), children);
}

/** A click on a button that closes; true when it was one. @param {Element} target */
export function handleCloseClick(target) {
  const number = target.closest("[data-close]")?.getAttribute("data-close");
  if (!number) return false;
  closedHere.add(number);
  try {
    localStorage.setItem(
      KEY,
      JSON.stringify([...readClosedBanners().filter((each) => each !== number), number].slice(-MOST)),
    );
  } catch {
    // It holds as long as the page.
  }
  return true;
}
