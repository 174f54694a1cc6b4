/** Events of a realtime session that are long: neither side's are read or written in one piece. */
import { beforeEach, expect, it, vi } from "vitest";
import { guardedWorldOf } from "../../../test/harness/edge/pipeline/guarded-pipeline.ts";
import type { HeldSocket } from "../../../test/harness/edge/pipeline/held-socket.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { AT_ONCE_MAX, watchJson, watchPatterns } from "../../../test/harness/edge/work-at-once.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { UsageScan } from "../../domain/usage/usage-scan.ts";

const LONG = Array.from({ length: 5_000 }, () => "x".repeat(64));
const POLICIES = {
  input: { ban_keywords: ["secretword"], input_scanners: ["ban_keywords" as const] },
  output: { ban_keywords: ["secretword"], output_scanners: ["ban_keywords" as const] },
};

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

async function opened(policy: keyof typeof POLICIES | null) {
  return await openSession(guardedWorldOf(policy === null ? null : POLICIES[policy]));
}

/** So many messages have come. */
const until = async (socket: HeldSocket, count: number): Promise<unknown> =>
  await waitFor(
    () => socket.sent.length,
    (sent) => sent >= count,
    5_000,
  );

it.each([
  ["settings", null, { type: "session.update", session: { type: "realtime", tools: LONG } }],
  ["settings that are kept", null, { type: "session.update", session: { type: "realtime", truncation: LONG } }],
  ["settings under a policy", "input", { type: "session.update", session: { type: "realtime", tools: LONG } }],
  ["a response", null, { type: "response.create", response: { tools: LONG } }],
] as const)("of a client is written in steps, before the next one: %s", async (_, policy, event) => {
  const { client, upstream } = await opened(policy);
  const [text, next] = [JSON.stringify(event), { type: "input_audio_buffer.clear" }];
  const longest = watchJson();
  client.says(text, JSON.stringify(next));
  await until(upstream, 2);
  const most = longest();
  expect({ most, isBounded: most <= AT_ONCE_MAX }).toEqual({ most, isBounded: true });
  expect(upstream.events).toMatchObject([event, next]);
});

it.each([
  ["settings", { type: "session.updated", session: { tools: LONG } }],
  ["a late item", { type: "conversation.item.done", item: { type: "message", role: "assistant", x: LONG } }],
  ["a transcript", { type: "x_transcription.completed", item_id: "a", usage: { seconds: 1 }, x: LONG }],
] as const)("of an upstream is written in steps, before the next one: %s", async (_, event) => {
  const { client, upstream } = await opened("output");
  const [text, next] = [JSON.stringify(event), { type: "rate_limits.updated" }];
  const longest = watchJson();
  upstream.says(text, JSON.stringify(next));
  await until(client, 2);
  const most = longest();
  expect({ most, isBounded: most <= AT_ONCE_MAX }).toEqual({ most, isBounded: true });
  expect(client.events).toEqual([event, next]);
});

it("of an upstream passes as it came, and is searched for usage part by part", async () => {
  const { client, upstream } = await opened(null);
  const text = JSON.stringify({ type: "x_transcription.completed", item_id: "a", usage: { seconds: 1 }, x: LONG });
  const scans = vi.spyOn(UsageScan.prototype, "push");
  const longest = watchPatterns();
  upstream.says(text);
  await until(client, 1);
  const scanned = scans.mock.calls.map(([{ byteLength }]) => byteLength);
  const largest = { scanned: Math.max(...scanned), tested: longest() };
  expect(client.sent).toEqual([text]);
  expect({
    largest,
    isBounded: largest.scanned <= AT_ONCE_MAX && largest.tested <= AT_ONCE_MAX,
    isWhole: scanned.reduce((sum, one) => sum + one, 0) > text.length,
  }).toEqual({ largest, isBounded: true, isWhole: true });
});
