// @ts-check
/** Dark or light theme, which follows the host. */

/** Return whether the host is dark: JupyterLab, VS Code, Colab, or else the system. */
function isHostDark() {
  const { body, documentElement } = document;
  const lab = body.getAttribute("data-jp-theme-light");
  if (lab) return lab === "false";
  if (body.className.includes("vscode-")) return !body.classList.contains("vscode-light");
  const colab = documentElement.getAttribute("theme");
  return colab ? colab === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Mark the panel as dark when the host is; return a function that ends that.
 * @param {HTMLElement} root
 * @returns {() => void}
 */
export function watchTheme(root) {
  const apply = () => root.classList.toggle("dark", isHostDark());
  const observer = new MutationObserver(apply);
  for (const element of [document.body, document.documentElement]) observer.observe(element, { attributes: true });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", apply);
  apply();
  return () => {
    observer.disconnect();
    system.removeEventListener("change", apply);
  };
}
