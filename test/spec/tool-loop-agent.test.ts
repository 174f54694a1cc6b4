/**
 * An agent's conversation of thirty turns of the model through the tool loop, whose client leaves in the middle and comes
 * back: no row is lost, no turn is billed twice, and nothing stays held (docs/rules/tool-loop.md#usage).
 *
 * @module-tag check
 */
import OpenAI from "openai";
import { expect, inject, it } from "vitest";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import { startReferenceServer } from "../harness/mcp-reference/server.ts";
import { StackLog } from "../harness/stack-log.ts";
import { useToolLoop } from "../harness/tool-loop-fixture.ts";
import { TURN_USAGE } from "../harness/tool-model.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const loop = useToolLoop(fixture);
const log = new StackLog(inject("logFile"));
const server = useStarted(startReferenceServer);

const REQUESTS = 6;
/** Turns of the model for each request: four that call tools, and the answer. */
const TURNS = 5;
const CALLS = [
  { test_simple_text: {} },
  { test_tool_with_logging: {}, test_simple_text: {} },
  { test_error_handling: {} },
  { test_multiple_content_types: {}, test_tool_with_progress: {} },
];
const USAGE_OF_A_REQUEST = {
  prompt_tokens: TURNS * TURN_USAGE.prompt_tokens,
  completion_tokens: TURNS * TURN_USAGE.completion_tokens,
  total_tokens: TURNS * TURN_USAGE.total_tokens,
};
type Messages = OpenAI.ChatCompletionMessageParam[];

it("loses no row and holds nothing over thirty turns of an agent that leaves in the middle", async () => {
  const { gateway } = fixture;
  const minted = await loop.mint([server()]);
  const budget = { budget_period: "lifetime", budget_tokens: 1_000_000, budget_cost_usd: 1_000_000 };
  await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  const client = new OpenAI({ apiKey: minted.secret, baseURL: `${gateway.proxyUrl}/v1`, maxRetries: 0 });
  const model = minted.model.model_name;
  const messages: Messages = [];
  const requestIds: string[] = [];

  for (let nth = 1; nth <= REQUESTS; nth += 1) {
    const lines = CALLS.map((calls) => `call ${JSON.stringify(calls)}`);
    messages.push({ role: "user", content: [`question ${nth} of ${minted.mark}`, ...lines].join("\n") });
    if (nth === REQUESTS / 2) requestIds.push(await leaveInTheMiddle(client, model, messages));
    const streamed = nth % 2 === 0;
    const ask = streamed
      ? await client.chat.completions
          .create({ model, messages, stream: true, stream_options: { include_usage: true } })
          .withResponse()
          .then(async ({ data, response }) => ({ ...(await collected(data)), response }))
      : await client.chat.completions
          .create({ model, messages })
          .withResponse()
          .then(({ data, response }) => ({ content: data.choices[0]?.message.content, usage: data.usage, response }));
    expect(ask.usage).toEqual(USAGE_OF_A_REQUEST);
    expect(ask.content).toContain("error: This tool intentionally returns an error for testing");
    requestIds.push(String(ask.response.headers.get("x-gateway-request-id")));
    messages.push({ role: "assistant", content: ask.content ?? "" });
  }

  const turns = loop.model.seen(minted.mark);
  expect(turns.length).toBeGreaterThan(REQUESTS * TURNS);
  // The request that was left may have had a turn on its way that did not reach the model. All rows are there when they
  // are what the budget has counted; what the cell has taken of it in advance comes back a little later.
  const sumOf = (found: readonly UsageLog[], name: "total_tokens" | "cost_usd"): number =>
    found.reduce((sum, row) => sum + row[name], 0);
  const { rows, usage } = await waitFor(
    async () => ({
      rows: await gateway.allRows(minted.tenant.id),
      usage: await gateway.must<BudgetUsage>("GET", `/tenants/${minted.tenant.id}/budget/usage`),
    }),
    ({ rows: found, usage: { used_tokens: used, reserved_tokens: tokens, reserved_cost_usd: cost } }) =>
      found.length >= turns.length && used === sumOf(found, "total_tokens") && tokens + cost === 0,
  );
  await waitFor(
    async () => await gateway.loadOf(model),
    ({ inFlight, queued }) => inFlight === 0 && queued === 0,
  );
  expect(rows.length - turns.length).toBeLessThanOrEqual(1);
  expect(new Set(rows.map((row) => row.request_id)).size).toBe(rows.length);
  expect(new Set(rows.map((row) => row.session_id)).size).toBe(1);

  const left = requestIds[Math.floor(REQUESTS / 2) - 1];
  for (const id of requestIds) {
    const own = rows.filter((row) => row.request_id === id);
    expect(own.map((row) => [row.request_type, row.admission, row.status_code])).toEqual([
      ["chat", "fast", id === left ? 499 : 200],
    ]);
    const later = await turnsOf(id, rows, id === left ? 1 : TURNS - 1);
    expect(later.every((row) => row.request_type === "tool_loop" && row.admission === "boon")).toBe(true);
    if (id === left) continue;
    expect(later.map((row) => row.status_code)).toEqual(Array.from({ length: TURNS - 1 }, () => 200));
    expect(sumOf([...own, ...later], "total_tokens")).toBe(USAGE_OF_A_REQUEST.total_tokens);
  }

  expect(usage.used_cost_usd).toBeCloseTo(sumOf(rows, "cost_usd"), 6);
  await waitFor(
    () => server().sessions.size,
    (open) => open === 0,
  );
});

/** Asks in a stream, and leaves when the second turn's tools are announced; the id of the request. */
async function leaveInTheMiddle(client: OpenAI, model: string, messages: Messages): Promise<string> {
  const { data, response } = await client.chat.completions.create({ model, messages, stream: true }).withResponse();
  let announced = 0;
  for await (const chunk of data) {
    if (JSON.stringify(chunk.choices[0]?.delta).includes("[tool: ")) announced += 1;
    if (announced < 2) continue;
    data.controller.abort();
    break;
  }
  return String(response.headers.get("x-gateway-request-id"));
}

/** Content and usage of a stream. */
async function collected(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  let content = "";
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const chunk of stream) {
    content += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  return { content, usage };
}

/** The rows of a request's later turns, by the parent in their lines of the log; at least so many. */
async function turnsOf(id: string, rows: readonly UsageLog[], least: number): Promise<readonly UsageLog[]> {
  const lines = await waitFor(
    () => log.requests(id).filter((line) => line["parent_request_id"] === id),
    (found) => found.length >= least,
  );
  return rows.filter((row) => lines.some((line) => line["request_id"] === row.request_id));
}
