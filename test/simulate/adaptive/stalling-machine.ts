/**
 * An upstream that serves a fixed number of requests at once, on a machine that is busy with other work: gateway and upstream
 * act only at its turns, whose distance varies and drifts. So requests of one window are late together.
 */
import type { AdaptiveLimit } from "../../../edge/domain/adaptive/adaptive-limit.ts";
import type { Random } from "../random.ts";

interface StallPlan {
  /** Requests that the upstream serves at once, each for so long. */
  readonly knee: number;
  readonly serviceMs: number;
  /** Clients that send their next request after each answer. */
  readonly clients: number;
  /** Mean distance of two turns of the machine; it drifts by this factor. */
  readonly turnMs: number;
  readonly drift: number;
  readonly untilMs: number;
}

interface Sent {
  readonly sentMs: number;
  /** When the upstream has served it; null while it waits there. */
  servedMs: number | null;
}

/** The capacity at each turn of the machine. */
export function runStalling(
  limit: AdaptiveLimit,
  { knee, serviceMs, clients, turnMs, drift, untilMs }: StallPlan,
  random: Random,
): readonly { readonly atMs: number; readonly capacity: number }[] {
  const turns: { readonly atMs: number; readonly capacity: number }[] = [];
  let pace = { factor: 1, untilMs: 0 };
  let flying: Sent[] = [];
  let queued = clients;
  let returning: number[] = [];
  let nowMs = 0;
  const send = (): void => {
    for (; queued > 0 && flying.length < limit.limit; queued -= 1) flying.push({ sentMs: nowMs, servedMs: null });
  };
  const serve = (): void => {
    let served = flying.filter(({ servedMs }) => servedMs !== null).length;
    for (const sent of flying) {
      if (served >= knee) return;
      if (sent.servedMs !== null) continue;
      sent.servedMs = nowMs + serviceMs;
      served += 1;
    }
  };
  while (nowMs < untilMs) {
    if (nowMs >= pace.untilMs) pace = { factor: drift ** (2 * random.next() - 1), untilMs: nowMs + random.gap(10_000) };
    const meanMs = turnMs * pace.factor;
    nowMs += 1 + random.gap(meanMs);
    for (const sent of flying.filter(({ servedMs }) => servedMs !== null && servedMs <= nowMs)) {
      const upstreamMs = Math.round(nowMs - sent.sentMs);
      // The answer is whole when it begins, but its end is late now and then.
      const lateMs = random.next() < 0.1 ? random.between(0, Math.round(meanMs)) : 0;
      const call = {
        upstreamMs,
        ttftMs: Math.max(0, upstreamMs - lateMs),
        inputTokens: 15,
        outputTokens: 500,
        outcome: "served",
        inFlight: flying.length,
        tenantId: "a",
        isAmongOthers: false,
      } as const;
      limit.ended(call, nowMs, () => random.next());
      flying = flying.filter((other) => other !== sent);
      returning.push(nowMs + random.gap(5 + meanMs));
      send();
    }
    queued += returning.filter((atMs) => atMs <= nowMs).length;
    returning = returning.filter((atMs) => atMs > nowMs);
    send();
    serve();
    turns.push({ atMs: nowMs, capacity: limit.limit });
  }
  return turns;
}
