// @ts-check
/**
 * Trees of elements as plain data, so that one drawing code serves the live panel and the static picture. Text only
 * ever enters a page as a text node or an escaped string: names, parameters, sources and errors are untrusted.
 */

/** @typedef {{tag: string, attributes: Record<string, string|number>, children: (Tree|string|number)[]}} Tree */
/**
 * What may be said to be inside of an element; nothing, and lists of lists, too.
 * @typedef {Tree|Value|readonly any[]} Child
 */
/** What an attribute may be said to be. @typedef {string|number|boolean|null|undefined} Value */

export const SVG = "http://www.w3.org/2000/svg";
export const HTML = "http://www.w3.org/1999/xhtml";

/**
 * Create an element; attributes and children that are null, undefined or false are left out.
 * @param {string} tag
 * @param {Record<string, Value>} [attributes]
 * @param {...Child} children
 * @returns {Tree}
 */
export function el(tag, attributes = {}, ...children) {
  const present = Object.entries(attributes).filter(([, value]) => value != null && value !== false);
  return {
    tag,
    attributes: /** @type {Tree["attributes"]} */ (Object.fromEntries(present)),
    children: children.flat(Infinity).filter((child) => child != null && child !== false),
  };
}

/**
 * Convert a tree to a DOM node.
 * @param {Tree|string|number} tree
 * @param {string} [space]
 * @returns {Node}
 */
export function toNode(tree, space = HTML) {
  if (typeof tree !== "object") return document.createTextNode(String(tree));
  const inner = tree.tag === "svg" ? SVG : space;
  const node = document.createElementNS(inner, tree.tag);
  for (const [name, value] of Object.entries(tree.attributes)) node.setAttribute(name, String(value));
  for (const child of tree.children) node.append(toNode(child, inner));
  return node;
}

/** Replace what a DOM element contains. @param {Element} parent @param {...Child} trees */
export function fill(parent, ...trees) {
  const space = parent.namespaceURI ?? HTML;
  const present = trees.flat(Infinity).filter((tree) => tree != null && tree !== false);
  parent.replaceChildren(...present.map((tree) => toNode(tree, space)));
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
// XML 1.0 forbids these even as references; a picture with one of them would not open at all.
// Lone halves of a surrogate pair cannot be encoded either.
const FORBIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** @param {unknown} text */
function escapeText(text) {
  return String(text)
    .replace(FORBIDDEN, "\ufffd")
    .replace(/[&<>"']/g, (c) => ESCAPES[/** @type {"&"} */ (c)]);
}

/** Convert a tree to XML text. @param {Tree|string|number} tree @returns {string} */
export function toMarkup(tree) {
  if (typeof tree !== "object") return escapeText(tree);
  const attributes = Object.entries(tree.attributes).map(([name, value]) => ` ${name}="${escapeText(value)}"`);
  const head = `<${tree.tag}${attributes.join("")}`;
  if (!tree.children.length) return `${head}/>`;
  return `${head}>${tree.children.map(toMarkup).join("")}</${tree.tag}>`;
}
