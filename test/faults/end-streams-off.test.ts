/**
 * Without GATEWAY_END_STREAMS_ON_REVOKE requests of a revoked key run to their end (docs/rules/keys.md#running-requests).
 * @module-tag check
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { dataOf } from "../harness/fixture.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";

const upstream = useStarted(startTestUpstream);
let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack({ GATEWAY_END_STREAMS_ON_REVOKE: "0" });
});
afterAll(async () => await stack.stop());

it("leaves a stream of a disabled key alone, and refuses the next request", async () => {
  const gateway = new Gateway(stack);
  // longer than the 5 s within which it would end
  const minted = await gateway.mint(upstream().url, "chunks=60,pace=100");
  const stream = await gateway.chat(minted, { stream: true });
  await gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
  const [next, text] = await Promise.all([gateway.chat(minted), stream.text()]);
  const row = await gateway.row(minted.tenant.id, stream.headers.get("x-gateway-request-id"));
  expect({ next: next.status, last: dataOf(text).at(-1), row }).toMatchObject({
    next: 403,
    last: "[DONE]",
    row: { status_code: 200, error_code: "" },
  });
});
