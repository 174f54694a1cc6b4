/** Realtime sessions on the running stack (docs/rules/realtime.md). */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { itemOf, openRealtime, type RealtimeClient, RefusedUpgrade } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startRealtimeUpstream);

let made = 0;

/** A tenant with a model whose upstream behaves by these words; its name at the upstream is its own. */
async function mint(words = "plain", model: Readonly<Record<string, unknown>> = {}): Promise<Minted> {
  made += 1;
  return await fixture.gateway.mint(upstream().url, `${words},n=${made}`, model);
}

const open = async (minted: Minted, opening = {}): Promise<RealtimeClient> =>
  await openRealtime(fixture.gateway.proxyUrl, minted, opening);

const seenBy = ({ model }: Minted) => upstream().seen(model.upstream_model ?? "");

/** The rows of a tenant once there are so many: those of responses, oldest first, and then those of sessions. */
async function rowsOf({ tenant }: Minted, count: number) {
  const rows = await waitFor(
    async () => await fixture.gateway.rows(tenant.id),
    (found) => found.length >= count,
  );
  const isSession = (row: (typeof rows)[0]): boolean => row.status_code === 101;
  return [...rows.toReversed().filter((row) => !isSession(row)), ...rows.filter(isSession)].map(
    ({ request_type: type, status_code: status, error_code: error, input_tokens: input, output_tokens: output }) => ({
      type,
      status,
      error,
      input,
      output,
    }),
  );
}

const SESSION = { type: "realtime", status: 101, error: "", input: 0, output: 0 };
const RESPONSE = { type: "realtime", status: 200, error: "", input: 20, output: 10 };

async function refusalOf(minted: Minted, opening = {}): Promise<{ readonly status: number; readonly code: unknown }> {
  const refused = await open(minted, opening).catch((error: unknown) => error);
  if (!(refused instanceof RefusedUpgrade)) throw new Error(`it was not refused: ${String(refused)}`);
  return { status: refused.status, code: refused.code };
}

