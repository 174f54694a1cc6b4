/** Tools of real MCP servers, run by the gateway for a model (docs/rules/tool-loop.md#turns). */
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { type ReferenceServer, startReferenceServer } from "../harness/mcp-reference/server.ts";
import { useToolLoop } from "../harness/tool-loop-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const loop = useToolLoop(fixture);
/** The same server twice: one replies in event streams, the other as JSON. */
let events: ReferenceServer;
let json: ReferenceServer;

beforeAll(async () => {
  [events, json] = await Promise.all([startReferenceServer(), startReferenceServer({ jsonReplies: true })]);
});
afterAll(async () => {
  await Promise.all([events.close(), json.close()]);
});

const clientOf = (minted: Minted) =>
  new OpenAI({ apiKey: minted.secret, baseURL: `${fixture.gateway.proxyUrl}/v1`, maxRetries: 0 });
const question = (minted: Minted, ...lines: readonly string[]) => ({
  model: minted.model.model_name,
  messages: [{ role: "user" as const, content: [`hello ${minted.mark}`, ...lines].join("\n") }],
});

/** The tenant's rows, once there are so many. */
const rowsOf = async (minted: Minted, count: number) =>
  await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (rows) => rows.length >= count,
  );

/** Every session at a server has been ended. */
const noSessions = async (server: ReferenceServer): Promise<void> =>
  void (await waitFor(
    () => server.sessions.size,
    (open) => open === 0,
  ));

/** All kinds of results, in one turn. */
const EVERY_KIND = {
  test_simple_text: {},
  test_image_content: {},
  test_audio_content: {},
  test_embedded_resource: {},
  test_multiple_content_types: {},
  test_tool_with_logging: {},
  test_tool_with_progress: {},
  test_error_handling: {},
};
const RESULTS = [
  "This is a simple text response for testing.",
  expect.stringMatching(/^\[image, image\/png, \d+ bytes\]$/),
  expect.stringMatching(/^\[audio, audio\/wav, \d+ bytes\]$/),
  "This is an embedded resource content.",
  expect.stringMatching(
    /^Multiple content types test:\n\[image, image\/png, \d+ bytes\]\n\{"test":"data","value":123\}$/,
  ),
  "logged",
  "progressed",
  "error: This tool intentionally returns an error for testing",
];

mainRows(
  1,
  describe,
)([
  ["in event streams", () => events],
  ["as JSON", () => json],
])("a model with a tool server that replies %s", (_, server) => {
  it("answers with what its tools have said", async () => {
    const minted = await loop.mint([server()], "turns=2");
    const answer = await clientOf(minted).chat.completions.create(question(minted));
    expect(answer.choices[0]?.message.content).toContain("This is a simple text response for testing.");
    expect({ id: answer.id, total_tokens: answer.usage?.total_tokens }).toEqual({ id: "chatcmpl-0", total_tokens: 45 });
    const rows = await rowsOf(minted, 3);
    expect(rows.map(({ request_type: type, admission }) => `${type} ${admission}`).sort()).toEqual([
      "chat fast",
      "tool_loop boon",
      "tool_loop boon",
    ]);
    await noSessions(server());
  });

  it("reads every kind of result", async () => {
    const minted = await loop.mint([server()]);
    await clientOf(minted).chat.completions.create(question(minted, `call ${JSON.stringify(EVERY_KIND)}`));
    const tools = loop.model.seen(minted.mark)[1]?.messages.filter(({ role }) => role === "tool");
    expect(tools?.map(({ content }) => content)).toEqual(RESULTS);
  });
});

describe("a model with tool servers", () => {
  it("is told what a server that wants samples and input from its client says to a refusal", {
    tags: ["check"],
  }, async () => {
    const minted = await loop.mint([events]);
    const calls = { test_sampling: { prompt: "p" }, test_elicitation: { message: "m" } };
    await clientOf(minted).chat.completions.create(question(minted, `call ${JSON.stringify(calls)}`));
    const tools = loop.model.seen(minted.mark)[1]?.messages.filter(({ role }) => role === "tool");
    const refused = expect.stringMatching(/^error: .*(Method not found|does not support)/);
    expect(tools?.map(({ content }) => content)).toEqual([refused, refused]);
  });

  it("streams", async () => {
    const minted = await loop.mint([events]);
    const stream = clientOf(minted).chat.completions.stream({
      ...question(minted),
      stream_options: { include_usage: true },
    });
    const answer = await stream.finalChatCompletion();
    expect(answer.choices[0]?.message.content).toContain("simple text response");
    expect({
      id: answer.id,
      total_tokens: answer.usage?.total_tokens,
      finish_reason: answer.choices[0]?.finish_reason,
    }).toEqual({ id: "chatcmpl-0", total_tokens: 30, finish_reason: "stop" });
    await rowsOf(minted, 2);
  });

  it("gives the client its own calls", async () => {
    const minted = await loop.mint([events]);
    const tools = [{ type: "function" as const, function: { name: "mine", parameters: { type: "object" } } }];
    const answer = await clientOf(minted).chat.completions.create({ ...question(minted), tools });
    expect(answer.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: "mine" } }]);
    expect(loop.model.seen(minted.mark)[0]?.tools?.length).toBeGreaterThan(5);
  });

  it("passes requests on untouched with the header off", async () => {
    const minted = await loop.mint([events]);
    const response = await fixture.gateway.chat(minted, { headers: { "x-gateway-boons": "off" } });
    expect({ status: response.status, "x-gateway-boons": response.headers.get("x-gateway-boons") }).toEqual({
      status: 200,
      "x-gateway-boons": null,
    });
    expect(loop.model.seen(minted.mark)[0]?.tools).toBeUndefined();
  });
});
