/**
 * A session of the bench: it starts its places, works, and ends them, whether the work is done, failed or was interrupted,
 * and also while the places are still starting. The exit code says how it went.
 */
import { type Places, startPlaces, type WantedPlaces } from "./places.ts";

/** Exit code of a session that was interrupted. */
const INTERRUPTED = 130;

/**
 * Starts the places, does the work, which returns what makes its figures void, and sets the exit code: 0 when nothing does.
 */
export async function inSession(
  wanted: WantedPlaces,
  work: (places: Places) => Promise<readonly string[]>,
): Promise<void> {
  const starting = startPlaces(wanted);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing ??= starting.then(
      async (places) => await places.close(),
      () => undefined, // A failed start has closed what it had started.
    );
    await closing;
  };
  const stopped = (): void => void close().finally(() => process.exit(INTERRUPTED));
  process.stdout.on("error", () => undefined); // The reader of the output has gone; the work and its report continue.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopped);
  if (process.connected) process.once("disconnect", stopped);
  try {
    const problems = await work(await starting);
    for (const problem of problems) console.error(`VOID: ${problem}`);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } catch (error) {
    // An error that follows from the interruption is not reported.
    if (closing === undefined) console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = closing === undefined ? 1 : INTERRUPTED;
  } finally {
    await close();
    process.removeListener("disconnect", stopped);
    if (process.connected) process.disconnect();
  }
}
