/** The WebSocket mode of Responses on the running stack (docs/rules/realtime.md#responses-over-a-websocket). */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { useAnswerStore } from "../harness/answer-store.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { openRealtime, type RealtimeClient, RefusedUpgrade } from "../harness/realtime-client.ts";
import { useServer } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const PATH = "/v1/responses";
const fixture = useGateway();
const store = useAnswerStore();

/** A tenant with a model whose upstream has chat completions alone, which store nothing. */
const mintChat = async (words = "plain", model = {}): Promise<Minted> =>
  await fixture.gateway.mint(fixture.upstream.url, words, { responses_api: "translated", ...model });

const open = async (minted: Minted, opening = {}): Promise<RealtimeClient> =>
  await openRealtime(fixture.gateway.proxyUrl, minted, { path: PATH, ...opening });

const ask = (minted: Minted, input: string, more = {}) => ({
  type: "response.create",
  model: minted.model.model_name,
  input: `${input} ${minted.mark}`,
  ...more,
});

async function idOf(client: RealtimeClient, nth = 1): Promise<string> {
  const { response } = (await client.got("response.completed", nth)) as { readonly response: { readonly id: string } };
  return response.id;
}

const rowsOf = async ({ tenant }: Minted, count: number) =>
  await waitFor(
    async () => await fixture.gateway.rows(tenant.id),
    (found) => found.length >= count,
  );

const codes = (client: RealtimeClient) =>
  client.of("error").map(({ status, error }) => `${String(status)} ${(error as { readonly code: string }).code}`);

const sentBy = (minted: Minted, nth: number) =>
  (fixture.upstream.seen(minted.mark)[nth]?.body["messages"] ?? []) as readonly {
    readonly role: string;
    readonly content: unknown;
  }[];

