// @ts-check
/** Code of a single panel: it finds the library, which is sent once, and delegates everything to it. */

/** @typedef {import("./ground/wire.js").Model} Model */
/** @typedef {import("./frame/library.js").Page} Page */

/** @returns {Page} what all versions and kernels in this page share */
const page = () =>
  (/** @type {{__xlascope?: Page}} */ (globalThis).__xlascope ??= { libraries: new Map(), elements: new Set() });

/**
 * Return the library. The order of loading is not known: some front ends create a model only when it is used.
 * @param {Model} model
 */
async function findLibrary(model) {
  const id = model.get("library") ?? "";
  for (let tries = 0; tries < 200 && !page().libraries.has(id); tries++) {
    await Promise.resolve()
      .then(() => model.widget_manager?.get_model(id))
      .catch(() => {});
    if (!page().libraries.has(id)) await new Promise((go) => setTimeout(go, 50));
  }
  return page().libraries.get(id);
}

export default {
  // Do not await this: messages to the model would wait for it.
  initialize(/** @type {{model: Model}} */ { model }) {
    const library = findLibrary(model);
    library.then((code) => code?.initialize({ model }));
    return () => library.then((code) => code?.forget({ model }));
  },
  async render(/** @type {{model: Model, el: HTMLElement}} */ { model, el }) {
    const code = await findLibrary(model);
    if (code) return code.render({ model, el });
    el.textContent = "xlascope: the panel's code did not arrive. Run the cell again.";
    return undefined;
  },
};
