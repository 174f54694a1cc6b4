/**
 * A full queue of a tenant (docs/rules/admission.md#queue-bounds), on a stack of its own that lets two requests of a
 * tenant wait.
 * @module-tag check
 */

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import { Gateway } from "../harness/gateway.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

let stack: Stack;
let upstream: TestUpstream;

beforeAll(async () => {
  upstream = await startTestUpstream();
  stack = await startTestStack({ GATEWAY_MAX_QUEUED_PER_TENANT: "2" });
});
afterAll(async () => {
  await stack.stop();
  await upstream.close();
});

it("refuses one more with 429 `queue_full` and Retry-After, and drops no waiting request", async () => {
  const gateway = new Gateway(stack);
  const minted = await gateway.mint(upstream.url, "chunks=6000,pace=10,fails=1", { max_in_flight: 1 });
  const controller = new AbortController();
  const holder = await gateway.chat(minted, { stream: true, signal: controller.signal });
  const reader = holder.body?.getReader();
  await reader?.read();
  const waiting: Promise<Response>[] = [];
  for (const queued of [1, 2]) {
    waiting.push(gateway.chat(minted));
    await waitFor(
      async () => await gateway.loadOf(minted.model.model_name),
      (load) => load.queued === queued,
    );
  }
  const refused = await gateway.chat(minted);
  expect({ status: refused.status, body: await refused.json() }).toEqual({
    status: 429,
    body: { error: { message: "queue is full", type: "rate_limit_error", code: "queue_full", param: null } },
  });
  expect({
    "retry-after": refused.headers.get("retry-after"),
    "retry-after-ms": refused.headers.get("retry-after-ms"),
  }).toEqual({ "retry-after": "1", "retry-after-ms": "1000" });
  expect(await gateway.row(minted.tenant.id, refused.headers.get("x-gateway-request-id"))).toMatchObject({
    admission: "rejected",
    status_code: 429,
    total_tokens: 0,
  });
  controller.abort();
  for (const answer of waiting) expect((await answer).status).toBe(200);
  expect(upstream.seen(minted.mark)).toHaveLength(3);
});
