/**
 * The soak's clients: each sends its next request as soon as one has ended, and leaves at a random moment: before the
 * answer, in the middle of the stream, or not at all. The result of each request is kept by its mark, which is also its
 * session id.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Gateway, Minted } from "../harness/gateway.ts";

type Fate = "finished" | "left in the stream" | "left before the answer" | "cut off";

/** One request, from the side of its client. */
export interface Asked {
  readonly tenantId: string;
  readonly fate: Fate;
  /** The id in the answer's header; null when the client got no answer. */
  readonly requestId: string | null;
  readonly status: number | null;
}

/** When a client leaves: after so many milliseconds without an answer, or after so many chunks. */
interface Departure {
  readonly afterMs: number | null;
  readonly afterChunks: number | null;
}

function departure(): Departure {
  const chance = Math.random();
  if (chance < 0.15) return { afterMs: Math.floor(200 * Math.random() ** 2), afterChunks: null };
  if (chance < 0.45) return { afterMs: null, afterChunks: Math.floor(30 * Math.random()) };
  return { afterMs: null, afterChunks: null };
}

async function sendRequest(gateway: Gateway, minted: Minted, mark: string): Promise<Asked> {
  const { afterMs, afterChunks } = departure();
  const leaving = new AbortController();
  const answered = new AbortController();
  if (afterMs !== null)
    void pause(afterMs, undefined, { signal: answered.signal }).then(
      () => leaving.abort(),
      () => undefined,
    );
  let requestId: string | null = null;
  let status: number | null = null;
  const asked = (fate: Fate): Asked => ({ tenantId: minted.tenant.id, fate, requestId, status });
  try {
    const response = await gateway.chat(minted, {
      stream: true,
      headers: { "x-session-id": mark },
      body: { messages: [{ role: "user", content: mark }] },
      signal: leaving.signal,
    });
    answered.abort();
    requestId = response.headers.get("x-gateway-request-id");
    status = response.status;
    let chunks = 0;
    for await (const _chunk of response.body ?? []) {
      chunks += 1;
      if (afterChunks !== null && chunks > afterChunks) {
        leaving.abort();
        return asked("left in the stream");
      }
    }
    return asked("finished");
  } catch {
    if (!leaving.signal.aborted) return asked("cut off");
    return asked(requestId === null ? "left before the answer" : "left in the stream");
  } finally {
    answered.abort();
  }
}

/** Keeps `count` clients busy until the deadline, spread over the tenants; returns every request by its mark. */
export async function load(
  gateway: Gateway,
  tenants: readonly Minted[],
  count: number,
  untilMs: number,
): Promise<ReadonlyMap<string, Asked>> {
  const all = new Map<string, Asked>();
  const client = async (at: number): Promise<void> => {
    const minted = tenants[at % tenants.length];
    if (minted === undefined) throw new Error("no tenants");
    while (Date.now() < untilMs) {
      const mark = `soak-${randomUUID()}`;
      all.set(mark, await sendRequest(gateway, minted, mark));
    }
  };
  await Promise.all(Array.from({ length: count }, async (_, at) => await client(at)));
  return all;
}
