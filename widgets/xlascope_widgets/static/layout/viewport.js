// @ts-check
/** Pan and zoom: which part of a scene the screen shows. */

/** @typedef {import("./layout.js").Scene} Scene */
/** @typedef {import("./level.js").GraphNode} GraphNode */

/** @typedef {{x: number, y: number, k: number}} Zoom */

/** What a wheel reaches, and what it takes to see all of a very large scene. */
const SMALLEST = 0.02,
  LARGEST = 3,
  SMALLEST_FIT = 0.002;

/**
 * The zoom below which words would be smaller than they should be, and the one above which nothing is made by itself.
 */
export const READABLE = 1;
const COMFORTABLE = 1.25;

/**
 * Return the zoom that shows everything; a scene that would be too small to read starts at its beginning, unless
 * `everything`.
 * @param {{width: number, height: number, nodes: GraphNode[]}} scene
 * @param {{width: number, height: number}} screen
 * @param {boolean} everything
 * @returns {Zoom}
 */
export function computeFitZoom(scene, screen, everything) {
  const scale = Math.min(COMFORTABLE, screen.width / scene.width, screen.height / scene.height);
  const k = everything ? Math.max(SMALLEST_FIT, scale) : Math.max(READABLE, scale);
  const spare = screen.width - scene.width * k;
  // Show the beginning of a scene wider than the screen.
  const first = spare < 0 && scene.nodes.find((node) => node.path);
  const x = first ? Math.min(0, Math.max(spare, screen.width / 2 - first.x * k)) : spare / 2;
  return { x, y: Math.max(0, (screen.height - scene.height * k) / 2), k };
}

/**
 * Return the height of a pane for the whole of a scene.
 * @param {{width: number, height: number}} scene
 * @param {number} width of the pane
 */
export function computeHeight(scene, width) {
  return scene.height * Math.min(1, Math.max(READABLE, width / scene.width));
}

/**
 * Return the zoom that keeps a point of the screen in place.
 * @param {Zoom} zoom
 * @param {number} px
 * @param {number} py
 * @param {number} factor
 * @returns {Zoom}
 */
export function computeZoomAbout(zoom, px, py, factor) {
  const k = Math.min(LARGEST, Math.max(Math.min(zoom.k, SMALLEST), zoom.k * factor));
  const grow = k / zoom.k;
  return { x: px - (px - zoom.x) * grow, y: py - (py - zoom.y) * grow, k };
}

/**
 * Return the zoom that shows a node: unchanged where it is visible.
 * @param {Zoom} zoom
 * @param {{width: number, height: number}} screen
 * @param {{x: number, y: number, w: number, h: number}} node
 * @returns {Zoom}
 */
export function computeZoomShowing(zoom, { width, height }, node) {
  const { k } = zoom;
  const [x, y] = [node.x * k + zoom.x, node.y * k + zoom.y];
  const [halfW, halfH] = [Math.min(width / 2, (node.w * k) / 2 + 12), Math.min(height / 2, (node.h * k) / 2 + 12)];
  const isInX = x >= halfW && x <= width - halfW,
    isInY = y >= halfH && y <= height - halfH;
  return { k, x: isInX ? zoom.x : zoom.x + width / 2 - x, y: isInY ? zoom.y : zoom.y + height / 2 - y };
}

/**
 * @param {GraphNode[]} nodes
 * @param {GraphNode} from
 * @param {number} dx
 * @param {number} dy the nearest node in a direction, or null
 */
export function findNearest(nodes, from, dx, dy) {
  let best = null,
    least = Infinity;
  for (const node of nodes) {
    const [x, y] = [node.x - from.x, node.y - from.y];
    const ahead = x * dx + y * dy;
    if (ahead <= 4) continue;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    const distance = ahead + 2 * aside;
    if (distance < least) [best, least] = [node, distance];
  }
  return best;
}

/**
 * Return the edge within reach of a point of the scene, the last drawn.
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 */
export function findEdgeAt(scene, x, y, reach) {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  context.lineWidth = 2 * reach;
  for (let i = scene.edges.length - 1; i >= 0; i--) {
    const edge = scene.edges[i];
    if (x < edge.left - reach || x > edge.right + reach || y < edge.top - reach || y > edge.bottom + reach) continue;
    if (context.isPointInStroke((edge.shape ??= new Path2D(edge.d)), x, y)) return edge;
  }
  return null;
}
