/**
 * What a client or an upstream sends once is not sent on many times: to the upstream of a translated call
 * (docs/rules/upstream-calls.md#translated-calls), and to the client of a redacted stream (docs/rules/guardrails.md#actions).
 */
import { expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { useServer } from "../harness/use-started.ts";

const fixture = useGateway();
const PARTS = 1_000;
const LONG = 100_000;

let receivedBytes = 0;
const started = {
  type: "response.output_item.added",
  output_index: 0,
  item: {
    id: "i".repeat(LONG),
    type: "message",
    content: Array.from({ length: PARTS }, () => ({ type: "output_text", text: "a" })),
  },
};
const ANSWER = `data: ${JSON.stringify(started)}\n\ndata: {"type":"response.completed","response":{"id":"r","output":[]}}\n\n`;
const origin = useServer((request, response) => {
  request.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length;
  });
  request.on("end", () => response.setHeader("content-type", "text/event-stream").end(ANSWER));
});

async function post(model: Readonly<Record<string, unknown>>, policy: object | null, body: object): Promise<Response> {
  const minted = await fixture.gateway.mint(`${origin()}/v1`, "plain", model);
  if (policy !== null) await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
  return await fetch(`${fixture.gateway.proxyUrl}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: minted.model.model_name, input: "hi", ...body }),
  });
}

it("a long namespace of very many tools is refused, and nothing is sent", async () => {
  const tools = Array.from({ length: PARTS }, (_, at) => ({ type: "function", name: `a${at}` }));
  receivedBytes = 0;
  const response = await post({ responses_api: "translated" }, null, {
    tools: [{ type: "namespace", name: "n".repeat(LONG), tools }],
  });
  const { error } = (await response.json()) as { error: { code: string; param: string } };
  expect({ status: response.status, code: error.code, param: error.param, receivedBytes }).toEqual({
    status: 400,
    code: "untranslatable_field",
    param: "tools.0.tools.0.name",
    receivedBytes: 0,
  });
});

it("a long id of an item is not told with each of its parts", async () => {
  const policy = { action: "redact", output_scanners: ["ban_keywords"], ban_keywords: ["denword"] };
  const response = await post({}, policy, { stream: true, store: false });
  const text = await response.text();
  const parts = text.split('"output_text"').length - 1;
  expect({
    status: response.status,
    length: text.length,
    isShort: text.length < LONG + PARTS * 1024,
    hasParts: parts >= PARTS,
    isWhole: text.includes("response.completed"),
  }).toEqual({ status: 200, length: text.length, isShort: true, hasParts: true, isWhole: true });
});
