/**
 * How long a stream may be silent, for its upstream (docs/rules/upstream-calls.md#time-limits) and for its client
 * (docs/rules/streams.md#keep-alive).
 */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import { dataOf, useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { jsonAnswer, startHttpSink } from "../harness/http-sink.ts";
import { mainRows } from "../harness/main-rows.ts";
import { speaking } from "../harness/speaking.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const sink = useStarted(startHttpSink);

const KEEP_ALIVE = ": keep-alive\n\n";
const EVENT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "word" } }] })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })}\n\n`;
const DONE = "data: [DONE]\n\n";
const ASKS_FOR_USAGE = { stream_options: { include_usage: true } };

/** The text of an answer as it comes. */
class Reading {
  text = "";
  readonly whole: Promise<string>;

  constructor(response: Response) {
    this.whole = this.#read(response);
    this.whole.catch(() => undefined);
  }

  async until(part: string): Promise<void> {
    await waitFor(
      () => this.text,
      (text) => text.includes(part),
    );
  }

  async #read(response: Response): Promise<string> {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) this.text += chunk;
    return this.text;
  }
}

const rowOf = async (minted: Minted, response: Response) =>
  await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));

const errorOf = (code: string, message: string, type = "upstream_error") => ({
  error: { message, type, code, param: null },
});

const headOf = ({ status, headers }: Response) => ({ status, type: headers.get("content-type") });
const EARLY = { status: 200, type: "text/event-stream" };

describe("a stream whose first event does not come in time", () => {
  mainRows(1)([
    ["without a head", "hang"],
    ["after its head", "silent"],
  ])("is asked for at the next endpoint (%s)", async (_, behaviour) => {
    sink().answer = () => (response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const minted = await fixture.gateway.mint("", "plain", { first_token_timeout_secs: 1 });
    const bases = [
      behaviour === "hang" ? fixture.upstream.at("a", "hang") : sink().url,
      fixture.upstream.at("b", "plain"),
    ];
    for (const [priority, api_base] of bases.entries()) {
      const body = { name: `e${priority}`, api_base, priority };
      await fixture.gateway.must<ModelEndpoint>("POST", `/models/${minted.model.id}/endpoints`, body);
    }
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect({ status: response.status, last: dataOf(await response.text()).at(-1) }).toEqual({
      status: 200,
      last: "[DONE]",
    });
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 200, attempts: 2, endpoint: "e1" });
  });

  it("is 504 without another endpoint", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "hang", { first_token_timeout_secs: 1 });
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 504,
      body: errorOf("upstream_timeout", "upstream request timed out"),
    });
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 504, total_tokens: 0 });
  });

  it("is no answer that is not streamed: it may take longer", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=1500", { first_token_timeout_secs: 1 });
    const response = await fixture.gateway.chat(minted);
    expect({ status: response.status, attempts: (await rowOf(minted, response)).attempts }).toEqual({
      status: 200,
      attempts: 1,
    });
  });
});

mainRows(1)([
  ["through JavaScript", {}],
  ["as it comes", ASKS_FOR_USAGE],
])("a stream that falls silent ends with the in-band error (relayed %s)", async (_, body) => {
  const minted = await fixture.gateway.mint(fixture.upstream.url, "stall,chunks=10", { idle_timeout_secs: 1 });
  const response = await fixture.gateway.chat(minted, { stream: true, body });
  const data = dataOf(await response.text());
  expect(JSON.parse(data.at(-1) ?? "null")).toEqual(errorOf("upstream_stream_error", "upstream stream interrupted"));
  expect(await rowOf(minted, response)).toMatchObject({
    status_code: 200,
    error_code: "upstream_stream_error",
    output_tokens: 3,
  });
});

it("an answer that is not streamed and falls silent is cut off", { tags: ["check"] }, async () => {
  sink().answer = () => ({ ...jsonAnswer({}), body: '{"choices":[', open: true });
  const minted = await fixture.gateway.mint(sink().url, "plain", { idle_timeout_secs: 1 });
  const response = await fixture.gateway.chat(minted);
  await expect(response.text()).rejects.toThrow();
  expect(await rowOf(minted, response)).toMatchObject({ error_code: "upstream_stream_error" });
});

describe("the client of a stream that waits in the queue", () => {
  /** A model whose one slot is taken by a stream that ends when the test says so. */
  async function busy(fields: Readonly<Record<string, unknown>> = {}) {
    const held = Promise.withResolvers<ServerResponse>();
    let isFirst = true;
    sink().answer = () => (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(EVENT);
      if (isFirst) held.resolve(response);
      else response.end(DONE);
      isFirst = false;
    };
    const minted = await fixture.gateway.mint(sink().url, "plain", {
      max_in_flight: 1,
      stream_keepalive_secs: 1,
      ...fields,
    });
    const holder = new Reading(await fixture.gateway.chat(minted, { stream: true }));
    const upstream = await held.promise;
    const finish = async (): Promise<void> => {
      upstream.end(DONE);
      await holder.whole;
    };
    return { minted, finish };
  }

  mainRows(1)([
    ["through JavaScript", {}],
    ["as it comes", ASKS_FOR_USAGE],
  ])("gets a head and comments, and then its events (relayed %s)", async (_, body) => {
    const { minted, finish } = await busy();
    const response = await fixture.gateway.chat(minted, { stream: true, body });
    expect(headOf(response)).toEqual(EARLY);
    const reading = new Reading(response);
    await reading.until(KEEP_ALIVE.repeat(2));
    await finish();
    expect((await reading.whole).replaceAll(KEEP_ALIVE, "")).toBe(EVENT + DONE);
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 200, error_code: "", admission: "queued" });
  });

  it("gets a refusal that comes later as an event, and the row has its status", { tags: ["check"] }, async () => {
    const { minted, finish } = await busy();
    const response = await fixture.gateway.chat(minted, { stream: true });
    const reading = new Reading(response);
    await reading.until(KEEP_ALIVE);
    await fixture.gateway.must("PATCH", `/models/${minted.model.id}`, { enabled: false });
    await finish();
    expect(JSON.parse(dataOf(await reading.whole).at(-1) ?? "null")).toMatchObject({
      error: { code: "model_disabled", param: "model", type: "permission_error" },
    });
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 403, error_code: "model_disabled" });
  });

  it("leaves the queue when it leaves", { tags: ["check"] }, async () => {
    const { minted, finish } = await busy();
    const leaving = new AbortController();
    const response = await fixture.gateway.chat(minted, { stream: true, signal: leaving.signal });
    await new Reading(response).until(KEEP_ALIVE);
    leaving.abort();
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 499, admission: "queued", total_tokens: 0 });
    await finish();
    expect(sink().asked.filter(({ body }) => body.includes(minted.mark))).toHaveLength(1);
  });
});

describe("the client of a stream whose upstream is silent", () => {
  mainRows(1)([
    ["/v1/chat/completions", "status=503", { error: { detail: "status 503" } }, 502],
    ["/v1/messages", "status=400", { type: "error", error: { detail: "status 400" } }, 400],
  ])("gets a failure on %s as an event of this route", async (path, behaviour, event, status) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, `delay=1500,${behaviour}`, {
      stream_keepalive_secs: 1,
      ...speaking(path),
    });
    const response = await fetch(`${fixture.gateway.proxyUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${minted.secret}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: minted.model.model_name,
        max_tokens: 9,
        stream: true,
        messages: [{ role: "user", content: "hello" }],
      }),
    });
    expect(headOf(response)).toEqual(EARLY);
    const text = await response.text();
    expect({ begins: text.startsWith(KEEP_ALIVE), named: text.includes("event: error\n") }).toEqual({
      begins: true,
      named: path === "/v1/messages",
    });
    expect(JSON.parse(dataOf(text).at(-1) ?? "null")).toMatchObject(event);
    expect(await rowOf(minted, response)).toMatchObject({ status_code: status, total_tokens: 0 });
  });

  it("gets the end of its time as an event", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "hang", {
      stream_keepalive_secs: 1,
      first_token_timeout_secs: 2,
    });
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect(headOf(response)).toEqual(EARLY);
    const data = dataOf(await response.text());
    expect(data.map((one) => JSON.parse(one))).toEqual([errorOf("upstream_timeout", "upstream request timed out")]);
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 504, error_code: "upstream_timeout" });
  });

  mainRows(0)([
    ["through JavaScript", {}],
    ["as it comes", ASKS_FOR_USAGE],
  ])("ends the call when it leaves after its early head (relayed %s)", async (_, body) => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=1500,chunks=9000,pace=20", {
      stream_keepalive_secs: 1,
    });
    const leaving = new AbortController();
    const response = await fixture.gateway.chat(minted, { stream: true, signal: leaving.signal, body });
    const reading = new Reading(response);
    await reading.until('"content"');
    expect(reading.text.startsWith(KEEP_ALIVE)).toBe(true);
    leaving.abort();
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cutOff) => cutOff === true,
    );
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 499, error_code: "client_gone" });
  });

  it("gets a document in place of a stream as one event", { tags: ["check"] }, async () => {
    const answer = Promise.withResolvers<{ readonly body: string }>();
    sink().answer = async () => ({ ...jsonAnswer({}), ...(await answer.promise) });
    const minted = await fixture.gateway.mint(sink().url, "plain", { stream_keepalive_secs: 1 });
    const response = await fixture.gateway.chat(minted, { stream: true });
    const reading = new Reading(response);
    await reading.until(KEEP_ALIVE);
    const document = { choices: [{ message: { role: "assistant", content: "hello" } }] };
    // where the gateway cuts a long text into parts
    const breaks = "\r\r\n".padStart(16_386);
    answer.resolve({ body: breaks + JSON.stringify(document, null, 2) });
    const lines = dataOf(await reading.whole);
    expect({
      document: JSON.parse(lines.join("\n")),
      blank: lines.filter((line) => line.trim() === "").length,
    }).toEqual({
      document,
      blank: 2,
    });
  });

  it("gets comments between two events, and nothing of them counts", { tags: ["check"] }, async () => {
    const begun = Promise.withResolvers<ServerResponse>();
    sink().answer = () => (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(EVENT);
      begun.resolve(response);
    };
    const minted = await fixture.gateway.mint(sink().url, "plain", { stream_keepalive_secs: 1, idle_timeout_secs: 60 });
    const response = await fixture.gateway.chat(minted, { stream: true });
    const reading = new Reading(response);
    const upstream = await begun.promise;
    await reading.until(EVENT + KEEP_ALIVE.repeat(2));
    upstream.end(EVENT + USAGE + DONE);
    expect((await reading.whole).replaceAll(KEEP_ALIVE, "")).toBe(EVENT + EVENT + DONE);
    expect(await rowOf(minted, response)).toMatchObject({ status_code: 200, input_tokens: 3, output_tokens: 2 });
  });

  it("gets no head before its answer when that is switched off", { tags: ["check"] }, async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=1500,status=429", {
      stream_keepalive_secs: 0,
    });
    const response = await fixture.gateway.chat(minted, { stream: true });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 429,
      body: { detail: "status 429" },
    });
  });
});
