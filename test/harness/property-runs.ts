/**
 * How many runs a property gets that takes a second or more; or how many take part in what is measured, such as tenants that
 * wait. `npm test` does an eighth, each time with a new seed; `npm run test:area -- properties` sets PROPERTY_RUNS=full and does all.
 */
export function propertyRuns(full: number): number {
  return process.env["PROPERTY_RUNS"] === "full" ? full : Math.ceil(full / 8);
}