describe("a session", () => {
  it("has a row for each response and one for itself, and its slot for as long as it lasts", async () => {
    const minted = await mint();
    const { model_name: name } = minted.model;
    const client = await open(minted);
    await client.got("session.created");
    expect(await fixture.gateway.loadOf(name)).toEqual({ inFlight: 1, queued: 0 });
    for (const nth of [1, 2]) {
      client.send(itemOf("hello"));
      // Bytes that are an event are one.
      client.socket.send(Buffer.from(JSON.stringify({ type: "response.create" })), { binary: nth === 2 });
      await client.got("response.done", nth);
    }
    client.socket.close(1000, "bye");
    expect(await client.end()).toEqual({ code: 1000, reason: "bye" });
    expect(await rowsOf(minted, 3)).toEqual([RESPONSE, RESPONSE, SESSION]);
    const rows = await fixture.gateway.rows(minted.tenant.id);
    expect(new Set(rows.map(({ session_id: session }) => session))).toEqual(new Set([client.requestId]));
    expect(rows.map(({ cost_usd: cost }) => Number(cost.toFixed(3))).toSorted((a, b) => a - b)).toEqual([
      0, 0.12, 0.12,
    ]);
    expect(rows.at(-1)).toMatchObject({ cached_tokens: 2, audio_input_tokens: 4, audio_output_tokens: 3 });
    await waitFor(
      async () => await fixture.gateway.loadOf(name),
      ({ inFlight }) => inFlight === 0,
    );
  });

  it("refuses bytes of a client that are no event, passes those of its upstream, and the close", async () => {
    const minted = await mint();
    const client = await open(minted);
    const [connection] = seenBy(minted);
    client.socket.send(Buffer.from([0xff, 1, 2]));
    await client.got("error");
    connection?.socket.send(Buffer.from([0xff, 1, 2]));
    await waitFor(
      () => client.binary.length,
      (count) => count === 1,
    );
    client.socket.close(4321, "done here");
    const closed = await waitFor(
      () => connection?.closedWith ?? null,
      (code) => code !== null,
    );
    expect({ sent: connection?.binary.length, got: client.binary[0], closed }).toEqual({
      sent: 0,
      got: Buffer.from([0xff, 1, 2]),
      closed: { code: 4321, reason: "done here" },
    });
  });

  it("takes the key of a browser's subprotocol, which goes neither upstream nor back", async () => {
    const minted = await mint();
    const protocols = ["realtime", `openai-insecure-api-key.${minted.secret}`, "openai-beta.realtime-v1"];
    const client = await open(minted, { headers: {}, protocols });
    const [connection] = seenBy(minted);
    expect({ protocol: client.socket.protocol, beta: connection?.headers["openai-beta"] }).toEqual({
      protocol: "realtime",
      beta: "realtime=v1",
    });
    expect(JSON.stringify([connection?.headers, connection?.url, client.headers])).not.toContain(minted.secret);
    client.socket.close();
  });

  it("closes with an error when its upstream is lost, and bills the response that was under way", async () => {
    const minted = await mint("drop");
    const client = await open(minted);
    client.send({ type: "response.create" });
    const { error } = (await client.got("error")) as { readonly error: { readonly code: string } };
    expect({ code: error.code, closed: await client.end() }).toEqual({
      code: "upstream_stream_error",
      closed: { code: 1011, reason: "upstream_stream_error" },
    });
    expect((await rowsOf(minted, 2)).map(({ status, error: code }) => ({ status, code }))).toEqual([
      { status: 200, code: "upstream_stream_error" },
      { status: 101, code: "upstream_stream_error" },
    ]);
  });

  it("owes what was seen of a response when its client leaves", { tags: ["check"] }, async () => {
    const minted = await mint("hold,text=one two three four");
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.output_text.delta", 4);
    client.socket.terminate();
    const rows = await rowsOf(minted, 2);
    expect(rows).toEqual([
      { type: "realtime", status: 499, error: "client_gone", input: 4, output: 4 },
      { ...SESSION, error: "client_gone" },
    ]);
    await waitFor(
      () => seenBy(minted)[0]?.closedWith ?? null,
      (closed) => closed !== null,
    );
  });

  it("ends with the refusal of its caller when the key is disabled", { tags: ["check"] }, async () => {
    const minted = await mint("hold");
    const client = await open(minted);
    await client.got("session.created");
    await fixture.gateway.must("PUT", `/keys/${minted.key.id}/disabled`, { disabled: true });
    expect(await client.end()).toEqual({ code: 1008, reason: "api_key_disabled" });
    expect(await rowsOf(minted, 1)).toEqual([{ ...SESSION, error: "api_key_disabled" }]);
  });

  it("keeps its model, whose name at the upstream it gets", { tags: ["check"] }, async () => {
    const minted = await mint();
    const client = await open(minted);
    client.send({ type: "session.update", event_id: "mine", session: { type: "realtime", model: "another" } });
    const { error } = (await client.got("error")) as { readonly error: unknown };
    expect(error).toMatchObject({ code: "validation_failed", param: "session.model", event_id: "mine" });
    client.send({ type: "session.update", session: { type: "realtime", model: minted.model.model_name } });
    await client.got("session.updated");
    const models = seenBy(minted)[0]?.events.map(({ session }) => (session as { readonly model: string }).model);
    expect(models).toEqual([minted.model.upstream_model]);
    client.socket.close();
  });

  it("refuses events with fields that steer, and with objects that the tenant was not given", {
    tags: ["check"],
  }, async () => {
    const minted = await mint();
    const client = await open(minted);
    const id = `pmpt_${minted.mark}`;
    client.send({ type: "session.update", event_id: "prompt", session: { type: "realtime", prompt: { id } } });
    client.send({ type: "response.create", event_id: "models", response: { models: ["another"] } });
    await client.got("error", 2);
    client.send({ type: "response.create", response: { conversation: "none", input: [itemOf("hello").item] } });
    await client.got("response.done");
    const told = client.of("error").map(({ error }) => error as Readonly<Record<string, unknown>>);
    expect({
      told: told.map(({ code, event_id: event }) => `${String(event)} ${String(code)}`),
      sent: seenBy(minted)[0]?.events.map(({ type }) => type),
    }).toEqual({ told: ["prompt object_not_found", "models validation_failed"], sent: ["response.create"] });
    client.socket.close();
  });

  it("charges the transcription of what the client said", { tags: ["check"] }, async () => {
    const minted = await mint("vad,transcribes");
    const client = await open(minted);
    client.send({ type: "input_audio_buffer.append", audio: "A".repeat(1_200) });
    await client.got("response.done");
    client.socket.close();
    expect(await rowsOf(minted, 3)).toEqual([{ ...RESPONSE, input: 5, output: 2 }, RESPONSE, SESSION]);
  });

  it("charges a response once whose end its upstream reports twice", { tags: ["check"] }, async () => {
    const minted = await mint("twice");
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.done", 2);
    client.socket.close();
    expect(await rowsOf(minted, 2)).toEqual([RESPONSE, SESSION]);
  });

  it("is not told usage that cannot be true", { tags: ["check"] }, async () => {
    const minted = await mint("usage=900000000/900000000");
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.done");
    client.socket.close();
    const [row] = await rowsOf(minted, 2);
    expect(row?.output).toBeLessThan(1_000);
  });
});

