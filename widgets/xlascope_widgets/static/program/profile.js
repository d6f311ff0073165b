// @ts-check
/** What was measured of a run: the numbers that move, and the profile that they belong to, which is sent once. */

/** @typedef {import("../ground/wire.js").Executed} Executed */
/** @typedef {import("../ground/wire.js").Profile} Profile */

/**
 * Return the measurements of a run with those of its profile, whose seconds are the profiler's own; as they are if
 * they have all, or if the profile was lost.
 * @param {any} run of type Executed, or undefined @param {Profile|undefined} profile @returns {Executed|undefined}
 */
export function addProfile(run, profile) {
  if (!profile || run?.profile !== profile.id) return run;
  const { account, devices } = profile;
  /** @param {number} time */
  const rescale = (time) => time * run.scale;
  /** @param {object|undefined} table @param {(value: any) => any} [change] */
  const map = (table, change = rescale) =>
    Object.fromEntries(Object.entries(table ?? {}).map(([name, value]) => [name, change(value)]));
  return {
    ...run,
    devices: devices.map((device, i) => ({
      ...device,
      busy: run.busy[i],
      kernels: map(device.kernels, ([runs, time]) => [runs, rescale(time)]),
    })),
    account: account && {
      ...account,
      kernels: map(account.kernels, ([time, runs, share, ...rates]) => [
        rescale(time),
        runs,
        share,
        ...rates.map((/** @type {any} */ rate) => rate && rate / run.scale),
      ]),
      equations: map(account.equations),
      lines: map(account.lines),
      sums: account.sums?.map(rescale),
    },
  };
}
