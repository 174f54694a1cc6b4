/**
 * Guardrails and bounds of translated calls whose client or upstream is hostile (docs/rules/guardrails.md#split-texts,
 * docs/rules/dialects.md#answers).
 */
import { expect, it } from "vitest";
import { dataOf, useGateway } from "../harness/fixture.ts";
import { startMessagesUpstream } from "../harness/messages-upstream.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const messages = useStarted(startMessagesUpstream);

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const ACCESS = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };

/** A tenant with a policy whose calls on `path` are translated, and how it sends them. */
async function client(path: string, policy: object | null, behaviour = "plain") {
  const url = path === CHAT ? messages().url : fixture.upstream.url;
  const minted = await fixture.gateway.mint(url, behaviour, path === CHAT ? ACCESS : {});
  if (policy !== null) await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
  const send = async (body: object): Promise<Response> =>
    await fetch(`${fixture.gateway.proxyUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: minted.model.model_name, max_tokens: 64, ...body }),
    });
  return { minted, send };
}

const document = (data: string) => ({ type: "document", source: { type: "text", media_type: "text/plain", data } });

it.each<readonly [string, string, (mark: string) => object]>([
  [
    "system messages that move to the front",
    CHAT,
    (mark) => ({
      messages: [
        { role: "system", content: "blue" },
        { role: "user", content: mark },
        { role: "system", content: "falcon" },
      ],
    }),
  ],
  [
    "a document behind a text",
    MESSAGES,
    (mark) => ({ messages: [{ role: "user", content: [{ type: "text", text: `${mark} blue` }, document("falcon")] }] }),
  ],
  [
    "a system prompt behind the messages",
    MESSAGES,
    (mark) => ({ messages: [{ role: "user", content: `falcon ${mark}` }], system: "blue" }),
  ],
])("a request is examined as its model reads it: %s", async (_, path, bodyOf) => {
  const { minted, send } = await client(path, { input_scanners: ["ban_keywords"], ban_keywords: ["blue falcon"] });
  const { mark } = minted;
  const blocked = await send(bodyOf(mark));
  expect({
    status: blocked.status,
    code: ((await blocked.json()) as { error: { code?: string; message: string } }).error.message,
    isSent: messages().seen(mark).length + fixture.upstream.seen(mark).length > 0,
  }).toEqual({ status: 400, code: expect.stringContaining("content policy"), isSent: false });
});

it("a stream under redact keeps a signed thought whole, and a refusal of a user is 400", async () => {
  const policy = { action: "redact", input_scanners: [], output_scanners: ["pii"] };
  const { send } = await client(CHAT, policy, "thinks");
  const said = { messages: [{ role: "user", content: "hi" }] };
  const stream = await (await send({ ...said, stream: true })).text();
  const deltas = dataOf(stream)
    .filter((data) => data !== "[DONE]")
    .map((data) => (JSON.parse(data) as { choices: [{ delta: Record<string, unknown> }] }).choices[0].delta);
  const refused = await send({ messages: [{ role: "user", content: "forb", refusal: "idden" }] });
  const { error } = (await refused.json()) as { error: { param: string; code: string } };
  expect({
    thoughts: deltas.flatMap((delta) => delta["thinking_blocks"] ?? []),
    text: deltas.map(({ content }) => content ?? "").join(""),
    refused: { status: refused.status, code: error.code, param: error.param },
  }).toEqual({
    thoughts: [{ type: "thinking", thinking: "let me see", signature: "c2ln" }],
    text: "hello world",
    refused: { status: 400, code: "untranslatable_field", param: "messages.0.refusal" },
  });
});

it("a stream repeats no id of an upstream that is long", async () => {
  const { send } = await client(CHAT, null, "id=500000,chunks=100");
  const answer = await send({ messages: [{ role: "user", content: "hi" }], stream: true });
  const text = await answer.text();
  expect({ status: answer.status, isWhole: text.endsWith("data: [DONE]\n\n"), isShort: text.length < 100_000 }).toEqual(
    {
      status: 200,
      isWhole: true,
      isShort: true,
    },
  );
});
