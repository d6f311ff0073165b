// What is wrong with a drawn page, found by where things are: a function of the element to look at, which returns
// lines of "fault: words (class of the element in the class of its parent)".
(root) => {
  const faults = new Set();
  const name = (one) => `.${(one.getAttribute("class") ?? one.localName).split(" ").join(".")}`;
  const tell = (fault, words, one) =>
    faults.add(`${fault}: ${words.trim().slice(0, 50)} (${name(one)} in ${name(one.parentElement)})`);
  const words = (text) => {
    const parts = [...text.childNodes].filter((part) => part.localName !== "title");
    return parts.map((part) => part.textContent).join("");
  };
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const styles = new Map();
  const style = (one) => styles.get(one) ?? styles.set(one, getComputedStyle(one)).get(one);

  // Colours: the ground under an element is what its ancestors paint, each over the one before.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const parse = (colour) => {
    if (!colours.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      colours.set(colour, [r, g, b, a / 255]);
    }
    return colours.get(colour);
  };
  const blend = (below, [r, g, b, a], opacity = 1) =>
    below.map((part, i) => part + ([r, g, b][i] - part) * a * opacity);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const grounds = new Map();
  const ground = (one) => {
    if (!one) return [255, 255, 255];
    if (!grounds.has(one)) grounds.set(one, blend(ground(one.parentElement), parse(style(one).backgroundColor)));
    return grounds.get(one);
  };

  // Words of the page, line by line, as far as their scrolling ancestors show them.
  const overlay = ".xs-help, .xs-head.tight.open .xs-menu, .xs-head:not(.tight) .xs-sharing div, .xs-crumbs, .xs-minimap";
  const lines = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const one = text.parentElement;
    if (!text.data.trim() || one.closest("svg, option, style, title, .xs-unseen, .xs-said") || !isShown(one)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const rect of range.getClientRects()) if (rect.width > 1) lines.push({ text: text.data, node: text, one, rect });
  }
  for (const line of lines) {
    const { text, one, rect } = line;
    let ellipsis = false;
    line.box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom };
    for (let box = one; box && box !== root.parentElement; box = box.parentElement) {
      const { overflowX, overflowY, textOverflow, display } = style(box);
      if (display === "inline") continue;
      const at = box.getBoundingClientRect();
      ellipsis ||= textOverflow === "ellipsis";
      const scrolls = [overflowX, overflowY].some((way) => ["auto", "scroll"].includes(way));
      const clips = ["hidden", "clip"].includes(overflowX) && !scrolls;
      if (clips && !ellipsis && (rect.right > at.right + 1 || rect.left < at.left - 1)) tell("cut", text, one);
      if (clips && rect.top + rect.height / 2 > at.top && rect.bottom > at.bottom + 3) tell("cut below", text, one);
      if (clips || scrolls)
        line.box = {
          left: Math.max(line.box.left, at.left),
          top: Math.max(line.box.top, at.top),
          right: Math.min(line.box.right, at.right),
          bottom: Math.min(line.box.bottom, at.bottom),
        };
      if (scrolls || box === root) break;
      if (!clips && box.matches("button, summary, td, th, .xs-note, .xs-kernel, .xs-line") && box !== one.closest("select"))
        if (!ellipsis && (rect.right > at.right + 1 || rect.left < at.left - 1)) tell("outside its box", text, one);
    }
    if (!ellipsis && line.box.right > innerWidth + 1) tell("outside the page", text, one);
  }
  // Short names of tools are whole, and nothing but code and pictures is scrolled sideways.
  for (const one of root.querySelectorAll("button, summary"))
    if (isShown(one) && one.textContent.trim().length <= 14 && one.scrollWidth > one.clientWidth + 1)
      if (style(one).textOverflow === "ellipsis") tell("shortened", one.textContent, one);
  for (const one of root.querySelectorAll("*"))
    if (["auto", "scroll"].includes(style(one).overflowX) && one.scrollWidth > one.clientWidth + 1 && isShown(one))
      if (!one.matches("pre, .xs-source, .xs-code")) tell("scrolls sideways", one.textContent.slice(0, 20), one);
  const seen = lines.filter(({ box }) => box.right - box.left > 2 && box.bottom - box.top > 4);
  const layer = (one) => one.closest(overlay) ?? root;
  const isStuck = (one) => {
    for (let box = one; box && box !== root; box = box.parentElement) if (style(box).position === "sticky") return box;
    return null;
  };
  seen.sort((a, b) => a.box.top - b.box.top);
  seen.forEach((a, i) => {
    for (let j = i + 1; j < seen.length && seen[j].box.top < a.box.bottom - 4; j++) {
      const b = seen[j];
      const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const high = Math.min(a.box.bottom, b.box.bottom) - b.box.top;
      if (wide > 2 && high > 4 && a.node !== b.node && layer(a.one) === layer(b.one) && isStuck(a.one) === isStuck(b.one))
        tell(`words on ${name(b.one)}`, `${a.text.trim().slice(0, 20)} | ${b.text}`, a.one);
    }
  });
  for (const { text, one, box } of seen) {
    const y = (box.top + box.bottom) / 2;
    for (const x of [box.left + 1.5, (box.left + box.right) / 2, box.right - 1.5]) {
      const over = document.elementFromPoint(x, y);
      if (!over || over.contains(one) || one.contains(over) || !root.contains(over)) continue;
      if (layer(over) !== layer(one) || isStuck(over) !== isStuck(one)) continue;
      const paints = (part) => parse(style(part).backgroundColor)[3] > 0.1;
      if (over.closest("svg") ? !over.closest("svg").contains(one) : paints(over)) tell(`under ${name(over)}`, text, one);
    }
    const { color, fontSize, fontWeight } = style(one);
    if (one.closest(":disabled, .faint")) continue;
    const size = parseFloat(fontSize);
    const least = size >= 24 || (size >= 18.6 && fontWeight >= 600) ? 3 : 4.5;
    const back = ground(one);
    const ratio = contrast(back, blend(back, parse(color)));
    if (ratio < least - 0.005) tell(`contrast ${ratio.toFixed(2)}`, text, one);
  }

  // Words of pictures: on each other, under a shape that is painted later, and outside of their box or picture.
  for (const svg of root.querySelectorAll("svg")) {
    if (!isShown(svg) || svg.parentElement.closest("svg")) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")]
      .filter((one) => one.textContent.trim() && isShown(one) && !one.closest(".faint, defs"))
      .map((one) => ({ one, box: one.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 1 && box.right > frame.left && box.left < frame.right)
      .filter(({ box }) => box.bottom > frame.top && box.top < frame.bottom);
    texts.forEach((a, i) => {
      const inset = a.box.height * 0.2;
      for (const b of texts.slice(i + 1)) {
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 2 && high > inset * 2 && !a.one.contains(b.one))
          tell(`words on ${name(b.one)}`, `${words(a.one).slice(0, 20)} | ${words(b.one)}`, a.one);
      }
    });
    const shapes = [...svg.querySelectorAll("rect:not(.hit)")].filter((one) => {
      const { fill, fillOpacity, pointerEvents } = style(one);
      return isShown(one) && fill !== "none" && parse(fill)[3] * Number(fillOpacity) > 0.5 && pointerEvents !== "all";
    });
    const places = shapes.map((one) => ({ one, at: one.getBoundingClientRect() }));
    const covers = ({ at }, box) =>
      at.left < (box.left + box.right) / 2 && at.right > (box.left + box.right) / 2 &&
      at.top < (box.top + box.bottom) / 2 && at.bottom > (box.top + box.bottom) / 2; // prettier-ignore
    for (const { one, box } of texts) {
      const over = places.find((place) =>
        covers(place, box) && one.compareDocumentPosition(place.one) & Node.DOCUMENT_POSITION_FOLLOWING);
      if (over) tell(`under ${name(over.one)}`, words(one), one);
      const body = one.closest(".xs-node")?.querySelector(":scope > .xs-body")?.getBoundingClientRect();
      if (body && !one.matches(".xs-type") && (box.left < body.left - 1 || box.right > body.right + 1))
        tell("outside its box", words(one), one);
      if (!svg.matches(".xs-graph-svg") && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 3))
        tell("cut", words(one), one);
    }
  }
  return [...faults];
}
