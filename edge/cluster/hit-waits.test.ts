/** Stored answers whose Cell has no owner (docs/rules/admission.md#between-owners). */
import { expect, it } from "vitest";
import { GatewayError } from "../../shared/errors.ts";
import { clustered, untilAborted } from "../../test/harness/edge/clustered.ts";
import { keyOf, modelOf } from "../../test/harness/edge/pipeline/records.ts";
import { TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { originOf } from "../pipeline/response-cache/response-cache.ts";
import { run } from "../pipeline/run.ts";
import type { Admission } from "../ports.ts";

type ConfirmHit = Admission["confirmHit"];

const model = modelOf({ cache_enabled: true });

/**
 * A request with a stored answer in a cluster. `confirms`: how the Cell answers before it acts; `silence`: how the time passes
 * in which it does not answer. Pauses take no time.
 */
function stored(confirms: () => Promise<void>, silence: (ms: number) => Promise<void> | null = () => null) {
  const body = new TextEncoder().encode('{"stored":true}');
  const entry = { v: 1, path: "/v1/chat/completions", status: 200, content_type: "application/json", body } as const;
  const use = { input_tokens: 3, output_tokens: 4, stored_at_ms: 0, origin: originOf(model) };
  const world = Object.assign(new TestPipeline(), { model, entry: { ...entry, ...use } });
  const client = new AbortController();
  const received = world.received({ signal: client.signal });
  const { admission } = received.ports;
  const seen = { client, again: [] as boolean[], pausesMs: [] as number[], onPause: (): void => undefined };
  let asking = false;
  const confirmHit: ConfirmHit = async (hit, waiter) => {
    seen.again.push(hit.again === true);
    asking = true;
    await confirms().finally(() => {
      asking = false;
    });
    return await admission.confirmHit(hit, waiter);
  };
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (asking) return await (silence(ms) ?? untilAborted(signal));
    seen.pausesMs.push(ms);
    world.nowMs += ms;
    seen.onPause();
  };
  const inCluster = clustered({ ...admission, confirmHit }, world, { sleep });
  const answer = async () => {
    const response = await run({ ...received, ports: { ...received.ports, admission: inCluster } });
    const code = ((await response.json().catch(() => null)) as { error?: { code: string } } | null)?.error?.code;
    return { status: response.status, cache: response.headers.get("x-gateway-cache"), code };
  };
  return { world, seen, answer };
}

const away = async (): Promise<never> => await Promise.reject(new GatewayError("scheduler_unavailable"));

it("waits for an owner of the Cell, and tells it that an earlier call may have arrived", async () => {
  const { world, seen, answer } = stored(async () => (seen.again.length < 3 ? await away() : undefined));
  expect(await answer()).toMatchObject({ status: 200, cache: "hit" });
  await world.settled();
  expect({ again: seen.again, pausesMs: seen.pausesMs }).toEqual({ again: [false, true, true], pausesMs: [100, 200] });
});

it("waits for a silent owner until its patience ends, and keeps the row that it takes later", async () => {
  const silences: number[] = [];
  const late = Promise.withResolvers<void>();
  const { world, answer } = stored(
    async () => await late.promise,
    async (ms) => {
      silences.push(ms);
      world.nowMs += ms;
    },
  );
  expect({ status: (await answer()).status, silences }).toEqual({ status: 503, silences: [1_000, 24_000] });
  expect({ orphanStatuses: world.orphans.map(({ status_code }) => status_code), hits: world.hits }).toEqual({
    orphanStatuses: [503],
    hits: [],
  });
  late.resolve();
  await world.settled();
  expect(world.hits).toHaveLength(1);
});

it("is not given to a key that has expired while it waited for an owner of the Cell", async () => {
  const { world, seen, answer } = stored(away);
  world.key = keyOf({ expires_at_ms: world.nowMs + 250 });
  expect(await answer()).toMatchObject({ status: 403, code: "api_key_expired" });
  await world.settled();
  // After 100 ms the answer may still be sent, after 300 ms it may not.
  expect({ calls: seen.again.length, hits: world.hits }).toEqual({ calls: 2, hits: [] });
});

it("waits no longer when its client leaves, whose row says so", async () => {
  const { world, seen, answer } = stored(away);
  seen.onPause = () => seen.client.abort();
  expect((await answer()).status).toBe(499);
  await world.settled();
  expect({ pausesMs: seen.pausesMs, hits: world.hits }).toEqual({ pausesMs: [100], hits: [] });
  expect(world.orphans).toMatchObject([{ status_code: 499, admission: "queued" }]);
});