describe("a connection", () => {
  it("has a row for each response, and a slot only while one runs", async () => {
    const minted = await mintChat();
    const client = await open(minted);
    for (const nth of [1, 2]) {
      client.send(ask(minted, `turn ${nth}`));
      await idOf(client, nth);
    }
    const rows = await rowsOf(minted, 2);
    expect(await fixture.gateway.loadOf(minted.model.model_name)).toEqual({ inFlight: 0, queued: 0 });
    expect(
      rows.map(({ request_type: type, status_code: status, total_tokens: tokens, session_id: session }) => ({
        type,
        status,
        tokens,
        isOfConnection: session === client.requestId,
      })),
    ).toEqual(
      Array.from({ length: 2 }, () => ({ type: rows[0]?.request_type, status: 200, tokens: 33, isOfConnection: true })),
    );
    client.socket.close(1000, "bye");
    expect(await client.end()).toEqual({ code: 1000, reason: "bye" });
  });

  it("continues a response that its upstream does not store, and one without output", async () => {
    const minted = await mintChat();
    const client = await open(minted);
    client.send(ask(minted, "warm", { generate: false, store: false }));
    const warm = await idOf(client);
    client.send(ask(minted, "first", { store: false, previous_response_id: warm }));
    const first = await idOf(client, 2);
    client.send(ask(minted, "second", { store: false, previous_response_id: first }));
    await idOf(client, 3);
    expect(sentBy(minted, 1).map(({ role, content }) => `${role} ${JSON.stringify(content).slice(0, 8)}`)).toEqual([
      expect.stringContaining("user"),
      expect.stringContaining("user"),
      expect.stringContaining("assistant"),
      expect.stringContaining("user"),
    ]);
    expect({ calls: fixture.upstream.seen(minted.mark).length, rows: (await rowsOf(minted, 2)).length }).toEqual({
      calls: 2,
      rows: 2,
    });
    client.socket.close();
  });

  it("continues a response that its upstream stores by its id, and no other tenant's", async () => {
    const minted = await fixture.gateway.mint(store.baseOf("socket"));
    const stranger = await fixture.gateway.mint(store.baseOf("strange"));
    const [client, other] = [await open(minted), await open(stranger)];
    client.send(ask(minted, "first"));
    const id = await idOf(client);
    client.send(ask(minted, "second", { previous_response_id: id }));
    await idOf(client, 2);
    other.send(ask(stranger, "mine", { previous_response_id: id }));
    await other.got("error");
    expect({
      continued: store.seen("socket").map(({ body }) => body["previous_response_id"] ?? null),
      stranger: codes(other),
      reached: store.seen("strange").length,
    }).toEqual({ continued: [null, id], stranger: ["404 object_not_found"], reached: 0 });
    const unkept = { store: false, previous_response_id: "resp_gone" };
    client.send(ask(minted, "third", unkept));
    const told = await client.got("error");
    expect({ told, reached: store.seen("socket").length }).toMatchObject({
      told: { status: 400, error: { code: "previous_response_not_found", param: "previous_response_id" } },
      reached: 2,
    });
    for (const { socket } of [client, other]) socket.close();
  });

  it("works beside another one of its tenant, and gives its memory back when it ends", {
    tags: ["check"],
  }, async () => {
    const minted = await mintChat();
    const clients = [await open(minted), await open(minted)] as const;
    const warmUp = (input: string) => ask(minted, input, { generate: false, store: false });
    for (const client of clients) {
      client.send(ask(minted, "hello"));
      await idOf(client);
      // more than a tenant's memory, were it not given back
      for (const nth of [2, 3, 4]) {
        client.send(warmUp("x".repeat(6_000_000)));
        await idOf(client, nth);
      }
    }
    for (const client of clients) {
      client.socket.close();
      await client.end();
    }
    const next = await open(minted);
    next.send(warmUp("x".repeat(15_000_000)));
    await idOf(next);
    expect([...clients, next].flatMap(codes)).toEqual([]);
    next.socket.close();
  });

  it("answers lanes at the same time, and what is asked for in one of them in its order", {
    tags: ["check"],
  }, async () => {
    const minted = await mintChat("pace=100");
    const client = await open(minted);
    for (const [lane, input] of [
      ["a", "one"],
      ["a", "two"],
      ["b", "three"],
    ] as const)
      client.send(ask(minted, input, { stream_id: lane }));
    await idOf(client, 3);
    const lanes = client.of("response.completed").map(({ stream_id: lane }) => String(lane));
    expect({
      all: lanes.toSorted((a, b) => a.localeCompare(b)),
      last: lanes.at(-1),
      peak: fixture.upstream.peak(minted.mark),
    }).toEqual({
      all: ["a", "a", "b"],
      last: "a",
      peak: 2,
    });
    client.socket.close();
  });

  it("continues after a request that is refused", { tags: ["check"] }, async () => {
    const minted = await mintChat();
    const client = await open(minted);
    client.socket.send("no event");
    client.send({ type: "response.cancel" });
    client.send(ask(minted, "x", { background: true }));
    client.send(ask(minted, "x", { model: "absent" }));
    client.send(ask(minted, "x", { stream_id: "lane", api_base: "http://x" }));
    await client.got("error", 5);
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { requests_per_minute: 1 });
    client.send(ask(minted, "counted"));
    await idOf(client);
    client.send(ask(minted, "too many"));
    await client.got("error", 6);
    expect(codes(client)).toEqual([
      "400 invalid_json",
      "400 validation_failed",
      "400 validation_failed",
      expect.stringMatching(/^404 model_not_found$|^400 validation_failed$/),
      expect.stringMatching(/^404 model_not_found$|^400 validation_failed$/),
      "429 request_rate_exceeded",
    ]);
    expect(client.of("error").filter(({ stream_id: lane }) => lane === "lane")).toHaveLength(1);
    client.socket.close();
  });

  it("has its requests and its answers examined as those of the route are", { tags: ["check"] }, async () => {
    const minted = await mintChat();
    const policy = { action: "block", ban_keywords: ["secretword", "w3"], input_scanners: ["ban_keywords"] };
    const examine = async (more = {}) =>
      await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, {
        policy: { ...policy, ...more },
      });
    await examine();
    const client = await open(minted);
    client.send(ask(minted, "a secret", { generate: false, store: false }));
    const split = await idOf(client);
    client.send(ask(minted, "a secretword"));
    client.send({ ...ask(minted, "", { store: false, previous_response_id: split }), input: "secretword" });
    await client.got("error", 2);
    await examine({ output_scanners: ["ban_keywords"] });
    client.send(ask(minted, "harmless"));
    await client.got("error", 3);
    expect({ codes: codes(client), shown: client.of("response.output_text.delta").length }).toEqual({
      codes: ["400 request_blocked", "400 request_blocked", expect.stringContaining("response_blocked")],
      shown: 0,
    });
    client.socket.close();
  });

  it("ends what runs when its client leaves, which owes what was seen", { tags: ["check"] }, async () => {
    const minted = await mintChat("stall");
    const client = await open(minted);
    client.send(ask(minted, "long"));
    await client.got("response.output_text.delta", 3);
    client.socket.terminate();
    const [row] = await rowsOf(minted, 1);
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (isCutOff) => isCutOff === true,
    );
    expect(row).toMatchObject({ status_code: 499, error_code: "client_gone" });
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ inFlight, queued }) => inFlight + queued === 0,
    );
  });

  it("ends with the refusal of its caller when the key is disabled", { tags: ["check"] }, async () => {
    const minted = await mintChat("stall");
    const client = await open(minted);
    client.send(ask(minted, "long"));
    await client.got("response.output_text.delta", 3);
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect(await client.end()).toEqual({ code: 1008, reason: "api_key_disabled" });
    expect(codes(client).at(-1)).toBe("403 api_key_disabled");
    const [row] = await rowsOf(minted, 1);
    expect(row).toMatchObject({ error_code: "api_key_disabled" });
  });
});

