/** A stream that its upstream keeps open after `[DONE]` (docs/rules/streams.md#end-of-a-stream). */
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startHttpSink } from "../harness/http-sink.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const sink = useStarted(startHttpSink);

const CONTENT = 'data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\n';
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":22,"total_tokens":33}}\n\n';
const DONE = "data: [DONE]\n\n";
const [CLIENTS_OWN, WITHHELD] = [{ stream_options: { include_usage: true } }, {}];

async function asked(body: string, fields: Readonly<Record<string, unknown>>) {
  const headers = { "content-type": "text/event-stream" };
  sink().answer = () => ({ headers, body, open: true });
  const minted = await fixture.gateway.mint("", "open", { api_base: sink().url });
  const response = await fixture.gateway.chat(minted, { stream: true, body: fields });
  return { minted, response };
}

async function rowOf({ tenant }: Minted, { headers }: Response) {
  const row = await fixture.gateway.row(tenant.id, headers.get("x-gateway-request-id"));
  return { status: row.status_code, error: row.error_code, tokens: row.total_tokens };
}

const WHOLE = { status: 200, error: "", tokens: 33 };

it.each([
  ["piped", CONTENT + USAGE + DONE, CLIENTS_OWN, CONTENT + USAGE + DONE],
  ["pumped", CONTENT + USAGE + DONE, WITHHELD, CONTENT + DONE],
  ["piped, its usage last", CONTENT + DONE + USAGE, CLIENTS_OWN, CONTENT + DONE + USAGE],
])("a stream that stays open after its end is ended without an error: %s", async (_, sent, fields, got) => {
  const { minted, response } = await asked(sent, fields);
  expect(await response.text()).toBe(got);
  expect(await rowOf(minted, response)).toEqual(WHOLE);
});

it.each([
  ["piped", CLIENTS_OWN],
  ["pumped", WITHHELD],
])("a client that leaves at the end of an open stream is counted as if it had stayed: %s", async (_, fields) => {
  const { minted, response } = await asked(CONTENT + USAGE + DONE, fields);
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes(DONE)) text += (await reader.read()).value ?? "";
  await reader.cancel();
  expect(await rowOf(minted, response)).toEqual(WHOLE);
});
