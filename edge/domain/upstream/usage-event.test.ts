/**
 * What the gateway requests from a stream for its client, and what it withholds from the client
 * (docs/rules/streams.md#usage-event).
 */
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { usagePlan } from "../../../test/harness/edge/usage-plan.ts";

const sent = (event: string): string => {
  const transform = usagePlan().response?.();
  const given = new TextEncoder().encode(`data: ${event}\n\n`);
  return new TextDecoder().decode(transform && atOnce(transform.event(given)));
};

describe("the usage event that a client has not asked for", () => {
  const common =
    '"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"system_fingerprint":"f"';

  it("is not sent", () => {
    expect(sent(`{${common},"usage":{"prompt_tokens":1}}`)).toBe("");
  });

  it("is sent without its usage when it has members that no other event has", () => {
    const text = sent(`{${common},"usage":{"prompt_tokens":1},"timings":{"prompt_n":1}}`);
    expect(text).toBe(`data: {${common},"timings":{"prompt_n":1}}\n\n`);
  });

  it("leaves every other event as it is", () => {
    const event = '{"choices":[{"delta":{}}],"usage":{"prompt_tokens":1},"timings":{}}';
    expect(sent(event)).toBe(`data: ${event}\n\n`);
  });
});

it("usage in every event is not asked for where the client has not asked for the event", () => {
  const { edits } = usagePlan(() => ({ continuous_usage_stats: true, other: 1 }));
  expect([...edits]).toEqual([["stream_options", { other: 1, include_usage: true }]]);
});
