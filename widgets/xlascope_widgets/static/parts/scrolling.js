// @ts-check
/** Scrolling inside of a pane. */

/** Scroll a pane, never the page, until an element in it is seen. @param {Element} pane @param {Element} element */
export function scrollInside(pane, element) {
  const [outer, inner] = [pane.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) pane.scrollTop += inner.top - outer.top - outer.height / 3;
}
