/**
 * Loops of any length whose client leaves at any moment: each started turn has one row, and nothing stays held
 * (docs/rules/tool-loop.md#usage).
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../../test/harness/edge/pipeline/identity-transform.ts";
import { calls, LoopWorld, type Reply, saying, USAGE } from "../../../../test/harness/edge/pipeline/tool-loop-world.ts";
import type { UpstreamCall } from "../../../ports.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const streamOf = (delta: object, finish: string): Reply => {
  const text = [
    event({ id: "s", choices: [{ index: 0, delta, finish_reason: null }] }),
    event({ id: "s", choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
    event({ id: "s", choices: [], usage: USAGE }),
    "data: [DONE]\n\n",
  ].join("");
  return () => new Response(text, { headers: { "content-type": "text/event-stream" } });
};
const called = (nth: number) => ({
  index: nth,
  id: `c${nth}`,
  type: "function",
  function: { name: "search", arguments: "{}" },
});
const streamsCalls = (count: number): Reply =>
  streamOf({ tool_calls: Array.from({ length: count }, (_, nth) => called(nth)) }, "tool_calls");

interface History {
  /** How many tools each turn calls; one turn more answers. */
  readonly turns: readonly number[];
  readonly stream: boolean;
  /** The client leaves as this call of model or server starts. The call then ends with its signal, or still answers. */
  readonly leavesAt: number | null;
  readonly hangs: boolean;
}

async function play({ turns, stream, leavesAt, hangs }: History) {
  const answer = stream ? streamOf({ content: "done" }, "stop") : saying("done");
  const callsOf = (count: number): Reply =>
    stream ? streamsCalls(count) : calls(...Array.from({ length: count }, () => "search"));
  const world = new LoopWorld([...turns.map(callsOf), answer], { tool_loop_max_turns: 8 });
  const asWritten = world.upstream;
  let begun = 0;
  world.upstream = async (call: UpstreamCall) => {
    // The end of a session does not end with the client.
    if (call.method !== "DELETE") begun += 1;
    if (begun === leavesAt && call.method !== "DELETE") {
      world.client.abort();
      if (hangs) await endOf(call.signal);
    }
    return await asWritten(call);
  };
  const text = await world.ask(stream ? { stream } : {}).then(
    async (response) => await response.text().catch(() => null),
    () => null,
  );
  await world.settled();
  return { world, text };
}

async function endOf(signal: AbortSignal): Promise<never> {
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return await ended.promise;
}

it("writes one row for each turn and holds nothing, whenever the client leaves", async () => {
  const history: fc.Arbitrary<History> = fc.record({
    turns: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 6 }),
    stream: fc.boolean(),
    leavesAt: fc.option(fc.integer({ min: 1, max: 30 })),
    hangs: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(history, async (given) => {
      const { world, text } = await play(given);
      const { rows, permits, permit, sessions, memory, logged } = world;
      const left = world.client.signal.aborted;
      const lines = logged.filter(({ name }) => name === "request");
      const ids = rows.map(({ request_id: id }) => id);
      expect(new Set(ids).size).toBe(rows.length);
      // A client that leaves before the first answer has no loop; each later turn that was admitted has its row.
      expect(rows).toHaveLength(1 + permits.length);
      expect(rows.length).toBeGreaterThanOrEqual(world.asked.length);
      expect([permit, ...permits].every(({ settlement }) => settlement !== null)).toBe(true);
      expect(new Set(lines.map(({ request_id: id }) => id))).toEqual(new Set(ids));
      expect(lines).toHaveLength(rows.length);
      const parents = lines.map(({ parent_request_id: parent }) => parent).filter((parent) => parent !== undefined);
      expect(new Set(parents).size).toBe(permits.length === 0 ? 0 : 1);
      expect(sessions.ended).toBe(sessions.begun);
      expect(memory.answerMemory.usedBytes).toBe(0);
      if (left) return;
      expect(text).toContain("done");
      expect(rows).toHaveLength(given.turns.length + 1);
      expect(rows.every(({ status_code: status, total_tokens: tokens }) => status === 200 && tokens === 5)).toBe(true);
    }),
  );
});
