/** The seed of simulations: every run uses another one and prints it; SIMULATION_SEED repeats a run. */

/** The seed of this run: SIMULATION_SEED, or a random one. Throws when the variable is not an integer. */
export function simulationSeed(): number {
  const given = process.env["SIMULATION_SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error("SIMULATION_SEED must be an integer");
  return seed;
}

/** The seed of a test file, which is printed together with the name of the file. */
export function printedSeed(file: string): number {
  const seed = simulationSeed();
  process.stdout.write(`${file}: SIMULATION_SEED=${seed}\n`);
  return seed;
}
