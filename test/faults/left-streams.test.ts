/**
 * Clients that leave their streams leave nothing in the runtime's memory (docs/rules/streams.md#two-relays).
 *
 * @module-tag long
 */
import { expect, it } from "vitest";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { keptBytes } from "../harness/inspector.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const stack = useStarted(async () => {
  const started = await startTestStack({}, { inspect: true });
  return { ...started, close: async () => await started.stop() };
});
const upstream = useStarted(startTestUpstream);

const AT_ONCE = 20;
/** The inspector keeps the last thousand lines of the log. */
const WARM = 800;
const LEFT = 400;
/** So few calls do not fill all that is bounded, such as memories of names; the soak is exact. */
const CALL_MAX_BYTES = 4096;

async function leave(gateway: Gateway, { secret, model, mark }: Minted, path: string): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: model.model_name,
      max_tokens: 9,
      stream: true,
      messages: [{ role: "user", content: mark }],
    }),
    signal: leaving.signal,
  });
  expect(response.status).toBe(200);
  await response.body?.getReader().read();
  leaving.abort();
}

it.each(["/v1/chat/completions", "/v1/messages"])("a left stream of %s is forgotten", async (path) => {
  const gateway = new Gateway(stack());
  const minted = await gateway.mint(upstream().url, "chunks=1000,pace=20");
  const leaveMany = async (count: number): Promise<number> => {
    for (let left = 0; left < count; left += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, async () => await leave(gateway, minted, path)));
    await waitFor(
      async () => await gateway.stats(),
      ({ in_flight, queued }) => in_flight + queued === 0,
    );
    return await keptBytes(stack().inspectorUrl());
  };
  const before = await leaveMany(WARM);
  const callBytes = ((await leaveMany(LEFT)) - before) / LEFT;
  expect(callBytes).toBeLessThan(CALL_MAX_BYTES);
});
