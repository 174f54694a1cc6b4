/** JSON from models that reason before they answer, try and correct themselves (docs/rules/boons.md#structured-output). */
import { describe, expect, it } from "vitest";
import { startChatScript } from "../harness/chat-script.ts";
import { useGateway } from "../harness/fixture.ts";
import { useStarted } from "../harness/use-started.ts";

const fixture = useGateway();
const model = useStarted(startChatScript);
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const response_format = { type: "json_schema", json_schema: { name: "x", schema } };

/** Asks a model that says these texts, one after the other; `asked`: the bodies that it got. */
async function ask(said: readonly string[], more: object = {}) {
  const minted = await fixture.gateway.mint(model().url, "scripted", { boons: ["structured_output"] });
  const { upstream_model: name } = minted.model;
  model().say(name, ...said);
  const before = model().seen(name).length;
  const response = await fixture.gateway.chat(minted, { body: { response_format, ...more } });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return { content: choices[0]?.message.content, asked: model().seen(name).slice(before) };
}

describe("the answer of a model", () => {
  it.each([
    ["behind its reasoning", '<think>Maybe {"n": 1}, or {"n": "two"}?</think>\n\n{"n": 2}'],
    ["behind reasoning that the prompt opens", 'Maybe {"n": "two"}\n</think>\n\n{"n": 2}'],
    ["behind broken tries", 'No: {"n": two}.\n```json\n{"n": 2}\n```'],
    ["among other values", 'Not {"n": "two"}, but {"n": 2}, see [1].'],
  ])("is found %s, without a repair", async (_, said) => {
    const { content, asked } = await ask([said]);
    expect({ content, calls: asked.length }).toEqual({ content: '{"n":2}', calls: 1 });
  });

  it.each<[string, object, number]>([
    ["the answer's own tokens and some more", {}, 22 + 256],
    ["the client's limit", { max_tokens: 50 }, 50],
  ])("is repaired within %s", async (_, more, max_tokens) => {
    const { content, asked } = await ask(['{"n": "two"}', '<think>{"n": 1}?</think>{"n": 2}'], more);
    expect(content).toBe('{"n":2}');
    expect(asked[1]).toMatchObject({ temperature: 0, max_tokens });
  });
});
