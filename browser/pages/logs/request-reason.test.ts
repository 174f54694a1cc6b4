/** A request's reason in a list is its error, else what took longest. */
import { describe, expect, it } from "vitest";
import { outputTokensPerSec, requestReason } from "./request-reason.ts";

const slow = { status_code: 200, total_ms: 10_000, gateway_ms: 0, queue_wait_ms: 0, ttft_ms: 500 };

describe("the reason", () => {
  it.each([
    ["a wait", { queue_wait_ms: 8000 }, "Waited for a slot, 80%"],
    ["the gateway", { gateway_ms: 6000 }, "Time in the gateway, 60%"],
    ["the first token", { ttft_ms: 9000 }, "Slow first token, 90%"],
    ["the stream", {}, "Long output, 95%"],
    ["a call without a first byte", { ttft_ms: 0 }, "Upstream call, 100%"],
    ["nothing, when it was fast", { total_ms: 900 }, undefined],
    ["the cache", { cache_status: "hit" }, "From the cache"],
    ["a client that left", { status_code: 499, error_code: "client_gone" }, "Client disconnected"],
    ["an upstream's own error", { status_code: 429 }, "Upstream error 429"],
    ["an upstream's 5xx, which clients get as 502", { status_code: 502 }, "Upstream error"],
    ["an error that the console does not know", { status_code: 400, error_code: "new_one" }, "New one"],
  ])("is %s", (_, change, expected) => {
    expect(requestReason({ ...slow, ...change })).toBe(expected);
  });

  it("is retries, where a stream came after other attempts and the reader sees them", () => {
    expect({ seen: requestReason(slow, 2), unseen: requestReason(slow) }).toEqual({
      seen: "Retries, 95%",
      unseen: "Long output, 95%",
    });
  });

  it("is nothing for a row without any field", () => {
    expect(requestReason({})).toBeUndefined();
  });
});

describe("tokens per second", () => {
  it.each([
    ["of the stream", {}, 100],
    ["of the whole call, when the answer came in one piece", { ttft_ms: 10_000 }, 95],
    ["of the upstream alone, without the wait", { queue_wait_ms: 5000, ttft_ms: 0 }, 190],
    ["unknown for one token", { output_tokens: 1 }, null],
    ["unknown for what was not served", { status_code: 502 }, null],
    ["unknown for an answer from the cache", { cache_status: "hit" }, null],
  ])("are %s", (_, change, expected) => {
    expect(outputTokensPerSec({ ...slow, output_tokens: 950, ...change })).toEqual(expected);
  });
});
