/**
 * Chance in simulations: another seed in every run, printed, and given again by SIMULATION_SEED to repeat a run.
 */

/** The seed of this run: SIMULATION_SEED, or a random one. Throws for one that is not an integer. */
export function simulationSeed(): number {
  const given = process.env["SIMULATION_SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error("SIMULATION_SEED must be an integer");
  return seed;
}

/** The same for a file of tests, which says it where its results are read. */
export function printedSeed(file: string): number {
  const seed = simulationSeed();
  process.stdout.write(`${file}: SIMULATION_SEED=${seed}\n`);
  return seed;
}
