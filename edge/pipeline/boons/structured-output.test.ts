/** JSON from a model that cannot be held to it (docs/rules/boons.md#structured-output), row by row. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { BoonWorld, COMPLETION_USAGE, chatCompletionOf, says } from "../../../test/harness/edge/pipeline/boon-world.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { type Answer, hangs, refuses, status } from "../../../test/harness/edge/pipeline/upstreams.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { validateJsonSchema } from "../../adapters/json-schema.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

const ON = { structured_output_enabled: true };
const supports = {
  function_calling: true,
  system_messages: true,
  response_schema: false,
  tool_choice: true,
  vision: true,
};
const LAX = { boons: ["structured_output"], supports };
const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const BY_SCHEMA = {
  response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema: SCHEMA } },
};
const JSON_ONLY = { response_format: { type: "json_object" } };
const INSTRUCTION = "Answer with exactly one JSON value and nothing else.";
const WARNING = "structured_output_validation_failed";

function worldOf(answers: Answer[], settings = {}, model = {}): BoonWorld {
  const world = new BoonWorld({ ...ON, ...settings }, { ...LAX, ...model }, ...answers);
  world.validateSchema = validateJsonSchema;
  return world;
}
const contentsOf = (text: string) =>
  (JSON.parse(text) as { choices: { message: { content: unknown } }[] }).choices.map(({ message }) => message.content);

describe("the request", () => {
  it.each<[string, object, boolean, unknown[], string]>([
    [
      "a schema",
      BY_SCHEMA,
      true,
      [{ role: "system", content: "S" }],
      `S\n\n${INSTRUCTION} It must conform to this JSON Schema: ${JSON.stringify(SCHEMA)}`,
    ],
    ["any JSON", JSON_ONLY, true, [{ role: "user", content: "q" }], INSTRUCTION],
    ["a model without system messages", JSON_ONLY, false, [{ role: "user", content: "q" }], `q\n\n${INSTRUCTION}`],
  ])("tells the model which format is wanted: %s", async (_, format, systemMessages, messages, expected) => {
    const world = worldOf([says('{"n":1}')], {}, { supports: { ...supports, system_messages: systemMessages } });
    const answer = await world.chat({ messages, ...format, temperature: 0.5 });
    expect(answer).toMatchObject({ status: 200, boons: "structured_output", warnings: null });
    const [sent] = world.sentTo("own");
    expect(sent).not.toHaveProperty("response_format");
    expect(sent).toMatchObject({ temperature: 0.5 });
    expect((sent?.["messages"] as { content: string }[] | undefined)?.[0]?.content).toBe(expected);
  });

  it("is as the client sent it when the boon does not apply", async () => {
    const cases: [BoonWorld, object, Record<string, string>][] = [
      [worldOf([says("x")], { structured_output_enabled: false }), BY_SCHEMA, {}],
      [worldOf([says("x")], {}, { boons: ["vision"] }), BY_SCHEMA, {}],
      [worldOf([says("x")], {}, { supports: { ...supports, response_schema: true } }), BY_SCHEMA, {}],
      [worldOf([says("x")]), BY_SCHEMA, { "x-gateway-boons": "off" }],
      [worldOf([says("x")]), { response_format: { type: "text" } }, {}],
      [worldOf([says("x")]), { response_format: 7 }, {}],
      [worldOf([says("x")]), { ...BY_SCHEMA, messages: "none" }, {}],
    ];
    for (const [world, body, headers] of cases) {
      const answer = await world.chat(body, headers);
      expect(answer).toMatchObject({ boons: null, warnings: null });
      expect(contentsOf(answer.text)).toEqual(["x"]);
      expect(world.sentTo("own")[0]).toMatchObject(body);
    }
  });
});

it("leaves a request alone that is too large to be written again, and says so", async () => {
  const world = worldOf([says("x")]);
  world.maxBodyBytes = 20_000_000;
  const messages = [{ role: "user", content: "q".repeat(9_000_000) }];
  const answer = await world.chat({ messages, ...BY_SCHEMA });
  expect(answer).toMatchObject({ status: 200, boons: null, warnings: "structured_output_validation_failed" });
  expect(world.sentTo("own")[0]).toMatchObject(BY_SCHEMA);
});

describe("the answer", () => {
  it("is compact JSON, with the rest of the completion as it was", async () => {
    const world = worldOf([says('Sure:\n```json\n{ "n" : 12345678901234567890 }\n```')]);
    const answer = await world.chat(BY_SCHEMA);
    expect(answer).toMatchObject({ status: 200, warnings: null, type: "application/json" });
    expect(JSON.parse(answer.text)).toEqual(chatCompletionOf('{"n":12345678901234567890}'));
    expect(world.subRows).toEqual([]);
  });

  it("is the model's own bytes when nothing has to change", async () => {
    const text = '{"choices":[{"message":{"content":"{\\"n\\":1}"},"logprobs":1.0}], "big": 12345678901234567890}';
    const world = worldOf([async () => new Response(text, { headers: { "content-type": "application/json" } })]);
    expect((await world.chat(BY_SCHEMA)).text).toBe(text);
  });

  it("is repaired by the model itself, which gets the text, its problems and the schema", async () => {
    const world = worldOf([says('{"n": "one"}'), says('{"n": 1}')]);
    const answer = await world.chat(BY_SCHEMA);
    expect(answer).toMatchObject({ status: 200, warnings: null });
    expect(contentsOf(answer.text)).toEqual(['{"n":1}']);
    expect(JSON.parse(answer.text)).toMatchObject({ usage: COMPLETION_USAGE });
    const [, repair] = world.sentTo("own");
    expect(repair).toMatchObject({ temperature: 0 });
    const prompt = JSON.stringify(repair?.["messages"]);
    for (const part of ['{"n": "one"}', "At /n: Instance type", JSON.stringify(SCHEMA)]) {
      expect(prompt).toContain(JSON.stringify(part).slice(1, -1));
    }
    expect(world.subRows).toMatchObject([
      { request_type: "structured_output_boon", admission: "boon", model: "tiny", cost_usd: 12 },
    ]);
    expect(world.permit.settlement?.row).toMatchObject({ input_tokens: 5, output_tokens: 7, status_code: 200 });
    const span = world.spans.find(({ span_name }) => span_name === "boon:structured_repair");
    expect(span).toMatchObject({ status: "ok", attributes: { texts: 1, repaired: 1, model: "tiny" } });
  });

  it("is repaired by the fixer, attempt by attempt", async () => {
    const settings = { structured_output_fixer_model: "fixer", structured_output_max_repair_attempts: 3 };
    const world = worldOf([says("no JSON")], settings).with("fixer", {}, status(500), says('{"m":1}'), says('{"n":2}'));
    const answer = await world.chat(BY_SCHEMA);
    expect(contentsOf(answer.text)).toEqual(['{"n":2}']);
    expect(answer.warnings).toBeNull();
    const prompts = world.sentTo("fixer").map((body) => JSON.stringify(body));
    expect(prompts).toHaveLength(3);
    expect(prompts[1]).toContain("no JSON");
    expect(prompts[2]).toContain('required property \\"n\\"');
  });

  it.each<[string, Answer]>([
    ["answers garbage", says("still no JSON")],
    ["answers nothing", says(null)],
    ["answers with an error", status(500)],
    ["answers no JSON", async () => new Response("<html>")],
    ["is away", refuses],
  ])("is the model's own, with a warning, when the fixer %s", async (_, fixes) => {
    const world = worldOf([says('{"n": "one"}')], { structured_output_fixer_model: "fixer" });
    world.with("fixer", {}, fixes);
    const answer = await world.chat(BY_SCHEMA);
    expect(answer).toMatchObject({ status: 200, boons: "structured_output", warnings: WARNING });
    expect(JSON.parse(answer.text)).toEqual(chatCompletionOf('{"n": "one"}'));
  });

  it.each<[string, boolean, object | undefined]>([
    ["gets the format", true, BY_SCHEMA.response_format],
    ["does not get a format that it may refuse", false, undefined],
  ])("is repaired by a fixer that %s, but no reasoning", async (_, response_schema, response_format) => {
    const world = worldOf([says('<think>hm</think>{"n": "one"}')], { structured_output_fixer_model: "fixer" });
    world.with("fixer", { supports: { ...supports, response_schema } }, says('{"n":1}'));
    expect(contentsOf((await world.chat(BY_SCHEMA)).text)).toEqual(['{"n":1}']);
    const [sent] = world.sentTo("fixer");
    const isReasoningSent = JSON.stringify(sent).includes("hm");
    expect({ format: sent?.["response_format"], isReasoningSent }).toEqual({
      format: response_format,
      isReasoningSent: false,
    });
  });

  it("is not invented from reasoning alone", async () => {
    const world = worldOf([says('<think>Perhaps {"n": 1}')]);
    const answer = await world.chat(BY_SCHEMA);
    expect(answer).toMatchObject({ status: 200, warnings: WARNING });
    expect(JSON.parse(answer.text)).toEqual(chatCompletionOf('<think>Perhaps {"n": 1}'));
    expect(world.sentTo("own")).toHaveLength(1);
  });

  it("is repaired by the model itself when the fixer is not registered", async () => {
    const world = worldOf([says("?"), says('{"n":1}')], { structured_output_fixer_model: "fixer" });
    world.with("fixer", { enabled: false });
    expect(contentsOf((await world.chat(BY_SCHEMA)).text)).toEqual(['{"n":1}']);
  });

  it("keeps every choice; at most 8 are repaired", async () => {
    const contents = ['{"n":1}', ...Array<string>(10).fill("?"), ' {"n":3} '];
    const world = worldOf([says(...contents)], { structured_output_fixer_model: "fixer" });
    world.with("fixer", {}, says('{"n":2}'));
    const answer = await world.chat({ ...BY_SCHEMA, n: 12 });
    expect(contentsOf(answer.text)).toEqual(['{"n":1}', ...Array<string>(8).fill('{"n":2}'), "?", "?", '{"n":3}']);
    expect(answer.warnings).toBe(WARNING);
    expect(world.subRows).toHaveLength(8);
  });

  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  it.each<[string, object, string | null]>([
    ["a refusal", { content: null, refusal: "no" }, null],
    ["calls of tools", { content: null, tool_calls: [call] }, null],
    ["calls of tools with a text", { content: "Let me see.", tool_calls: [call] }, null],
    ["nothing", { content: null }, WARNING],
    ["parts", { content: [{ type: "text", text: "{}" }] }, WARNING],
  ])("passes with %s, and is not repaired", async (_, message, warnings) => {
    const body = { choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }] };
    const world = worldOf([async () => Response.json(body)]);
    const answer = await world.chat(BY_SCHEMA);
    expect(answer.warnings).toBe(warnings);
    expect(JSON.parse(answer.text)).toEqual(body);
    expect(world.sentTo("own")).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    ["no completion", async () => Response.json({ odd: true })],
    ["no JSON", async () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["choices that are none", async () => Response.json({ choices: { a: 1 } })],
    ["a list", async () => Response.json([])],
  ])("passes as it came, with a warning, when it is %s", async (_, upstream) => {
    const expected = await (await upstream(null as never)).text();
    const answer = await worldOf([upstream]).chat({ ...BY_SCHEMA, stream: true });
    expect(answer).toMatchObject({ status: 200, warnings: WARNING, text: expected });
  });

  it("passes as it came, with a warning, when it is larger than may be held", async () => {
    const large = `{"n": 1}${" ".repeat(5_000_000)}`;
    const answer = await worldOf([says(large)]).chat(BY_SCHEMA);
    expect(answer.warnings).toBe("response_too_large");
    expect(contentsOf(answer.text)).toEqual([large]);
  });

  it("is stored as the client saw it, and not at all with a warning", async () => {
    const stored = async (answer: string): Promise<readonly string[]> => {
      const world = worldOf([says(answer)], {}, { cache_enabled: true });
      await world.chat(BY_SCHEMA);
      return world.stored.map(({ body }) => new TextDecoder().decode(body));
    };
    expect((await stored('{ "n": 1 }')).flatMap(contentsOf)).toEqual(['{"n":1}']);
    expect(await stored("?")).toEqual([]);
  });

  it("is an error of the upstream as it came", async () => {
    const world = worldOf([async () => Response.json({ error: { message: "bad" } }, { status: 400 })]);
    expect(await world.chat(BY_SCHEMA)).toMatchObject({ status: 400, text: '{"error":{"message":"bad"}}' });
  });

  it("ends with its client while it is repaired", async () => {
    const world = worldOf([says("?")], { structured_output_fixer_model: "fixer" }).with("fixer", {}, hangs);
    const answer = world.chat(BY_SCHEMA);
    await waitFor(
      () => world.sentTo("fixer"),
      ({ length }) => length === 1,
    );
    world.client.abort();
    await answer;
    expect(world.permit.settlement?.row).toMatchObject({ status_code: 499, input_tokens: 5, output_tokens: 7 });
    expect(world.subRows).toMatchObject([{ status_code: 499 }]);
  });
});

describe("a streaming client", () => {
  const streamed = { ...BY_SCHEMA, stream: true };

  it("gets a stream, and the upstream is not asked for one", async () => {
    const world = worldOf([says("?"), says('{"n": 1}')]);
    const answer = await world.chat({ ...streamed, stream_options: { include_usage: true } });
    expect(answer).toMatchObject({ status: 200, type: "text/event-stream", warnings: null });
    const events = answer.text.split("\n\n").filter(Boolean);
    expect(events.pop()).toBe("data: [DONE]");
    const chunks = events.map((event) => JSON.parse(event.slice("data: ".length)) as { choices: { delta: object }[] });
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))).toEqual([
      { role: "assistant", content: "" },
      { content: '{"n":1}' },
      {},
    ]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: COMPLETION_USAGE });
    expect(world.sentTo("own")[0]).toMatchObject({ stream: false });
    for (const sent of world.sentTo("own")) expect(sent).not.toHaveProperty("stream_options");
    expect(world.permit.settlement?.row).toMatchObject({ input_tokens: 5, output_tokens: 7, status_code: 200 });
  });

  it("gets no usage that it did not ask for, and unrepaired text as it was", async () => {
    const world = worldOf([says("?")]);
    const answer = await world.chat(streamed);
    expect(answer).toMatchObject({ warnings: WARNING, type: "text/event-stream" });
    expect(answer.text).toContain('"delta":{"content":"?"}');
    expect(answer.text).not.toContain("usage");
  });
});
