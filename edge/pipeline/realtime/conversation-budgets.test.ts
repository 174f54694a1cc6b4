/**
 * The reservation for the next response of a realtime session, for any choices of its client for earlier ones
 * (docs/rules/realtime.md#budgets).
 */
import { beforeEach, describe, expect, it } from "vitest";
import { openSession } from "../../../test/harness/edge/pipeline/realtime-session.ts";
import { keyOf, tenantOf } from "../../../test/harness/edge/pipeline/records.ts";
import { TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

let world: TestPipeline;
let asked: AdmissionRequest[];

beforeEach(() => {
  [world, asked] = [new TestPipeline(), []];
  world.subCallPermit = async (request) => {
    asked.push(request);
    return new TestPermit();
  };
});

/** A text of so many tokens. */
const textOf = (tokens: number): string => "text".repeat(tokens);
const message = (tokens: number) => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: textOf(tokens) }],
});
const item = (tokens: number) => ({ type: "conversation.item.create", item: message(tokens) });
const settings = (session: object) => ({ type: "session.update", session });
const LIMIT = { max_output_tokens: 1 };

type Opened = Awaited<ReturnType<typeof openSession>>;

/** Asks for a response, which its upstream ends so. Returns the tokens that were reserved for it. */
async function respond({ client, upstream }: Opened, response: object = {}, ended: object = {}): Promise<number> {
  const nth = upstream.count("response.create") + 1;
  const of = { id: `r${nth}` };
  client.says({ type: "response.create", event_id: of.id, response: { ...LIMIT, ...response } });
  await upstream.got("response.create", nth);
  const reserved = asked.at(-1)?.need.bucketTokens ?? 0;
  const usage = { input_tokens: 5, output_tokens: 1, total_tokens: 6 };
  upstream.says(
    { type: "response.created", response: of },
    { type: "response.done", response: { ...of, status: "completed", usage, ...ended } },
  );
  await client.got("response.done", nth);
  return reserved;
}

