// @ts-check
/** What a notebook's front end runs: anywidget calls both for the library, and the panels' own few lines for them. */

import { initialize, render } from "./frame/panel.js";

export default { initialize, render };