describe("an upgrade", () => {
  it("is refused with an ordinary answer by every step before it", { tags: ["check"] }, async () => {
    const minted = await mint();
    const got = {
      noKey: await refusalOf(minted, { headers: {} }),
      wrongKey: await refusalOf(minted, { headers: { authorization: `Bearer ${minted.secret.slice(0, -3)}abc` } }),
      noModel: await refusalOf(minted, { query: "" }),
      unknown: await refusalOf(minted, { query: "?model=absent" }),
      other: await refusalOf(minted, { query: `?model=${minted.model.model_name}&call_id=rtc_1` }),
    };
    expect(got).toEqual({
      noKey: { status: 401, code: "missing_api_key" },
      wrongKey: { status: 401, code: "invalid_api_key" },
      noModel: { status: 400, code: "model_required" },
      unknown: { status: 404, code: "model_not_found" },
      other: { status: 400, code: "validation_failed" },
    });
    const headers = { authorization: `Bearer ${minted.secret}` };
    const plain = await fetch(`${fixture.gateway.proxyUrl}/v1/realtime?model=${minted.model.model_name}`, { headers });
    expect({ status: plain.status, body: await plain.json() }).toMatchObject({
      status: 426,
      body: { error: { code: "realtime_upgrade_required" } },
    });
    expect(seenBy(minted)).toEqual([]);
  });

  it("gets what the upstream refuses it with, and its row", { tags: ["check"] }, async () => {
    const minted = await mint("refuse=403");
    expect(await refusalOf(minted)).toEqual({ status: 403, code: "busy" });
    expect(await rowsOf(minted, 1)).toEqual([{ ...SESSION, status: 403 }]);
  });

  it("goes to the next endpoint when one refuses it", { tags: ["check"] }, async () => {
    const minted = await mint("plain", { endpoint_selection_mode: "failover" });
    for (const [name, api_base] of [
      ["first", upstream().refusing],
      ["second", upstream().url],
    ])
      await fixture.gateway.must("POST", `/models/${minted.model.id}/endpoints`, { name, api_base });
    const client = await open(minted);
    await client.got("session.created");
    client.socket.close();
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length > 0,
    );
    expect(rows[0]).toMatchObject({ status_code: 101, endpoint: "second" });
  });

  it("waits for its slot, and is answered when it has it", { tags: ["check"] }, async () => {
    const minted = await mint("plain", { max_in_flight: 1 });
    const first = await open(minted);
    const second = open(minted);
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ queued }) => queued === 1,
    );
    expect(seenBy(minted)).toHaveLength(1);
    first.socket.close();
    await (await second).got("session.created");
    (await second).socket.close();
    expect(await rowsOf(minted, 2)).toEqual([SESSION, SESSION]);
  });
});

