// @ts-check
/** A second panel in a browser tab, which follows the notebook while that is open: both show one store. */

/** @typedef {import("./view.js").View} View */

/**
 * Open a tab with a second view of what a view shows.
 * @param {View} view
 * @param {(host: HTMLElement) => {remove: () => void}} show
 * @returns {boolean} whether a tab could be opened
 */
export function openTab(view, show) {
  const here = view.root.ownerDocument;
  const tab = here.defaultView?.open("", "_blank");
  if (!tab) return false;
  const page = tab.document;
  page.title = `${view.store.program?.function ?? "program"} · xlascope`;
  for (const style of here.querySelectorAll("style"))
    if (style.textContent?.includes(".xs-root")) page.head.append(page.importNode(style, true));
  page.body.style.cssText = `margin:8px;background:${getComputedStyle(view.panel).backgroundColor}`;
  const second = show(page.body);
  // The code runs in the notebook's page: when that closes, the tab stops updating.
  tab.addEventListener("pagehide", () => second.remove(), { once: true });
  return true;
}