it("a refused upgrade, also for its query, gets an ordinary answer; a GET gets 404", { tags: ["check"] }, async () => {
  const minted = await mintChat();
  const refused = await open(minted, { headers: {} }).catch((error: unknown) => error);
  const headers = { authorization: `Bearer ${minted.secret}` };
  const plain = await fetch(`${fixture.gateway.proxyUrl}${PATH}`, { headers });
  const queried = await open(minted, { query: "?x=1" }).catch((error: unknown) => error);
  expect({
    status: refused instanceof RefusedUpgrade ? refused.status : String(refused),
    code: refused instanceof RefusedUpgrade ? refused.code : null,
    plain: plain.status,
    queried: queried instanceof RefusedUpgrade ? `${String(queried.status)} ${String(queried.code)}` : String(queried),
  }).toEqual({ status: 401, code: "missing_api_key", plain: 404, queried: "400 validation_failed" });
});

it("headers of the connection alone, and a key of one request, do not reach the upstream", {
  tags: ["check"],
}, async () => {
  const minted = await mintChat();
  const own = { authorization: `Bearer ${minted.secret}`, origin: "https://page.example", "idempotency-key": "once" };
  const client = await open(minted, { headers: own });
  client.send(ask(minted, "hello"));
  await idOf(client);
  client.socket.close();
  const { origin = null, "idempotency-key": key = null } = fixture.upstream.seen(minted.mark)[0]?.headers ?? {};
  expect({ origin, key }).toEqual({ origin: null, key: null });
});

describe("the answer of an upstream", () => {
  const MIB = 1024 * 1024;
  const written = new Map<string, number>();
  /** It begins, repeats these until so many bytes were taken, and ends; null: it stays open. */
  const ANSWERS: Readonly<
    Record<string, readonly [status: number, begin: string, repeated: string, bytes: number, end: string | null]>
  > = {
    "short document": [200, '{"id":"resp_1","output":[', "1,", 10, "1]}"],
    "short refusal": [400, ' {"error":{"code":"theirs"},"more":[', "1,", 10, "1]}"],
    list: [200, "[", "1,", 10, "1]"],
    "long document": [200, '{"id":"resp_1","output":[', "{},", 30 * MIB, "1]}"],
    "long refusal": [400, '{"error":{"code":"theirs"},"more":[', "{},", 30 * MIB, "1]}"],
    "many-line event": [0, "", "data:\n", 20 * MIB, "\n"],
    "event that gets no end": [0, 'data: {"type":"x","y":"', "y", LIMITS.tenantResponsesMemory * 0.6, null],
  };
  const origin = useServer((request, response) => {
    const [, name = ""] = decodeURIComponent(request.url ?? "").split("/");
    request.resume().on("end", () => void answer(name, response));
  });

  async function answer(name: string, response: ServerResponse): Promise<void> {
    const [status = 0, begin = "", repeated = "", bytes = 0, end = ""] = ANSWERS[name] ?? [];
    response.writeHead(status || 200, { "content-type": status === 0 ? "text/event-stream" : "application/json" });
    const piece = repeated.repeat(Math.ceil(Math.min(bytes, 64 * 1024) / repeated.length));
    const closed = once(response, "close");
    const pieces = async function* (): AsyncGenerator<string> {
      yield begin;
      for (let left = bytes; left > 0; left -= piece.length) {
        written.set(name, (written.get(name) ?? 0) + piece.length);
        yield piece;
      }
      if (end === null) await closed;
      else yield end;
    };
    // the gateway may leave it
    await pipeline(Readable.from(pieces(), { objectMode: false }), response).catch(() => undefined);
  }

  const mintFor = async (name: string): Promise<Minted> =>
    await fixture.gateway.mint(`${origin()}/${encodeURIComponent(name)}/v1`);

  it.each([
    ["short document", { type: "response.completed", response: { id: "resp_1" } }],
    ["short refusal", { type: "error", status: 400, error: { code: "theirs" } }],
    ["list", { type: "error", status: 502, error: { code: "upstream_failed" } }],
    ["long document", { type: "error", status: 502, error: { code: "upstream_failed" } }],
    ["long refusal", { type: "error", status: 502, error: { code: "upstream_failed" } }],
    ["many-line event", { type: "error", status: 502, error: { code: "upstream_failed" } }],
  ])("that is a %s is one event, or refused", { tags: ["check"] }, async (name, told) => {
    const minted = await mintFor(name);
    const client = await open(minted);
    client.send(ask(minted, "hello", { stream_id: "lane" }));
    await waitFor(
      () => client.events.length,
      (count) => count > 0,
    );
    expect({ events: client.events, isTakenWhole: (written.get(name) ?? 0) >= 20 * MIB }).toMatchObject({
      events: [{ stream_id: "lane", ...told }],
      isTakenWhole: false,
    });
    client.socket.close();
  });

  it("that is an event without an end counts for its tenant, on all its connections", { tags: ["check"] }, async () => {
    const minted = await mintFor("event that gets no end");
    // two of them are in one of two Worker processes: together they pass what a tenant may hold, none does alone
    const clients = [await open(minted), await open(minted), await open(minted)];
    for (const client of clients) client.send(ask(minted, "hello"));
    await waitFor(
      () => clients.flatMap(codes),
      (found) => found.includes("429 realtime_backlog"),
    );
    for (const { socket } of clients) socket.close();
  });
});