describe("budgets", () => {
  const capped = async (minted: Minted, tokens: number): Promise<void> => {
    const budget = { budget_tokens: tokens, budget_cost_usd: null, budget_period: "lifetime" };
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, budget);
  };

  it("end the session before a response that they do not cover, with an error that names them", {
    tags: ["check"],
  }, async () => {
    const minted = await mint("usage=600/600");
    await capped(minted, 1_000);
    const client = await open(minted);
    const ask = { type: "response.create" };
    client.send(ask);
    await client.got("response.done");
    client.send(ask);
    const { error } = (await client.got("error")) as { readonly error: { readonly code: string } };
    expect({ code: error.code, closed: await client.end() }).toEqual({
      code: "tenant_budget_exhausted",
      closed: { code: 1008, reason: "tenant_budget_exhausted" },
    });
    expect(seenBy(minted)[0]?.events).toHaveLength(1);
    expect((await rowsOf(minted, 3)).map(({ status, error: code }) => ({ status, code }))).toEqual([
      { status: 200, code: "" },
      { status: 403, code: "tenant_budget_exhausted" },
      { status: 101, code: "tenant_budget_exhausted" },
    ]);
  });

  it("end the session when the upstream answers unasked what they do not cover", { tags: ["check"] }, async () => {
    const minted = await mint("vad,usage=600/600");
    await capped(minted, 1_000);
    const client = await open(minted);
    const heard = { type: "input_audio_buffer.append", audio: "A".repeat(1_200) };
    client.send(heard);
    await client.got("response.done");
    client.send(heard);
    expect(await client.end()).toEqual({ code: 1008, reason: "tenant_budget_exhausted" });
    expect(client.of("response.created")).toHaveLength(1);
  });

  it("end the session at a transcription that they do not cover, which is charged", { tags: ["check"] }, async () => {
    const minted = await mint("vad,transcribes");
    await capped(minted, 30);
    const client = await open(minted);
    const heard = { type: "input_audio_buffer.append", audio: "A".repeat(1_200) };
    client.send(heard);
    await client.got("response.done");
    client.send(heard);
    expect(await client.end()).toEqual({ code: 1008, reason: "tenant_budget_exhausted" });
    const rows = await rowsOf(minted, 5);
    const told = rows.map(({ status, error, input, output }) => `${status} ${error} ${input} ${output}`);
    expect(told.toSorted()).toEqual([
      "101 tenant_budget_exhausted 0 0",
      "200  20 10",
      "200  5 2",
      "200  5 2",
      "403 tenant_budget_exhausted 0 0",
    ]);
  });

  it("of a minute refuse the one response, and not its session", { tags: ["check"] }, async () => {
    const minted = await mint();
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { requests_per_minute: 2 });
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.done");
    client.send({ type: "response.create", event_id: "third" });
    const { error } = (await client.got("error")) as { readonly error: unknown };
    expect(error).toMatchObject({ code: "request_rate_exceeded", event_id: "third" });
    client.send(itemOf("still here"));
    await client.got("conversation.item.added", 2);
    client.socket.close();
  });

  it("are reserved by the output limit that the upstream took, not by a refused one", {
    tags: ["check"],
  }, async () => {
    const [refusing, taking] = [await mint("hold,refuses-settings"), await mint("hold")];
    for (const minted of [refusing, taking]) await capped(minted, 100);
    const settings = { type: "session.update", session: { type: "realtime", max_output_tokens: 1 } };
    const [refused, taken] = [await open(refusing), await open(taking)];
    for (const client of [refused, taken]) client.send(settings);
    await refused.got("error");
    await taken.got("session.updated");
    // what the first of them reserves is all that the second one may use
    for (const client of [refused, refused, taken, taken]) client.send({ type: "response.create" });
    expect(await refused.end()).toEqual({ code: 1008, reason: "tenant_budget_exhausted" });
    await taken.got("response.created", 2);
    taken.socket.close();
  });

  it("get back what was reserved for a response that the upstream refuses", { tags: ["check"] }, async () => {
    const minted = await mint("refuses-responses");
    await capped(minted, 1_000);
    const client = await open(minted);
    for (const nth of [1, 2, 3, 4]) {
      client.send({ type: "response.create", response: { max_output_tokens: 900 } });
      await client.got("error", nth);
    }
    expect(client.of("error").map(({ error }) => (error as { readonly code: string }).code)).toEqual(
      Array.from({ length: 4 }, () => "invalid_value"),
    );
    client.socket.close();
  });
});
