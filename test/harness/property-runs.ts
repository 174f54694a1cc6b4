/**
 * How many runs a property gets that takes many seconds. `npm test` does an eighth of the runs, each time with a new seed;
 * `npm run test:all` sets PROPERTY_RUNS=full and does all.
 */
export function propertyRuns(full: number): number {
  return process.env["PROPERTY_RUNS"] === "full" ? full : Math.ceil(full / 8);
}
