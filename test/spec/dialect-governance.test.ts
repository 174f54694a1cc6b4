/**
 * A translated call is governed like every other one (docs/rules/upstream-calls.md#translated-calls): budgets, guardrails, the
 * response cache, fallbacks, clients that leave, and keys that are revoked.
 */
import { expect, it } from "vitest";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { Model } from "../../shared/schema/model.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { startMessagesUpstream } from "../harness/messages-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const messages = useStarted(startMessagesUpstream);

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const ACCESS = { api_dialect: "anthropic", auth_scheme: "x-api-key", api_key: "upstream-key" };
/** What an answer of Anthropic's fake costs at the prices of a minted model, and its tokens. */
const MESSAGE = { tokens: 19 + 22, usd: 19 * 0.001 + 22 * 0.01 };

/** A tenant whose calls on `path` are translated; `behaviour` is that of the upstream. */
async function mint(path: string, behaviour = "plain", model: object = {}): Promise<Minted> {
  return path === CHAT
    ? await fixture.gateway.mint(messages().url, behaviour, { ...ACCESS, ...model })
    : await fixture.gateway.mint(fixture.upstream.url, behaviour, { ...model });
}

async function send(minted: Minted, path: string, more: object = {}, signal: AbortSignal | null = null) {
  return await fetch(`${fixture.gateway.proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: minted.model.model_name,
      max_tokens: 64,
      messages: [{ role: "user", content: `hello ${minted.mark}` }],
      ...more,
    }),
    signal,
  });
}

const rowOf = async ({ tenant }: Minted, { headers }: Response) =>
  await fixture.gateway.row(tenant.id, headers.get("x-gateway-request-id"));

const settledBudget = async ({ tenant }: Minted) =>
  await waitFor(
    async () => await fixture.gateway.must<BudgetUsage>("GET", `/tenants/${tenant.id}/budget/usage`),
    (usage) => usage.used_tokens > 0 && usage.reserved_tokens + usage.reserved_cost_usd === 0,
  );

const guard = async ({ tenant }: Minted, policy: object): Promise<unknown> =>
  await fixture.gateway.must("PATCH", `/tenants/${tenant.id}/guardrails`, { policy });

/** The text of a stream of either API. */
function textOf(stream: string): string {
  return dataOf(stream)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data) as Record<string, never>)
    .map(({ choices, delta }) => (choices?.[0]?.["delta"]?.["content"] ?? delta?.["text"] ?? "") as string)
    .join("");
}

it("is charged to the budget by what the upstream reports", { tags: ["check"] }, async () => {
  const minted = await mint(CHAT);
  const budget = { budget_tokens: 10_000, budget_cost_usd: 100, budget_period: "lifetime" };
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  await (await send(minted, CHAT, { stream: true })).text();
  expect(await settledBudget(minted)).toMatchObject({
    used_tokens: MESSAGE.tokens,
    used_cost_usd: expect.closeTo(MESSAGE.usd, 9),
  });
});

it("reserves the limit that its message gets, for a chat completion without one", async () => {
  const minted = await mint(CHAT, "chunks=100000,pace=20");
  const budget = { budget_tokens: 100_000, budget_cost_usd: null, budget_period: "lifetime" };
  await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  const leaving = new AbortController();
  const answer = await send(minted, CHAT, { stream: true, max_tokens: undefined }, leaving.signal);
  const usage = await waitFor(
    async () => await fixture.gateway.must<BudgetUsage>("GET", `/tenants/${minted.tenant.id}/budget/usage`),
    ({ reserved_tokens }) => reserved_tokens > 0,
  );
  leaving.abort();
  const [call] = messages().seen(minted.mark);
  expect({ sent: call?.body.max_tokens, isReserved: usage.reserved_tokens >= 4096, status: answer.status }).toEqual({
    sent: 4096,
    isReserved: true,
    status: 200,
  });
});

it.each([CHAT, MESSAGES])("has its guardrails on %s, in and out", async (path) => {
  const minted = await mint(path);
  const forbidden = path === CHAT ? "hello world" : "w1 w2";
  await guard(minted, { input_scanners: ["ban_keywords"], ban_keywords: [minted.mark] });
  const blocked = await send(minted, path);
  expect({ status: blocked.status, text: await blocked.text() }).toEqual({
    status: 400,
    text: expect.stringContaining("request_blocked"),
  });
  await guard(minted, {
    action: "redact",
    input_scanners: [],
    output_scanners: ["ban_keywords"],
    ban_keywords: [forbidden],
  });
  const answer = await send(minted, path, { stream: true });
  const text = textOf(await answer.text());
  expect({ text, isShown: text.includes(forbidden) }).toEqual({ text: expect.stringContaining("["), isShown: false });
  expect(messages().seen(minted.mark).length + fixture.upstream.seen(minted.mark).length).toBe(1);
});

it.each([CHAT, MESSAGES])(
  "is stored as the client of %s reads it, and costs nothing again",
  { tags: ["check"] },
  async (path) => {
    const minted = await mint(path, "plain", { cache_enabled: true });
    const stream = { stream: true };
    const first = await send(minted, path, stream);
    const text = await first.text();
    await rowOf(minted, first);
    const again = await waitFor(
      async () => await send(minted, path, stream),
      ({ headers }) => headers.get("x-gateway-cache") === "hit",
    );
    expect(await again.text()).toBe(text);
    expect(await rowOf(minted, again)).toMatchObject({ cost_usd: 0, cache_status: "hit" });
  },
);

it.each([CHAT, MESSAGES])(
  "on %s falls back to a model of the other API, and from it",
  { tags: ["check"] },
  async (path) => {
    const there = { ...ACCESS, upstream_model: "plain", api_base: messages().url };
    for (const [own, other] of [
      [there, { api_base: fixture.upstream.at("down", "status=503") }],
      [
        { api_base: fixture.upstream.url, upstream_model: "plain" },
        { ...there, upstream_model: "status=529" },
      ],
    ] as const) {
      const second = await fixture.gateway.mint("", "plain", own);
      const minted = await fixture.gateway.mint("", "plain", { ...other, fallback_models: [second.model.model_name] });
      const answer = await send(minted, path);
      const document = (await answer.json()) as { choices?: object; content?: object };
      expect({
        status: answer.status,
        model: answer.headers.get("x-gateway-model"),
        isChat: document.choices !== undefined,
        isMessage: document.content !== undefined,
      }).toEqual({
        status: 200,
        model: second.model.model_name,
        isChat: path === CHAT,
        isMessage: path === MESSAGES,
      });
      expect(await rowOf(minted, answer)).toMatchObject({
        model: minted.model.model_name,
        served_model: second.model.model_name,
      });
    }
  },
);

it("a client that leaves its stream pays what the upstream had reported, and ends its call", {
  tags: ["check"],
}, async () => {
  const minted = await mint(CHAT, "chunks=100000,pace=20");
  const leaving = new AbortController();
  const answer = await send(minted, CHAT, { stream: true }, leaving.signal);
  await answer.body?.getReader().read();
  leaving.abort();
  const row = await rowOf(minted, answer);
  expect(row).toMatchObject({ status_code: 499, error_code: "client_gone", input_tokens: 19 });
  await waitFor(
    () => messages().seen(minted.mark)[0]?.cutOff,
    (cutOff) => cutOff === true,
  );
});

it("ends within its stream when its key is revoked, in the client's form", { tags: ["check"] }, async () => {
  for (const path of [CHAT, MESSAGES]) {
    const minted = await mint(path, "chunks=100000,pace=20");
    const answer = await send(minted, path, { stream: true });
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    const text = await answer.text();
    const last = JSON.parse(dataOf(text).at(-1) ?? "null") as { error: { code: string } };
    expect({ path, code: last.error.code, isNamed: text.includes("event: error") }).toEqual({
      path,
      code: "api_key_disabled",
      isNamed: path === MESSAGES,
    });
    expect(await rowOf(minted, answer)).toMatchObject({ status_code: 403, error_code: "api_key_disabled" });
  }
});

it("a fallback that cannot serve the path is passed over", { tags: ["check"] }, async () => {
  const embeds = await fixture.gateway.mint(fixture.upstream.url);
  const messagesModel = await mint(CHAT);
  const fallback_models = [messagesModel.model.model_name, embeds.model.model_name];
  const minted = await fixture.gateway.mint(fixture.upstream.at("away", "status=503"), "plain", { fallback_models });
  const answer = await send(minted, "/v1/completions", { prompt: "a" });
  expect({ status: answer.status, model: answer.headers.get("x-gateway-model") }).toEqual({
    status: 200,
    model: embeds.model.model_name,
  });
  const model = await fixture.gateway.must<Model>("GET", `/models/${messagesModel.model.id}`);
  expect(model).toMatchObject({ api_dialect: "anthropic", auth_scheme: "x-api-key", api_key_set: true });
});
