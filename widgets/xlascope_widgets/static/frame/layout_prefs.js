// @ts-check
/** Sizes of the panes, which the user drags and the browser saves, and full screen. */

/** @typedef {import("./view.js").View} View */

/** Where the browser keeps what somebody chose: shares of the width in percent, and the graph's height in pixels. */
const KEY = "xlascope.room";
const LEAST = 10,
  MOST = 75,
  STEP = 2;
/** The width from which on three panes stand side by side, as in the style sheet. */
const THREE = 1560;

/** @typedef {{left?: number, right?: number, half?: number, graph?: number}} Chosen */

/** @returns {Chosen} */
export function readLayoutPrefs() {
  // A page of a file, or in a sandbox, has no local storage.
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Chosen} change */
export function saveLayoutPrefs(change) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...readLayoutPrefs(), ...change }));
  } catch {
    // Without local storage it lasts as long as the page.
  }
}

/** Apply the saved sizes of the panes, and let the user change them. @param {View} view */
export function initSplitters(view) {
  const panes = view.getPart("xs-panes");
  const prefs = readLayoutPrefs();
  for (const side of /** @type {const} */ (["left", "right", "half"]))
    if (prefs[side]) panes.style.setProperty(`--xs-${side}`, `${prefs[side]}%`);
  for (const splitter of /** @type {HTMLElement[]} */ ([...panes.querySelectorAll(".xs-split")]))
    attachSplitter(view, panes, splitter);
}

/** @param {View} view @param {HTMLElement} panes @param {HTMLElement} splitter */
function attachSplitter(view, panes, splitter) {
  const isRight = splitter.classList.contains("right");
  /** @returns {"left"|"right"|"half"} */
  const getSide = () => (isRight ? "right" : panes.clientWidth >= THREE ? "left" : "half");
  const setShare = (/** @type {number} */ share) => {
    const value = Math.round(Math.min(MOST, Math.max(LEAST, share)) * 10) / 10;
    panes.style.setProperty(`--xs-${getSide()}`, `${value}%`);
    splitter.setAttribute("aria-valuenow", String(value));
    return value;
  };
  const computeShareAt = (/** @type {number} */ x) => {
    const box = panes.getBoundingClientRect();
    const share = ((x - box.left) / box.width) * 100;
    return isRight ? 100 - share : share;
  };
  const commitShare = (/** @type {number} */ share) => {
    saveLayoutPrefs({ [getSide()]: setShare(share) });
    view.graph.place();
    view.graph.paint();
  };
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  splitter.addEventListener("pointermove", (event) => {
    if (splitter.hasPointerCapture(event.pointerId)) setShare(computeShareAt(event.clientX));
  });
  splitter.addEventListener("pointerup", (event) => commitShare(computeShareAt(event.clientX)));
  splitter.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[/** @type {"ArrowLeft"} */ (event.key)];
    if (!step) return;
    event.preventDefault();
    const box = splitter.getBoundingClientRect();
    commitShare(computeShareAt(box.left + box.width / 2) + (isRight ? -step : step));
  });
}

/** Toggle full screen for a panel; where the page may not use full screen, fill the page. @param {View} view */
export async function toggleFullScreen(view) {
  const { root } = view;
  const page = root.ownerDocument;
  if (page.fullscreenElement === root) await page.exitFullscreen();
  else if (root.classList.contains("xs-full")) root.classList.remove("xs-full");
  else
    await Promise.resolve()
      .then(() => root.requestFullscreen())
      .catch(() => root.classList.add("xs-full"));
  updateFullScreen(view);
}

/** @param {View} view */
export function isFullScreen({ root }) {
  return root.ownerDocument.fullscreenElement === root || root.classList.contains("xs-full");
}

/** Give the graph the height of the screen. @param {View} view */
export function updateFullScreen(view) {
  const full = isFullScreen(view);
  view.graph.mostHigh = full ? Math.max(400, view.root.clientHeight - 330) : 0;
  view.graph.draw({ fit: true });
  view.drawBar();
}
