/**
 * A session of the bench: its places are started, worked in, and ended - whether the work is done, failed or was interrupted,
 * and also while they are still starting. The exit code says how it went.
 */
import { type Places, startPlaces, type WantedPlaces } from "./places.ts";

/** Exit code of a session that was interrupted. */
const INTERRUPTED = 130;

/** Starts the places, does the work, which answers what makes its figures void, and sets the exit code: 0 when nothing does. */
export async function inSession(
  wanted: WantedPlaces,
  work: (places: Places) => Promise<readonly string[]>,
): Promise<void> {
  const starting = startPlaces(wanted);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing ??= starting.then(
      async (places) => await places.close(),
      () => undefined, // it has closed what it had started
    );
    await closing;
  };
  const stopped = (): void => void close().finally(() => process.exit(INTERRUPTED));
  process.stdout.on("error", () => undefined); // whoever read along has gone; the work and its report go on
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stopped);
  if (process.connected) process.once("disconnect", stopped);
  try {
    const problems = await work(await starting);
    for (const problem of problems) console.error(`VOID: ${problem}`);
    process.exitCode = problems.length === 0 ? 0 : 1;
  } catch (error) {
    // what fails because it was interrupted is no news
    if (closing === undefined) console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = closing === undefined ? 1 : INTERRUPTED;
  } finally {
    await close();
    process.removeListener("disconnect", stopped);
    if (process.connected) process.disconnect();
  }
}
