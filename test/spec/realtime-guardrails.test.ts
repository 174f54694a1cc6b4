/** The guardrails of realtime sessions, on the running stack (docs/rules/realtime.md#guardrails). */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { itemOf, openRealtime, type RealtimeClient } from "../harness/realtime-client.ts";
import { startRealtimeUpstream } from "../harness/realtime-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const upstream = useStarted(startRealtimeUpstream);

let made = 0;

/** A tenant with a model whose upstream behaves by these words; its name at the upstream is its own. */
async function mint(words = "plain"): Promise<Minted> {
  made += 1;
  return await fixture.gateway.mint(upstream().url, `${words},n=${made}`);
}

const open = async (minted: Minted): Promise<RealtimeClient> => await openRealtime(fixture.gateway.proxyUrl, minted);
const seenBy = ({ model }: Minted) => upstream().seen(model.upstream_model ?? "");

describe("guardrails", () => {
  const policy = async (minted: Minted, given: Readonly<Record<string, unknown>>): Promise<void> => {
    const ban_keywords = ["brave", "secretword"];
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/guardrails`, {
      policy: { ban_keywords, ...given },
    });
  };
  const BANS = ["ban_keywords"];

  it("keep a blocked item, instructions and tools from the upstream", async () => {
    const minted = await mint();
    await policy(minted, { action: "block", input_scanners: BANS });
    const client = await open(minted);
    const instructions = "say secretword";
    const tools = [{ type: "function", name: "f", description: "secretword", parameters: {} }];
    client.send({ ...itemOf("a secretword"), event_id: "item" });
    client.send({ type: "session.update", event_id: "settings", session: { type: "realtime", instructions } });
    client.send({ type: "session.update", event_id: "tools", session: { type: "realtime", tools } });
    client.send({ type: "response.create", event_id: "response", response: { instructions } });
    await client.got("error", 4);
    client.send(itemOf("harmless"));
    await client.got("conversation.item.done");
    const told = client.of("error").map(({ error }) => error as Readonly<Record<string, unknown>>);
    expect(told.map(({ code, event_id: id }) => `${String(code)} ${String(id)}`)).toEqual(
      ["item", "settings", "tools", "response"].map((id) => `request_blocked ${id}`),
    );
    expect(JSON.stringify(seenBy(minted)[0]?.events)).not.toContain("secretword");
    client.socket.close();
  });

  it("redact an item on its way", async () => {
    const minted = await mint();
    await policy(minted, { action: "redact", input_scanners: BANS });
    const client = await open(minted);
    client.send(itemOf("a secretword here"));
    await client.got("conversation.item.done");
    const sent = JSON.stringify(seenBy(minted)[0]?.events);
    expect({ has: sent.includes("secretword"), kept: sent.includes("a ") && sent.includes(" here") }).toEqual({
      has: false,
      kept: true,
    });
    client.socket.close();
  });

  it.each(["plain", "audio"])("redact the text of an answer in each of its events: %s", async (words) => {
    const minted = await mint(words);
    await policy(minted, { action: "redact", output_scanners: BANS });
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.done");
    const got = JSON.stringify(client.events);
    expect({ hello: got.includes("hello"), brave: got.includes("brave") }).toEqual({ hello: true, brave: false });
    client.socket.close();
  });

  it("let nothing pass of an answer that is blocked, and charge nothing", { tags: ["check"] }, async () => {
    const minted = await mint();
    await policy(minted, { action: "block", output_scanners: BANS });
    const client = await open(minted);
    client.send({ type: "response.create" });
    const { response } = (await client.got("response.done")) as {
      readonly response: Readonly<Record<string, unknown>>;
    };
    expect(response).toMatchObject({ status: "failed", output: [] });
    expect(client.of("error")[0]).toMatchObject({ error: { code: "response_blocked" } });
    expect(JSON.stringify(client.events)).not.toContain("brave");
    client.socket.close();
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id, "&error_code=response_blocked"),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ status_code: 400, total_tokens: 30 }]);
  });

  it("ask their guard model of no event that a limit of the minute refuses", { tags: ["check"] }, async () => {
    const minted = await mint();
    await policy(minted, {
      action: "block",
      input_scanners: ["ban_keywords", "harm"],
      guard_model: minted.model.model_name,
    });
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { requests_per_minute: 2 });
    const client = await open(minted);
    for (const event_id of ["first", "second", "third"]) client.send({ ...itemOf(event_id), event_id });
    await client.got("error", 2);
    const told = client.of("error").map(({ error }) => error as Readonly<Record<string, unknown>>);
    expect({
      told: told.map(({ code, event_id: id }) => `${String(code)} ${String(id)}`),
      passed: seenBy(minted)[0]?.events.map(({ event_id: id }) => id),
    }).toMatchObject({
      told: ["request_rate_exceeded second", "request_rate_exceeded third"],
      passed: [expect.stringMatching(/_first$/)],
    });
    client.socket.close();
  });

  it("cancel and bill a response that runs on spoken words which they block", { tags: ["check"] }, async () => {
    const minted = await mint("vad,hold,late,transcribes=a secretword");
    await policy(minted, { action: "block", input_scanners: BANS });
    const client = await open(minted);
    client.send({ type: "input_audio_buffer.append", audio: "A".repeat(1_200) });
    const { response } = await client.got("response.done");
    expect({ response, told: client.of("error").map(({ error }) => error) }).toMatchObject({
      response: { status: "failed", output: [] },
      told: [{ code: "request_blocked" }],
    });
    // the first one has the words as the name of the model
    expect(JSON.stringify(client.events.slice(1))).not.toContain("secretword");
    expect(seenBy(minted)[0]?.events.map(({ type }) => type)).toEqual([
      "input_audio_buffer.append",
      "conversation.item.delete",
      "response.cancel",
    ]);
    client.socket.close();
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id, "&error_code=request_blocked"),
      (found) => found.length > 0,
    );
    expect(rows).toMatchObject([{ status_code: 400, total_tokens: 30, cost_usd: expect.closeTo(0.12) }]);
  });

  it("redact spoken words where they are shown", { tags: ["check"] }, async () => {
    const minted = await mint("vad,transcribes=a secretword here");
    await policy(minted, { action: "redact", input_scanners: BANS });
    const client = await open(minted);
    client.send({ type: "input_audio_buffer.append", audio: "A".repeat(1_200) });
    await client.got("response.done");
    const [shown] = client.of("conversation.item.input_audio_transcription.completed");
    expect({ has: JSON.stringify(shown).includes("secretword"), kept: String(shown?.["transcript"]) }).toEqual({
      has: false,
      kept: expect.stringMatching(/^a .* here$/),
    });
    client.socket.close();
  });

  it("examine what a client retrieves by the policy of now, and only within its limits", {
    tags: ["check"],
  }, async () => {
    const minted = await mint("text=all is well");
    await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}`, { requests_per_minute: 2 });
    const client = await open(minted);
    const retrieve = async (): Promise<void> => {
      client.send({ type: "conversation.item.retrieve", item_id: "item_1" });
    };
    await retrieve();
    await client.got("conversation.item.retrieved");
    const guard_model = minted.model.model_name;
    await policy(minted, { action: "block", output_scanners: ["ban_keywords", "harm"], guard_model });
    for (let nth = 0; nth < 4; nth += 1) await retrieve();
    await client.got("error", 3);
    const codes = client.of("error").map(({ error }) => (error as Readonly<Record<string, unknown>>)["code"]);
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id, "&request_type=guardrails_boon"),
      (found) => found.length === 4,
    );
    const judged = rows.filter(({ error_code: code }) => code !== "request_rate_exceeded").length;
    expect({ codes, judged }).toEqual({ codes: Array(3).fill("request_rate_exceeded"), judged: 1 });
    client.socket.close();
  });

  it("find a word that is split over items with an answer between them, and refuse another order", {
    tags: ["check"],
  }, async () => {
    const minted = await mint();
    await policy(minted, { action: "block", input_scanners: BANS });
    const client = await open(minted);
    const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] };
    client.send(itemOf("please sec"));
    client.send({ type: "conversation.item.create", item: answer });
    client.send(itemOf("retword go"));
    client.send({ ...itemOf("harmless"), previous_item_id: "root" });
    client.send({ type: "conversation.item.delete", item_id: "item_1" });
    await client.got("error", 3);
    const told = client.of("error").map(({ error }) => error as Readonly<Record<string, unknown>>);
    expect({
      told: told.map(({ code, param }) => `${String(code)} ${String(param)}`),
      passed: seenBy(minted)[0]?.events.length,
    }).toEqual({
      told: ["request_blocked null", "validation_failed previous_item_id", "validation_failed type"],
      passed: 2,
    });
    client.socket.close();
  });

  it("hold an answer until it is whole, and pass what they allow", { tags: ["check"] }, async () => {
    const minted = await mint("text=all is well");
    await policy(minted, { action: "block", output_scanners: BANS });
    const client = await open(minted);
    client.send({ type: "response.create" });
    await client.got("response.done");
    const words = client.of("response.output_text.delta").map(({ delta }) => delta);
    expect(words.join("")).toBe("all is well");
    client.socket.close();
  });
});
