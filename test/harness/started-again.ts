/** Parts of a stack that a test kills or stops, and that the launcher starts again. */
import type { PartHandle } from "../../infra/local/process/supervisor.ts";
import { waitFor } from "./wait-for.ts";

/** Resolves when the part runs and serves in another process than `pid`. */
export async function startedAgain(part: PartHandle | undefined, pid: number | null): Promise<void> {
  await waitFor(
    () => part?.pid ?? null,
    (now) => now !== null && now !== pid,
  );
  await part?.ready();
}
