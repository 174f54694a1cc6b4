/** The end of a data plane: no new connections, requests under way finish, the rest is cut off and settled, the runtime ends. */
import type { StackConfig } from "./env.ts";
import type { FrontProxy } from "./front.ts";
import { drainRequests } from "./process/drain.ts";
import type { Runtime } from "./runtime.ts";

const FINISH_MS = 3_500;
const SETTLE_MS = 1_500;
/** The time for each process of the runtime; there are two steps at the most. */
const RUNTIME_STOP_MS = 1_000;
/** In a cluster it hands its objects over first. */
const CLUSTER_STOP_MS = 3_000;

/** What is ended. */
interface Ending {
  readonly fronts: readonly Pick<FrontProxy, "drain" | "close">[];
  readonly runtime: Runtime;
  readonly config: Pick<StackConfig, "cluster">;
  readonly internalToken: string;
}

/** Resolves when the runtime has ended; at most eight seconds. */
export async function endRequests({ fronts, runtime, config, internalToken }: Ending): Promise<void> {
  for (const front of fronts) front.drain();
  const cut = (): void => {
    for (const front of fronts) void front.close();
  };
  await drainRequests({ port: runtime.objectsPort, internalToken, cut, finishMs: FINISH_MS, settleMs: SETTLE_MS });
  await runtime.stop(config.cluster === null ? RUNTIME_STOP_MS : CLUSTER_STOP_MS);
}
