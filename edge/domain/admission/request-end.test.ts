import fc from "fast-check";
import { expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { chargedTokens, settledRow } from "./request-end.ts";

it.each([
  [200, "", 12],
  [499, "client_gone", 12],
  [400, "", 0],
  [502, "upstream_failed", 0],
  [503, "scheduler_unavailable", 0],
  [503, "gateway_stopping", 12],
  [403, "api_key_disabled", 12],
  [401, "invalid_api_key", 12],
])("charges a row of status %i %s with 12 tokens for %i", (status, error, tokens) => {
  expect(chargedTokens({ status_code: status, error_code: error, total_tokens: 12 })).toBe(tokens);
});

it("a settled row keeps the time of its upstream, wherever the wait was measured", () => {
  const ms = fc.nat({ max: 100_000 });
  fc.assert(
    fc.property(ms, ms, ms, ms, fc.boolean(), (gatewayMs, workerMs, upstreamMs, cellMs, slot) => {
      const total_ms = gatewayMs + workerMs + upstreamMs;
      const row = { ...zeroUsageRow("r", 0), queue_wait_ms: workerMs, gateway_ms: gatewayMs, total_ms };
      const taken = slot ? ({ admission: "queued", queueWaitMs: cellMs } as const) : null;
      const settled = settledRow({ row, actualTokens: 0 }, taken, "eu", cellMs);
      expect(settled.queue_wait_ms).toBe(cellMs);
      if (cellMs <= gatewayMs + workerMs)
        expect(settled.total_ms - settled.queue_wait_ms - settled.gateway_ms).toBe(upstreamMs);
      else expect(settled.gateway_ms).toBe(0);
    }),
  );
});
