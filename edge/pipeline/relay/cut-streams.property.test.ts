/** A translated stream is the same however the bytes of its upstream are cut (docs/rules/upstream-calls.md#translated-calls). */
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { bodyOf } from "../../../test/harness/edge/pipeline/upstreams.ts";
import { TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const data = (event: object | string): string =>
  `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
const chat = (delta: object, finish_reason: string | null = null): string =>
  data({ id: "chatcmpl-1", model: "m", choices: [{ index: 0, delta, finish_reason }] });
const call = (input: string, head: object = {}): object => ({
  tool_calls: [{ index: 0, ...head, function: { ...("id" in head ? { name: "f" } : {}), arguments: input } }],
});
const CHAT = [
  ": comment\n\n",
  chat({ role: "assistant", content: "" }),
  chat({ reasoning_content: "Hm. 🤔" }),
  chat({ content: "é😀" }).replaceAll("\n", "\r\n"),
  chat(call("", { id: "c1" })),
  chat(call('{"a":"\\u00e9')),
  chat(call('ß"}')),
  chat({}, "tool_calls"),
  data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5 } }),
  data("[DONE]"),
].join("");
const named = (event: { readonly type: string; readonly [name: string]: unknown }): string =>
  `event: ${event.type}\n${data(event)}`;
const MESSAGES = [
  named({ type: "message_start", message: { id: "msg_1", model: "m", usage: { input_tokens: 3, output_tokens: 1 } } }),
  named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "é😀" } }),
  named({ type: "content_block_stop", index: 0 }),
  named({ type: "ping" }).replaceAll("\n", "\r\n"),
  named({ type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t1", name: "f", input: {} } }),
  named({ type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":"ß"}' } }),
  named({ type: "content_block_stop", index: 1 }),
  named({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }),
  named({ type: "message_stop" }),
].join("");

/** The client's result when the upstream's bytes come in these pieces. */
async function sent(path: string, upstream: string, places: readonly number[]): Promise<string> {
  const bytes = new TextEncoder().encode(upstream);
  const ends = [...places.map((place) => place % bytes.byteLength), bytes.byteLength].toSorted((a, b) => a - b);
  const pieces = ends.map((end, at) => bytes.slice(ends[at - 1] ?? 0, end)).filter(({ byteLength }) => byteLength > 0);
  const world = new TestPipeline();
  world.model = modelOf({ api_dialect: upstream === CHAT ? "openai" : "anthropic", responses_api: "translated" });
  world.upstream = async () =>
    new Response(
      bodyOf(() => pieces.shift() ?? null),
      { headers: { "content-type": "text/event-stream" } },
    );
  const asked = { model: "tiny", max_tokens: 9, stream: true };
  const said = path === "/v1/responses" ? { input: "a" } : { messages: [{ role: "user", content: "a" }] };
  const response = await run(world.received({ body: JSON.stringify({ ...asked, ...said }) }, path));
  const text = await response.text();
  await world.settled();
  // the times of a response are the gateway's own
  return text.replaceAll(/"(?:created|created_at|completed_at)":\d+/g, "");
}

it.each([
  ["/v1/messages", CHAT, "message_stop"],
  ["/v1/chat/completions", MESSAGES, "[DONE]"],
  ["/v1/responses", CHAT, "response.completed"],
  ["/v1/responses", MESSAGES, "response.completed"],
])("a stream on %s is the same in any pieces", async (path, upstream, end) => {
  const whole = await sent(path, upstream, []);
  expect(whole).toContain(end);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 40 }), async (places) => {
      expect(await sent(path, upstream, places)).toBe(whole);
    }),
    { numRuns: 40 },
  );
});
