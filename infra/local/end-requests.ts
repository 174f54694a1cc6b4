/**
 * The end of a data plane (docs/rules/local-stack.md#stop): no new connections, requests under way finish, the rest is interrupted
 * and settled, the runtime ends.
 */
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { INTERNAL_PATHS } from "../../shared/wire/internal.ts";
import { SETTLE_MS, type StackConfig } from "./env.ts";
import type { FrontProxy } from "./front.ts";
import { askHealth } from "./process/ask-health.ts";
import type { Runtime } from "./runtime.ts";

/** How long a process may take to show that it is held. */
const HELD_WITHIN_MS = 1_000;
/** The time for the runtime to end after its last request; in a cluster it hands its objects over first. */
const RUNTIME_STOP_MS = 3_000;

/** The requests to end. */
interface Ending {
  readonly fronts: readonly Pick<FrontProxy, "drain" | "quiet" | "close">[];
  readonly runtime: Runtime;
  readonly config: Pick<StackConfig, "drainMs">;
  readonly internalToken: string;
}

/** Resolves when the runtime has ended. */
export async function endRequests({ fronts, runtime, config: { drainMs }, internalToken }: Ending): Promise<void> {
  await Promise.all(fronts.map(async (front) => await front.drain()));
  const held = await Promise.all(runtime.servingPorts().map(async (port) => await hold(port, internalToken)));
  // On this call, the runtime closes idle connections at once, and each other one after its answer.
  const stopped = runtime.finishes ? runtime.stop(drainMs + SETTLE_MS + RUNTIME_STOP_MS) : null;
  await within(drainMs, Promise.all(fronts.map(async (front) => await front.quiet())));
  await within(SETTLE_MS, Promise.all(held.map(async (interrupt) => await interrupt())));
  for (const front of fronts) void front.close();
  await (stopped ?? runtime.stop(RUNTIME_STOP_MS));
}

/**
 * Keeps a process from ending, and resolves when it is kept. The returned function interrupts what still runs there, and resolves
 * when all of it is settled.
 */
async function hold(port: number, internalToken: string): Promise<() => Promise<void>> {
  const address = { host: "127.0.0.1", port, path: INTERNAL_PATHS.stop, method: "POST", agent: false };
  const request = http.request({ ...address, headers: { authorization: `Bearer ${internalToken}` } });
  const settled = new Promise<void>((resolve) => {
    request.once("response", (response) => response.resume().once("close", resolve)).once("error", () => resolve());
  });
  request.flushHeaders();
  // The runtime serves requests in the order of arrival.
  await askHealth(`http://127.0.0.1:${port}/health`, HELD_WITHIN_MS);
  return async () => {
    request.end();
    await settled;
  };
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, pause(limitMs, undefined, { ref: false })]);
}
