/**
 * For any behaviour of upstreams, and whenever the client leaves: one settlement, one answer, and every opened body is either
 * sent to the client or cancelled (docs/rules/settlement-and-rows.md#nothing-stays-held,
 * docs/rules/upstream-calls.md#abort-and-cancel).
 */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { type Answer, bodyOf, hosts, refuses, worldOf } from "../../../test/harness/edge/pipeline/upstreams.ts";
import { run } from "../run.ts";

// Replaces the runtime's own class; the standard one without arguments also passes everything through.
beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const STATUSES = [200, 302, 400, 404, 408, 429, 500, 501, 503] as const;
const anyEnd = fc.oneof(fc.constantFrom(...STATUSES), fc.constant("refuses" as const));
type End = (typeof STATUSES)[number] | "refuses";

/** The status that the client gets for the last answer; null: there was none. */
function expected(last: number | null): number {
  if (last === null) return 502;
  return last >= 400 && last < 500 ? last : last === 200 ? 200 : 502;
}

it("holds for any upstreams, retries and moment of leaving", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyEnd, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 0, max: 3 }),
      fc.option(fc.integer({ min: 1, max: 8 })),
      async (plans, maxRetries, leavesAtCall) => {
        const client = new AbortController();
        const letGo = new Set<number>();
        const ends: End[] = [];
        const answerOf =
          (end: End): Answer =>
          async (call) => {
            const nth = ends.push(end) - 1;
            if (ends.length === leavesAtCall) client.abort();
            call.signal.throwIfAborted();
            if (end === "refuses") return await refuses();
            const chunk = Uint8Array.from(Buffer.from(`answer ${nth}`));
            let sent = false;
            const body = bodyOf(
              () => {
                if (sent) return null;
                sent = true;
                return chunk;
              },
              () => void letGo.add(nth),
            );
            return new Response(body, { status: end });
          };
        const script = Object.fromEntries(plans.map((plan, at) => [`e${at}`, plan.map(answerOf)]));
        const world = worldOf(script, { max_retries: maxRetries, retry_backoff_ms: 1 });
        const response = await run(world.received({ signal: client.signal }));
        const text = await response.text();
        await world.settled();

        const { settlement } = world.permit;
        expect({
          isUnsettled: settlement === null,
          orphans: world.orphans,
          recorded: world.recorded,
        }).toEqual({ isUnsettled: false, orphans: [], recorded: [] });
        const calls = hosts(world);
        for (const host of Object.keys(script))
          expect(calls.filter((name) => name === host).length).toBeLessThanOrEqual(maxRetries + 2);
        const answers = ends.flatMap((end, nth) => (end === "refuses" ? [] : [{ end, nth }]));
        const left = leavesAtCall !== null && ends.length >= leavesAtCall;
        if (left) {
          expect({ status: response.status, rowStatus: settlement?.row.status_code }).toEqual({
            status: 499,
            rowStatus: 499,
          });
          // the call during which the client left opened no body
          const opened = answers.filter(({ nth }) => nth < ends.length - 1).map(({ nth }) => nth);
          expect(letGo).toEqual(new Set(opened));
          return;
        }
        const last = answers.at(-1) ?? null;
        expect({ status: response.status, rowStatus: settlement?.row.status_code }).toEqual({
          status: expected(last?.end ?? null),
          rowStatus: expected(last?.end ?? null),
        });
        if (last !== null) expect(text).toBe(`answer ${last.nth}`);
        expect(letGo).toEqual(new Set(answers.slice(0, -1).map(({ nth }) => nth)));
        const { success = 0, exhausted = 0, retry = 0, failover = 0 } = settlement?.upstream ?? {};
        expect({ successCount: success, exhaustedCount: exhausted }).toEqual({
          successCount: last?.end === 200 ? 1 : 0,
          exhaustedCount: last === null || [408, 429, 500, 503].includes(last.end) ? 1 : 0,
        });
        expect(1 + retry + failover).toBe(calls.length);
      },
    ),
    { numRuns: 300 },
  );
});
