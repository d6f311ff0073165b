// @ts-check
/**
 * Extension of JupyterLab 4 and Notebook 7 that docks an element beside the notebook of a kernel. It is written by hand
 * in the form that module federation loads, so that the wheel needs no Node: a container with `init` and `get`.
 *
 * A server may have another version of it than the kernel has of xlascope. So it knows nothing of panels, and its
 * interface stays: `__xlascope_dock({node, kernel, closed})` shows `node` beside the notebook whose kernel has that id,
 * calls `closed()` when the user closes it or its notebook, and returns `{close()}`, which does not call it.
 */
(() => {
  /** @type {Record<string, Record<string, {get(): Promise<() => any>, loaded?: unknown}>>} */
  let scope = {};

  /** Return a module that JupyterLab shares. @param {string} name */
  async function load(name) {
    const versions = Object.values(scope[name] ?? {});
    const chosen = versions.find((version) => version.loaded) ?? versions[0];
    if (!chosen) throw new Error(`xlascope: this page shares no ${name}`);
    return (await chosen.get())();
  }

  /** Return the open notebook with a kernel, else the document in front. @param {any} shell @param {string} kernel */
  function findNotebook(shell, kernel) {
    const open = [...shell.widgets("main")];
    const owner = open.find((widget) => kernel && widget.sessionContext?.session?.kernel?.id === kernel);
    return owner ?? shell.currentWidget;
  }

  /** The share of the width that a panel in the side bar gets. */
  const SHARE = 0.45;

  /** Widen the side bar on the right, where it is narrower. @param {any} widget */
  function widen(widget) {
    let split = widget.parent;
    while (split && !(split.setRelativeSizes && split.orientation === "horizontal")) split = split.parent;
    const sizes = split?.relativeSizes() ?? [];
    if (sizes.length < 2 || sizes.at(-1) >= SHARE) return;
    const rest = sizes.slice(0, -1).reduce((/** @type {number} */ sum, /** @type {number} */ size) => sum + size, 0);
    split.setRelativeSizes([
      ...sizes.slice(0, -1).map((/** @type {number} */ size) => (size / rest) * (1 - SHARE)),
      SHARE,
    ]);
  }

  /** @param {any} app @param {any} Widget the class of Lumino */
  function makeDock(app, Widget) {
    class Dock extends Widget {
      /** @param {unknown} message */
      onCloseRequest(message) {
        super.onCloseRequest(message);
        this.dispose();
      }
    }
    let count = 0;
    /** @type {Map<string, {close(): void}>} */ const docks = new Map();
    return (/** @type {{node: HTMLElement, kernel: string, closed: () => void}} */ { node, kernel, closed }) => {
      const { shell } = app;
      docks.get(kernel)?.close(); // of the same kernel, before it was restarted
      const notebook = findNotebook(shell, kernel);
      const widget = new Dock();
      const name = notebook?.title.label;
      widget.id = `xlascope-dock-${++count}`;
      widget.addClass("xlascope-dock");
      Object.assign(widget.title, { label: name ? `xlascope · ${name}` : "xlascope", closable: true });
      widget.title.caption = "the programs of the cell that ran last";
      widget.node.style.cssText = "overflow:auto;background:var(--jp-layout-color1,#fff);padding:4px 8px";
      widget.node.append(node);
      let ended = () => closed();
      widget.disposed.connect(() => ended());
      notebook?.disposed.connect(() => widget.dispose());
      // Notebook 7 shows one document, and so does JupyterLab's simple mode.
      if (shell.mode === "multiple-document") {
        shell.add(widget, "main", { mode: "split-right", ref: notebook?.id, activate: false });
      } else {
        shell.add(widget, "right");
        shell.activateById(widget.id);
        widen(widget);
      }
      const close = () => {
        ended = () => {};
        widget.dispose();
      };
      docks.set(kernel, { close });
      return { close };
    };
  }

  const plugin = {
    id: "xlascope:dock",
    description: "Docks the panel of xlascope beside the notebook.",
    autoStart: true,
    async activate(/** @type {any} */ app) {
      const { Widget } = await load("@lumino/widgets");
      /** @type {any} */ (globalThis).__xlascope_dock = makeDock(app, Widget);
    },
  };

  const containers = (/** @type {any} */ (globalThis)._JUPYTERLAB ??= {});
  containers.xlascope = {
    init(/** @type {typeof scope} */ shared) {
      scope = shared;
    },
    async get(/** @type {string} */ module) {
      if (module !== "./extension") throw new Error(`xlascope has no module ${module}`);
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
