/**
 * A client that leaves a stream before the usage event owes its input and what was seen of the answer, whatever limit it stated
 * (docs/rules/settlement-and-rows.md#what-was-seen): leaving early does not exceed the caps of its tenant.
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { type HttpSink, jsonAnswer, type SinkAnswer, startHttpSink } from "../harness/http-sink.ts";
import { mainRows } from "../harness/main-rows.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

/** The last text that it writes. */
const LAST_ECHO = '"truncation":"disabled",';
const WORDS = 20;

/**
 * An upstream of the responses route that repeats `text` and `tools` of the request in its answer, as the API does, and then stops
 * before the usage. A client gets only what was sent before.
 */
const startEchoUpstream = async (): Promise<HttpSink> =>
  await startHttpSink(({ body }) => answer(JSON.parse(body) as Record<string, unknown>));

function answer({ text, tools, stream }: Readonly<Record<string, unknown>>): SinkAnswer {
  const content = [{ type: "output_text", text: "word ".repeat(WORDS) }];
  const head = { id: "resp_1", object: "response", output: [{ type: "message", role: "assistant", content }] };
  const whole = `${JSON.stringify({ ...head, status: "completed", text, tools }).slice(0, -1)},${LAST_ECHO}`;
  if (stream !== true) return { ...jsonAnswer({}), body: whole, open: true };
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
  const begun = { id: "resp_1", object: "response", status: "in_progress", output: [], text, tools, usage: null };
  const body = [
    event({ type: "response.created", response: begun }),
    event({ type: "response.output_text.delta", delta: "word " }).repeat(WORDS),
    `data: {"type":"response.completed","response":${whole}`,
  ].join("");
  return { headers: { "content-type": "text/event-stream" }, body, open: true };
}

const fixture = useGateway();
const echo = useStarted(startEchoUpstream);

const CHUNKS = 900;

/** Reads a stream until `chunks` content events have come, then leaves. Returns how many came. */
async function leaveAfter(minted: Minted, chunks: number, body: Readonly<Record<string, unknown>>): Promise<number> {
  const leaving = new AbortController();
  const response = await fixture.gateway.chat(minted, {
    stream: true,
    signal: leaving.signal,
    body: { max_tokens: 1, max_completion_tokens: 100_000, ...body },
  });
  let text = "";
  let seen = 0;
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const parts = (text + chunk).split('"content":');
    seen += parts.length - 1;
    text = parts.at(-1)?.slice(-16) ?? "";
    if (seen >= chunks) break;
  }
  leaving.abort();
  return seen;
}

mainRows(
  1,
  describe,
)([
  ["fast, its usage withheld", "chunks=50000,pace=0", {}],
  ["fast, its usage asked for", "chunks=50000,pace=0", { stream_options: { include_usage: true } }],
  ["calmly, its usage asked for", "chunks=50000,pace=5", { stream_options: { include_usage: true } }],
])("a stream that comes %s", (_, upstream, body) => {
  const oweTheirChunks = async (streams: number): Promise<void> => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, upstream);
    const cap = (streams * CHUNKS) / 2;
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: cap * 1000 });
    const received = await Promise.all(
      Array.from({ length: streams }, async () => await leaveAfter(minted, CHUNKS, body)),
    );
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === streams,
    );
    expect(rows.map((row) => row.status_code)).toEqual(received.map(() => 499));
    const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
    const owed = rows.map((row) => row.output_tokens);
    expect(sum(owed)).toBeGreaterThanOrEqual(sum(received));
    expect(Math.min(...owed)).toBeGreaterThanOrEqual(CHUNKS);
    // So the cap of the tenant holds: it is used up, and no request is served any more.
    const usage = await waitFor(
      async () =>
        await fixture.gateway.must<{ used_tokens: number; reserved_tokens: number }>(
          "GET",
          `/tenants/${minted.tenant.id}/budget/usage`,
        ),
      ({ reserved_tokens }) => reserved_tokens === 0,
    );
    expect(usage.used_tokens).toBe(sum(rows.map((row) => row.total_tokens)));
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: cap });
    const refused = await fixture.gateway.chat(minted, { stream: true });
    expect({
      status: refused.status,
      code: ((await refused.json()) as { error: { code: string } }).error.code,
    }).toEqual({ status: 403, code: "tenant_budget_exhausted" });
  };
  it("owes 900 chunks for each of 4 streams with max_tokens 1, max_completion_tokens 100000", async () => {
    await oweTheirChunks(4);
  });
  it("owes 900 chunks for each of 20 streams with max_tokens 1, max_completion_tokens 100000", {
    tags: ["long"],
  }, async () => {
    await oweTheirChunks(20);
  });
});

it("a stream of a model that hides its reasoning owes 2,048 tokens when it is left", { tags: ["check"] }, async () => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=50000,pace=5", { hidden_reasoning: true });
  await leaveAfter(minted, 10, {});
  const [row] = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length === 1,
  );
  expect(row).toMatchObject({ status_code: 499, output_tokens: 2_048 });
});

mainRows(
  1,
  describe,
)([
  ["streamed", true],
  ["whole", false],
])("a response that comes %s and repeats the request", (_, stream) => {
  const zero = { usage: { input_tokens: 0, output_tokens: 0, prompt_tokens: 0, completion_tokens: 0 } };
  const TEXT_TOKENS = 1000;
  /** The names and words of the format and the tool count too. */
  const INPUT_TOKENS = TEXT_TOKENS + 42;
  const OUTPUT_TOKENS = 600;

  it("owes nothing for the repetition when it is left before its usage", async () => {
    const minted = await fixture.gateway.mint(`${echo().url}/v1`, "echo");
    const leaving = new AbortController();
    const response = await fetch(`${fixture.gateway.proxyUrl}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
      signal: leaving.signal,
      body: JSON.stringify({
        model: minted.model.model_name,
        stream,
        input: "x".repeat(4 * TEXT_TOKENS),
        max_output_tokens: OUTPUT_TOKENS,
        text: { format: { type: "json_schema", name: "x", schema: zero } },
        tools: [{ type: "function", name: "x", parameters: zero }],
      }),
    });
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes(LAST_ECHO)) break;
    }
    leaving.abort();
    expect(text.match(/"usage":\{"input_tokens":0,"output_tokens":0/g)?.length).toBeGreaterThanOrEqual(2);
    const [row] = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length > 0,
    );
    expect(row).toMatchObject({
      status_code: 499,
      input_tokens: INPUT_TOKENS,
    });
    const owed = row?.output_tokens ?? 0;
    if (stream) expect(owed).toBeLessThan(100);
    else expect(owed).toBe(OUTPUT_TOKENS);
    expect(row?.cost_usd).toBeCloseTo(INPUT_TOKENS * 0.001 + owed * 0.01, 9);
  });
});
