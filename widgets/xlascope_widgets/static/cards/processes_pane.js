// @ts-check
/** Processes that ran a cell together: who waits for whom and where, what differs; Python draws it. */

import { registerPane } from "../parts/panes.js";

registerPane({
  id: "processes",
  place: "below",
  order: 9,
  title: "processes",
  tip: "the processes that ran this cell: who waits for whom, in which collective, and what differs",
  offered: ({ live }) => Boolean(live.job),
  draw: ({ live }) => live.job?.tree,
});
