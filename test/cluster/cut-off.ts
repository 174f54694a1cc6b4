/**
 * What an instance may hold that is cut off from the Cell while its upstream is within reach: streams through it that take longer
 * than any lease, beside as many further ones through an instance that reaches the Cell as there are slots. The upstream counts:
 * the slots of the first ones are given to others only after the first ones have ended.
 */
import { expect } from "vitest";
import type { TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { Instance } from "./cluster.ts";

const SLOTS = 4;
/** How many of them streams of the instance that is cut off hold. */
const HELD = 2;

/** Begins the streams; `cut` cuts the instance `holder` off from the Cell, which `other` reaches. */
export async function holdWhileCutOff(
  { holder, other }: { readonly holder: Instance; readonly other: Instance },
  upstream: TestUpstream,
  cut: () => void,
) {
  const minted = await other.gateway.mint(upstream.url, "chunks=1000,pace=100", { max_in_flight: SLOTS });
  const leaving = new AbortController();
  const stream = async (through: Instance): Promise<string> => {
    const response = await through.gateway.chat(minted, { stream: true, signal: leaving.signal });
    return await response.text();
  };
  const calls = () => upstream.seen(minted.mark);
  const held = Array.from({ length: HELD }, async () => await stream(holder));
  // Well into their streams, so that their slots are their own.
  await waitFor(
    () => calls().filter(({ chunksWritten }) => chunksWritten > 30).length,
    (begun) => begun === HELD,
  );
  const cutMs = Date.now();
  cut();
  const further = Array.from({ length: SLOTS }, async () => await stream(other).catch(() => ""));
  const texts = await Promise.all(held);
  const endedAfterMs = Date.now() - cutMs;
  for (const text of texts) {
    expect(text).toContain('"code":"scheduler_unavailable"');
    expect(text).not.toContain("[DONE]");
  }
  const all = await waitFor(
    () => calls().filter(({ done, cutOff, fromMs }) => !done && !cutOff && fromMs >= cutMs),
    (now) => now.length === SLOTS,
  );
  const givenAfterMs = Math.max(...all.map(({ fromMs }) => fromMs)) - cutMs;
  leaving.abort();
  await Promise.all(further);
  // Not one call more at any moment, and none is left out.
  expect(upstream.peak(minted.mark)).toBe(SLOTS);
  return {
    /** When the last stream of the instance that was cut off had ended. */
    endedAfterMs,
    /** When all slots were in use again. */
    givenAfterMs,
  };
}
