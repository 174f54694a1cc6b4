/** What must hold behind the gateway for every real model server. */
import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { Body } from "./bodies.ts";
import type { ModelServer } from "./model-server.ts";
import { type Spoken, spoken, usageIn } from "./spoken.ts";

interface RealServer {
  readonly name: string;
  readonly start: () => Promise<ModelServer>;
  /** By which the server knows its model. */
  readonly model: string;
  readonly bodies: readonly Body[];
  /** Calls that it serves at the same time; null: it makes no text, so that no call takes long. */
  readonly slots: number | null;
  /** A tool that it has to call is called, by the schema of the tool if that is strict. */
  readonly callsTools?: boolean;
  /** Names of bodies whose answers report fewer tokens than its metrics count. */
  readonly reportsLess?: readonly string[];
  /** Its metrics of tokens read, tokens made, and calls that run. */
  readonly metrics: { readonly input: string; readonly output: string; readonly running: string };
}

/** Routes whose answers are no text of a model: they cost nothing. */
const UNCOUNTED = /tokens$|tokenize$|apply-template$/;
/** Far more than a test waits for. */
const LONG_TOKENS = 7_000;
const WEIGHTS = { heavy: 75, light: 25 } as const;
const SERVED = 120;
const TURNS = 20;
/** What its model, which knows nothing, can ask of the tool. */
const PLACES = ["here", "there"];
const ASKED = { role: "user" as const, content: "a b c" };
const LOOK = {
  name: "look",
  strict: true,
  input_schema: {
    type: "object" as const,
    properties: { at: { type: "string", enum: PLACES } },
    required: ["at"],
    additionalProperties: false,
  },
};

