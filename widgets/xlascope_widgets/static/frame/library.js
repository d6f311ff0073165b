// @ts-check
/** The code in a page: it is sent once for each kernel. Panels find it by its number, and so do the elements that a
 * saved output consists of: a picture, which becomes a panel wherever a page knows the panel's kernel. */

/** @typedef {import("../ground/wire.js").Model} Model */

/** @typedef {Model["widget_manager"]} Manager */
/**
 * What a library offers to models and views.
 * @typedef {{initialize(context: {model: Model}): unknown, render(context: {model: Model, el: HTMLElement}): () =>
 * void, forget(context: {model: Model}): void}} Code
 */
/** @typedef {Code & {mount(element: PanelElement): () => void, pin(uid: string): void}} Library */
/** An output that becomes a panel. @typedef {HTMLElement & {begin(): void, end?: () => void}} PanelElement */
/** @typedef {{libraries: Map<string, Library>, elements: Set<PanelElement>}} Page */

/** How long a view is kept that left the page: an output that is drawn anew gets it back as it was. */
const KEPT = 1000;

/**
 * Return the state that all versions and kernels in this page share.
 * @returns {Page} what all versions and kernels in this page share
 */
function getPageState() {
  return (/** @type {{__xlascope?: Page}} */ (globalThis).__xlascope ??= { libraries: new Map(), elements: new Set() });
}

/**
 * Return what docks an element beside the notebook, where our extension of JupyterLab is installed.
 * @returns {((what: {node: HTMLElement, kernel: string, closed: () => void}) => {close: () => void})|undefined}
 */
export const getDock = () => /** @type {any} */ (globalThis).__xlascope_dock;

/** Dock the panel that the kernel pinned, and take it away again. @param {Model} model */
function followPin(model) {
  /** @type {{close: () => void}|undefined} */ let dock;
  const update = () => {
    dock?.close();
    dock = undefined;
    const panel = model.get("pinned");
    if (!panel) return;
    const node = document.createElement("xlascope-panel");
    node.setAttribute("library", model.get("uid"));
    node.setAttribute("panel", panel);
    const kernel = model.widget_manager?.kernel?.id ?? "";
    dock = getDock()?.({ node, kernel, closed: () => model.send?.({ pin: "" }) });
  };
  model.on("change:pinned", update);
  update();
}

/** Ask the kernel to pin a panel, or to unpin it. @param {Model} model @param {boolean} on */
export function requestPin(model, on) {
  getPageState()
    .libraries.get(model.get("library") ?? "")
    ?.pin(on ? model.get("uid") : "");
}

/** @param {Model} model @param {Code} code */
export function openLibrary(model, code) {
  const page = getPageState();
  const id = model.get("uid");
  const library = {
    ...code,
    mount: (/** @type {PanelElement} */ element) => mountPanel(element, model.widget_manager, code),
    pin: (/** @type {string} */ pin) => model.send?.({ pin }),
  };
  page.libraries.set(id, library);
  defineElement();
  for (const element of page.elements) element.begin();
  // Outputs can be elements only where they share one page; elsewhere each has to be a widget.
  if (!document.querySelector(".jp-LabShell, .jp-NotebookPanel, #jupyter-config-data")) return;
  model.set("mounted", true);
  model.set("docks", Boolean(getDock()));
  model.save_changes();
  followPin(model);
}

/**
 * Define the element whose picture becomes a panel. It only looks up its library; that library's version does the rest.
 */
function defineElement() {
  if (customElements.get("xlascope-panel")) return;
  customElements.define(
    "xlascope-panel",
    class extends HTMLElement {
      /** @type {(() => void)|undefined} */ end = undefined;

      connectedCallback() {
        getPageState().elements.add(this);
        this.begin();
      }

      disconnectedCallback() {
        getPageState().elements.delete(this);
        const { end } = this;
        this.end = undefined;
        end?.();
      }

      begin() {
        const library = getPageState().libraries.get(this.getAttribute("library") ?? "");
        if (library && !this.end) this.end = library.mount(this);
      }
    },
  );
}

/**
 * @typedef {{host: HTMLElement, remove: () => void, focused: HTMLElement|undefined, timer?: ReturnType<typeof
 * setTimeout>}} Kept
 */

/** Views that have just left the page, by panel. @type {Map<string, Kept>} */
const keptViews = new Map();

/**
 * Show a panel in place of an element's picture; return a function that ends that.
 * @param {PanelElement} element
 * @param {Manager} manager
 * @param {Code} code
 */
function mountPanel(element, manager, code) {
  const id = element.getAttribute("panel") ?? "";
  /** @type {Kept|undefined} */ let view = keptViews.get(id);
  let removed = false;
  const show = () => {
    const picture = /** @type {HTMLElement|null} */ (element.firstElementChild);
    if (picture) picture.hidden = true;
    // The host's styles for text would apply to every heading and table of the panel.
    element.closest(".jp-RenderedHTMLCommon")?.classList.remove("jp-RenderedHTMLCommon");
    if (view) element.append(view.host);
  };
  if (view) {
    keptViews.delete(id);
    clearTimeout(view.timer);
    show();
    if (view.focused?.isConnected) view.focused.focus({ preventScroll: true });
  } else {
    fetchModel(manager, id, () => removed).then((model) => {
      if (removed || !model) return; // the kernel has forgotten it: the picture stays
      view = createView(model, code);
      show();
    });
  }
  return () => {
    removed = true;
    if (!view) return;
    const detached = view;
    keptViews.get(id)?.remove();
    keptViews.set(id, detached);
    detached.timer = setTimeout(() => {
      if (keptViews.get(id) === detached) keptViews.delete(id);
      detached.remove();
    }, KEPT);
  };
}

/**
 * Return the model with this id, which may come later than its element; undefined after ten seconds.
 * @param {Manager} manager
 * @param {string} id
 * @param {() => boolean} gone
 * @returns {Promise<Model|undefined>}
 */
async function fetchModel(manager, id, gone) {
  for (let tries = 0; tries < 50 && !gone(); tries++) {
    const model = await Promise.resolve()
      .then(() => manager?.get_model(id))
      .catch(() => undefined);
    if (model) return model;
    await new Promise((go) => setTimeout(go, 200));
  }
  return undefined;
}

/** @param {Model} model @param {Code} code @returns {Kept} */
function createView(model, code) {
  const host = document.createElement("div");
  /** @type {Kept} */ const view = { host, remove: code.render({ model, el: host }), focused: undefined };
  host.addEventListener("focusin", (event) => (view.focused = /** @type {HTMLElement} */ (event.target)));
  // An element removed from the page also loses the focus; restore it.
  host.addEventListener("focusout", () =>
    setTimeout(() => {
      if (host.isConnected && !host.contains(document.activeElement)) view.focused = undefined;
    }),
  );
  return view;
}