describe("what is reserved counts the whole conversation", () => {
  it.each([
    ["reads no conversation", { conversation: "none", input: [] }, {}],
    ["reads its own input", { input: [] }, {}],
    ["fails without a report", {}, { status: "failed", usage: undefined }],
    ["is cancelled before it reads", {}, { status: "cancelled", usage: { input_tokens: 0, output_tokens: 0 } }],
  ])("after a response that %s", async (_, response, ended) => {
    const opened = await openSession(world);
    opened.client.says(item(5_000));
    await respond(opened, response, ended);
    expect(await respond(opened)).toBeGreaterThan(5_000);
  });

  it("when instructions or tools are set, or set again, after the first response", async () => {
    const opened = await openSession(world);
    await respond(opened);
    opened.client.says(settings({ instructions: textOf(5_000) }));
    const raised = await respond(opened);
    opened.client.says(settings({ instructions: "" }));
    await respond(opened);
    opened.client.says(
      settings({ instructions: textOf(5_000) }),
      settings({ tools: [{ description: textOf(5_000) }] }),
    );
    const again = await respond(opened);
    expect({ raised: raised > 5_000, again: again > 10_000 }).toEqual({ raised: true, again: true });
  });

  it("also the instructions of the session after a response with its own", async () => {
    const opened = await openSession(world);
    opened.client.says(settings({ instructions: textOf(5_000) }));
    await respond(opened, { instructions: "short" });
    expect(await respond(opened)).toBeGreaterThan(5_000);
  });

  it("also an item that came after the response had begun that reports now", async () => {
    const opened = await openSession(world);
    const { client, upstream } = opened;
    client.says({ type: "response.create", event_id: "r", response: LIMIT }, item(5_000));
    await upstream.got("conversation.item.create");
    const of = { id: "r", status: "completed", usage: { input_tokens: 5, output_tokens: 1 } };
    upstream.says({ type: "response.created", response: { id: "r" } }, { type: "response.done", response: of });
    await client.got("response.done");
    expect(await respond(opened)).toBeGreaterThan(5_000);
  });

  const ALONE = { conversation: "none", input: [] };
  const usage = { input_tokens: 5, output_tokens: 1, total_tokens: 6 };
  const whole = (id: string) => [
    { type: "response.created", response: { id } },
    { type: "response.done", response: { id, status: "completed", usage } },
  ];

  it("after a response alone that an error of another event with its id seems to refuse", async () => {
    const opened = await openSession(world);
    const { client, upstream } = opened;
    client.says(item(5_000), { type: "session.update", event_id: "q", session: { bogus: 1 } });
    client.says({ type: "response.create", event_id: "q", response: { ...LIMIT, ...ALONE } });
    await upstream.got("response.create");
    const { event_id } = upstream.events[1] ?? {};
    upstream.says({ type: "error", error: { event_id } }, ...whole("q"));
    await client.got("response.done");
    expect(client.events[0]).toMatchObject({ type: "error", error: { event_id: "q" } });
    expect(await respond(opened)).toBeGreaterThan(5_000);
  });

  it("after a response alone and a detected turn, whichever of them begins first", async () => {
    const opened = await openSession(world);
    const { client, upstream } = opened;
    client.says(item(5_000), { type: "input_audio_buffer.append", audio: "AAAA" });
    client.says({ type: "response.create", response: { ...LIMIT, ...ALONE } });
    await upstream.got("response.create");
    upstream.says(...whole("turn"), ...whole("alone"));
    await client.got("response.done", 2);
    const nth = asked.length;
    client.says({ type: "response.create", response: LIMIT });
    await upstream.got("response.create", 2);
    expect(asked[nth]?.need.bucketTokens).toBeGreaterThan(5_000);
  });

  it("also an item that a detected turn has not read which is taken for the response asked for", {
    tags: ["check"],
  }, async () => {
    const { client, upstream } = await openSession(world);
    client.says({ type: "input_audio_buffer.append", audio: "AAAA" }, item(5_000));
    client.says({ type: "response.create", response: LIMIT });
    await upstream.got("response.create");
    upstream.says(...whole("turn"));
    await client.got("response.done");
    const nth = asked.length;
    client.says({ type: "response.create", response: LIMIT });
    await upstream.got("response.create", 2);
    expect(asked[nth]?.need.bucketTokens).toBeGreaterThan(5_000);
  });

  const SILENT = { audio: { input: { turn_detection: { type: "server_vad", idle_timeout_ms: 5_000 } } } };
  it.each([
    ["a client", (opened: Opened) => opened.client.says(settings(SILENT))],
    ["an upstream", (opened: Opened) => opened.upstream.says({ type: "session.updated", session: SILENT })],
    ["an older client", (opened: Opened) => opened.client.says(settings({ turn_detection: { type: "other" } }))],
  ])(
    "also an item that a turn begun in silence has not read, as %s has set it",
    { tags: ["check"] },
    async (_, set) => {
      const opened = await openSession(world);
      const { client, upstream } = opened;
      set(opened);
      upstream.says({ type: "rate_limits.updated" });
      await client.got("rate_limits.updated");
      await respond(opened);
      client.says(item(5_000), { type: "response.create", response: LIMIT });
      await upstream.got("response.create", 2);
      upstream.says(...whole("turn"));
      await client.got("response.done", 2);
      const nth = asked.length;
      client.says({ type: "response.create", response: LIMIT });
      await upstream.got("response.create", 3);
      expect(asked[nth]?.need.bucketTokens).toBeGreaterThan(5_000);
    },
  );

  it("after a response that the upstream may have refused without its id", { tags: ["check"] }, async () => {
    const opened = await openSession(world);
    const { client, upstream } = opened;
    client.says(item(5_000), { type: "response.create", response: LIMIT });
    client.says({ type: "response.create", response: { ...LIMIT, ...ALONE } });
    await upstream.got("response.create", 2);
    upstream.says({ type: "error", error: { event_id: null } }, ...whole("alone"));
    await client.got("response.done");
    const nth = asked.length;
    client.says({ type: "response.create", response: LIMIT });
    await upstream.got("response.create", 3);
    expect(asked[nth]?.need.bucketTokens).toBeGreaterThan(5_000);
  });

  it("no more of it than a response of the whole has reported", { tags: ["check"] }, async () => {
    const opened = await openSession(world);
    opened.client.says(item(5_000));
    await respond(opened, { conversation: "auto", metadata: { a: "b" } });
    expect(await respond(opened)).toBe(5 + 1 + 1);
  });

  it("and the audio of a response's own input as that of items", { tags: ["check"] }, async () => {
    const content = [{ type: "input_audio", audio: "A".repeat(640_000) }];
    const opened = await openSession(world);
    expect(await respond(opened, { input: [{ type: "message", role: "user", content }] })).toBeGreaterThan(100);
  });

  it("and its shortening stays as the client has set it first", { tags: ["check"] }, async () => {
    const { client, upstream } = await openSession(world);
    for (const truncation of ["disabled", "disabled", "auto", null]) client.says(settings({ truncation }));
    client.says(settings({ Truncation: "auto" }));
    await client.got("error", 3);
    expect({ passed: upstream.count("session.update"), told: client.events }).toMatchObject({
      passed: 2,
      told: [
        { error: { code: "validation_failed", param: "session.truncation" } },
        { error: { code: "validation_failed", param: "session.truncation" } },
        { error: { code: "validation_failed", param: "Truncation" } },
      ],
    });
  });
});

describe("an end user", () => {
  const limited = (): void => {
    const end_user_budget = { tokens: 600, cost_usd: null, period: "lifetime" as const, started_at_ms: null };
    world.key = keyOf({ tenant: tenantOf({ end_user_budget }) });
  };

  it("whom a session or a response names pays for the response", { tags: ["check"] }, async () => {
    limited();
    const opened = await openSession(world);
    opened.client.says(settings({ safety_identifier: "ann" }));
    await respond(opened);
    await respond(opened, { user: "ben" });
    expect(asked.map(({ row, endUserLimits }) => ({ who: row.end_user, isLimited: endUserLimits != null }))).toEqual([
      { who: "ann", isLimited: true },
      { who: "ben", isLimited: true },
    ]);
  });
});