export function testServer({
  name,
  start,
  model,
  bodies,
  slots,
  callsTools = false,
  reportsLess = [],
  metrics,
}: RealServer): void {
  const server = useStarted(start);
  const { gateway } = useGateway();
  let minted: Minted;
  /** The same server, which answers messages itself. */
  let ofMessages: Minted;
  beforeAll(async () => {
    minted = await mint();
    ofMessages = await mint({ api_dialect: "anthropic" });
  });

  const mint = async (fields: object = {}) => await gateway.mint(`${server().url}/v1`, model, { ...fields });
  const messagesOf = ({ secret }: Minted) =>
    new Anthropic({ baseURL: gateway.proxyUrl, apiKey: secret, maxRetries: 0 }).messages;
  /** A message to a model that answers in chat completions, streamed or not. */
  const say = async (caller: Minted, stream: boolean, more: Partial<Anthropic.MessageCreateParamsNonStreaming>) => {
    const request = { model: caller.model.model_name, max_tokens: 12, temperature: 0, messages: [ASKED], ...more };
    const messages = messagesOf(caller);
    return stream ? await messages.stream(request).finalMessage() : await messages.create(request);
  };
  const straight = async ({ path, body }: Body): Promise<Spoken> =>
    await spoken(await post(`${server().url}${path}`, { ...body, model }));
  const through = async ({ path, body }: Body): Promise<{ answer: Spoken; row: UsageLog }> => {
    const caller = path.startsWith("/v1/messages") ? ofMessages : minted;
    const given = { ...body, model: caller.model.model_name };
    const response = await post(`${gateway.proxyUrl}${path}`, given, caller.secret);
    const answer = await spoken(response);
    return { answer, row: await gateway.row(caller.tenant.id, response.headers.get("x-gateway-request-id")) };
  };
  const counted = async (): Promise<{ input: number; output: number }> => ({
    input: await server().metric(metrics.input),
    output: await server().metric(metrics.output),
  });
  const atRest = async (): Promise<void> =>
    void (await waitFor(
      async () => await server().metric(metrics.running),
      (running) => running === 0,
    ));
  const longStream = async (signal?: AbortSignal): Promise<{ response: Response; reader: Reader }> => {
    const body = { max_tokens: LONG_TOKENS, ignore_eos: true, temperature: 0 };
    const response = await gateway.chat(minted, { stream: true, body, ...(signal && { signal }) });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    // Several pieces, so that the answer is in full flow.
    for (let piece = 0; piece < 3; piece += 1) await reader.read();
    return { response, reader };
  };

  describe(name, () => {
    it.each(bodies)("answers as straight, and its row has the tokens of the answer: $name", async (body) => {
      const expected = await straight(body);
      const { answer, row } = await through(body);
      const status = expected.status >= 500 ? 502 : expected.status;
      expect(answer).toEqual({ ...expected, status });
      const usage = usageIn(answer.said);
      const isCounted = usage !== undefined && !UNCOUNTED.test(body.path);
      const tokens = isCounted
        ? {
            input_tokens: usage["prompt_tokens"] ?? usage["input_tokens"],
            output_tokens: usage["completion_tokens"] ?? usage["output_tokens"] ?? 0,
          }
        : {};
      expect(row).toMatchObject({ status_code: status, ...tokens });
    });

    it("counts as many tokens as the rows of its calls have", async () => {
      await atRest();
      const before = await counted();
      const rows: UsageLog[] = [];
      for (const body of bodies.filter((each) => !reportsLess.includes(each.name))) {
        const { answer, row } = await through(body);
        if (answer.status === 200) rows.push(row);
      }
      await atRest();
      const after = await counted();
      const sum = (field: "input_tokens" | "output_tokens"): number =>
        rows.reduce((total, row) => total + row[field], 0);
      expect({ input: sum("input_tokens"), output: sum("output_tokens") }).toEqual({
        input: after.input - before.input,
        output: after.output - before.output,
      });
    });

    if (slots === null) return;

    it.each([false, true])("answers a message by a chat completion, streamed: %s", async (stream) => {
      const { content, usage } = await say(minted, stream, { max_tokens: 8, system: "be brief" });
      expect(content.map(({ type }) => type)).toEqual(["text"]);
      const rows = await waitFor(
        async () => await gateway.rows(minted.tenant.id, "&request_type=messages"),
        (found) => found.length === (stream ? 2 : 1),
      );
      const { cache_read_input_tokens: cached, input_tokens, output_tokens } = usage;
      expect(rows[0]).toMatchObject({ input_tokens: input_tokens + (cached ?? 0), output_tokens, status_code: 200 });
    });

    it(`reads ${TURNS} turns of a tool in messages that become chat completions, streamed and not`, async () => {
      const caller = await mint();
      const history: Anthropic.MessageParam[] = [ASKED];
      for (let turn = 0; turn < TURNS; turn += 1) {
        const answer = await say(caller, turn % 2 !== 0, { messages: history });
        // A model of random weights makes no calls: the call that it reads is added to what it says.
        const called = { type: "tool_use" as const, id: `call_${turn}`, name: "look", input: { at: "here" } };
        const result = { type: "tool_result" as const, tool_use_id: called.id, content: `seen ${turn}` };
        history.push({ role: "assistant", content: [...answer.content, called] }, { role: "user", content: [result] });
      }
      const rows = await waitFor(
        async () => await gateway.rows(caller.tenant.id),
        (found) => found.length === TURNS,
      );
      const read = rows.map(({ input_tokens }) => input_tokens);
      // each turn is read with the results before it
      expect({ statuses: new Set(rows.map(({ status_code }) => status_code)), read }).toEqual({
        statuses: new Set([200]),
        read: [...new Set(read)].toSorted((a, b) => b - a),
      });
    });

    it.runIf(callsTools)(`runs ${TURNS} turns of a tool that it has to call, streamed and not`, async () => {
      const caller = await mint();
      const history: Anthropic.MessageParam[] = [ASKED];
      const inputs: unknown[] = [];
      const calling = { max_tokens: 200, tools: [LOOK], tool_choice: { type: "any" as const }, messages: history };
      for (let turn = 0; turn < TURNS; turn += 1) {
        const { content, stop_reason } = await say(caller, turn % 2 !== 0, calling);
        const calls = content.filter((block) => block.type === "tool_use");
        // its model calls again and again: the last call may be cut by the limit
        inputs.push(...calls.slice(0, stop_reason === "max_tokens" ? -1 : undefined).map(({ input }) => input));
        const seen = { type: "tool_result" as const, content: `seen ${turn}` };
        const results = calls.map(({ id }) => ({ ...seen, tool_use_id: id }));
        history.push({ role: "assistant", content }, { role: "user", content: results });
      }
      const known = inputs.filter((input) => PLACES.includes((input as { readonly at: string }).at));
      expect({ isEnough: inputs.length >= TURNS, known: known.length }).toEqual({
        isEnough: true,
        known: inputs.length,
      });
    });

    it.runIf(callsTools)("names the arguments that its model writes for a tool that is not strict", async () => {
      const caller = await mint();
      const loose = { max_tokens: 200, tools: [{ ...LOOK, strict: false }], tool_choice: { type: "any" as const } };
      await expect(say(caller, true, loose)).rejects.toThrow("the arguments of a tool call are not a JSON object");
      const [row] = await waitFor(
        async () => await gateway.rows(caller.tenant.id),
        (found) => found.length === 1,
      );
      expect(row).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
    });

    it("stops to generate when the client of a stream leaves", async () => {
      const before = await counted();
      const leaving = new AbortController();
      const { response } = await longStream(leaving.signal);
      leaving.abort();
      await atRest();
      const made = (await counted()).output - before.output;
      const row = await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
      expect(made).toBeLessThan(LONG_TOKENS);
      expect(row).toMatchObject({ status_code: 499, error_code: "client_gone" });
      expect(row.output_tokens).toBeLessThan(LONG_TOKENS);
    });

    it("killed in a stream: the client gets an error, the row is true, the next call works", async () => {
      const { response, reader } = await longStream();
      await server().close();
      let rest = "";
      const decoder = new TextDecoder();
      for (let read = await reader.read(); !read.done; read = await reader.read()) rest += decoder.decode(read.value);
      const last = rest.trimEnd().split("\n\n").at(-1) ?? "";
      const row = await gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
      const absent = await gateway.chat(minted, { body: { max_tokens: 1 } });
      expect({ last: JSON.parse(last.slice("data: ".length)) as unknown, absent: absent.status }).toMatchObject({
        last: { error: { code: "upstream_stream_error" } },
        absent: 502,
      });
      expect(row).toMatchObject({ status_code: 200, error_code: "upstream_stream_error" });
      expect(row.output_tokens).toBeGreaterThan(0);
      expect(row.output_tokens).toBeLessThan(LONG_TOKENS);
      await server().start();
      const next = await through({ name: "next", path: "/v1/completions", body: { prompt: "a", max_tokens: 3 } });
      expect(next).toMatchObject({ answer: { status: 200 }, row: { status_code: 200 } });
    });

    it("serves two tenants by their weights while both want all of it", async () => {
      const mark = randomUUID();
      const tenants = await Promise.all(
        Object.entries(WEIGHTS).map(async ([role, weight]) => {
          const shared = { model_name: `shared-${mark}`, max_in_flight: slots };
          const made = await mint(role === "heavy" ? shared : {});
          await gateway.must("PATCH", `/tenants/${made.tenant.id}`, { weight });
          return { role, caller: { ...made, model: { model_name: shared.model_name } } };
        }),
      );
      const served: string[] = [];
      const refused: number[] = [];
      let isCounting = false;
      const client = async ({ role, caller }: (typeof tenants)[number]): Promise<void> => {
        while (served.length < SERVED && refused.length === 0) {
          const response = await gateway.chat(caller, { body: { max_tokens: 40, ignore_eos: true, temperature: 0 } });
          await response.text();
          if (response.status !== 200) refused.push(response.status);
          else if (isCounting) served.push(role);
        }
      };
      const clients = tenants.flatMap((tenant) => Array.from({ length: 4 * slots }, async () => await client(tenant)));
      await waitFor(
        async () => await gateway.loadOf(`shared-${mark}`),
        ({ inFlight, queued }) => inFlight === slots && queued > 2 * slots,
      );
      isCounting = true;
      await Promise.all(clients);
      const counts = served.slice(0, SERVED);
      const heavy = counts.filter((role) => role === "heavy").length;
      expect(refused).toEqual([]);
      // What is in a slot at either end of the count is the difference that the law allows.
      expect(Math.abs(heavy - 0.75 * SERVED)).toBeLessThanOrEqual(2 * slots);
    });
  });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function post(url: string, body: unknown, secret = ""): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` };
  return await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}
