/**
 * Both official clients of text in every cell of their rows in docs/api.md#what-works-on-which-route, at a model of their own API
 * and, translated, at one of the other.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startMessagesUpstream } from "../harness/messages-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const messages = useStarted(startMessagesUpstream);

const user = ({ mark }: Minted) => [{ role: "user" as const, content: `hello ${mark}` }];

interface Client {
  readonly name: string;
  readonly ask: (minted: Minted) => Promise<{ readonly text: unknown; readonly headers: Headers }>;
  readonly streamed: (minted: Minted) => Promise<unknown>;
  /** The code of the gateway in an error that the client raises. */
  readonly codeOf: (error: unknown) => unknown;
}

const openai = ({ secret }: Minted): OpenAI =>
  new OpenAI({ baseURL: `${fixture.gateway.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });
const anthropic = ({ secret }: Minted): Anthropic =>
  new Anthropic({ baseURL: fixture.gateway.proxyUrl, apiKey: secret, maxRetries: 0 });
const message = (minted: Minted) => ({
  model: minted.model.model_name,
  max_tokens: 64,
  messages: user(minted),
});

const CLIENTS: readonly Client[] = [
  {
    name: "the OpenAI SDK",
    ask: async (minted) => {
      const request = { model: minted.model.model_name, messages: user(minted) };
      const { data, response } = await openai(minted).chat.completions.create(request).withResponse();
      return { text: data.choices[0]?.message.content, headers: response.headers };
    },
    streamed: async (minted) => {
      const request = { model: minted.model.model_name, messages: user(minted), stream: true } as const;
      let text = "";
      for await (const { choices } of await openai(minted).chat.completions.create(request))
        text += choices[0]?.delta.content ?? "";
      return text;
    },
    codeOf: (error) => (error instanceof OpenAI.APIError ? error.code : error),
  },
  {
    name: "the Anthropic SDK",
    ask: async (minted) => {
      const { data, response } = await anthropic(minted).messages.create(message(minted)).withResponse();
      const [block] = data.content;
      return { text: block?.type === "text" && block.text, headers: response.headers };
    },
    streamed: async (minted) => await anthropic(minted).messages.stream(message(minted)).finalText(),
    codeOf: (error) =>
      error instanceof Anthropic.APIError ? (error.error as { error: { code: unknown } }).error.code : error,
  },
];
const AT = CLIENTS.flatMap((client) =>
  (["openai", "anthropic"] as const).map((dialect) => [`${client.name} at a model of ${dialect}`, { client, dialect }]),
) as readonly [string, { readonly client: Client; readonly dialect: "openai" | "anthropic" }][];

describe.each(AT)("%s", (_, { client, dialect }) => {
  const mint = async (model: object = {}): Promise<Minted> => {
    const access = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };
    return dialect === "anthropic"
      ? await fixture.gateway.mint(messages().url, "plain", { ...access, ...model })
      : await fixture.gateway.mint(fixture.upstream.url, "plain", { ...model });
  };
  const codeOf = async (minted: Minted): Promise<unknown> => await client.ask(minted).catch(client.codeOf);
  const guarded = async (policy: object): Promise<unknown> => {
    const minted = await mint();
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, { policy });
    return await codeOf(minted);
  };

  it("gets an answer and a stream", async () => {
    const minted = await mint();
    expect({ text: (await client.ask(minted)).text, streamed: await client.streamed(minted) }).toEqual({
      text: "hello world",
      streamed: dialect === "anthropic" ? "hello world" : "w0 w1 w2 w3 ",
    });
  });

  it("raises the refusals of a budget, and of guardrails for request and answer", async () => {
    const minted = await mint();
    const spent = { budget_tokens: 0, budget_cost_usd: null, budget_period: "monthly" };
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, spent);
    expect({
      budget: await codeOf(minted),
      request: await guarded({ input_scanners: ["ban_keywords"], ban_keywords: ["hello"] }),
      answer: await guarded({ output_scanners: ["ban_keywords"], ban_keywords: ["world"] }),
    }).toEqual({ budget: "tenant_budget_exhausted", request: "request_blocked", answer: "response_blocked" });
  });

  it("gets a stored answer", { tags: ["check"] }, async () => {
    const minted = await mint({ cache_enabled: true });
    await client.ask(minted);
    const hit = await waitFor(
      async () => await client.ask(minted),
      ({ headers }) => headers.get("x-gateway-cache") === "hit",
    );
    expect(hit.text).toBe("hello world");
  });

  it("gets the answer of a fallback", { tags: ["check"] }, async () => {
    const second = await mint();
    const fallback = { fallback_models: [second.model.model_name] };
    const minted = await fixture.gateway.mint("http://127.0.0.1:9", "plain", { api_dialect: dialect, ...fallback });
    const { text, headers } = await client.ask(minted);
    expect({ text, model: headers.get("x-gateway-model") }).toEqual({
      text: "hello world",
      model: second.model.model_name,
    });
  });
});
