// @ts-check
/** Measured times of source lines. */

/** @typedef {import("./program.js").Program} Program */

/** Describe how times of equations and lines were found. @param {Program} program */
export function describeSharing(program) {
  const sharing = program.account?.sharing;
  return sharing ? `measured, ${sharing}` : "measured";
}

/** Seconds a call for each line. @param {Program} program @returns {Map<string, number>} */
export function getLineTimes(program) {
  const times = new Map();
  for (const [path, time] of Object.entries(program.account?.lines ?? {})) {
    const src = program.equations.get(path)?.src;
    if (src) times.set(`${src[0]}:${src[1]}`, time);
  }
  return times;
}
