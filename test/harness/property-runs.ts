/**
 * How often a property of many seconds is tried. `npm test` tries a quarter, under a seed of its own each time;
 * `npm run test:all` sets PROPERTY_RUNS=full and tries all.
 */
export function propertyRuns(full: number): number {
  return process.env["PROPERTY_RUNS"] === "full" ? full : Math.ceil(full / 4);
}
