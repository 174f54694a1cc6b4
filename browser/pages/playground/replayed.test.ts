/** Captured requests as conversations of the playground. */
import { expect, it } from "vitest";
import { messagesOf } from "./conversation.ts";
import { bodyFor } from "./messages-api.ts";
import { replayed } from "./replayed.ts";
import { apiOf, validatedSettings } from "./request-settings.ts";

const PNG = "data:image/png;base64,iVBORw==";

/** What the playground sends when the person presses Send. */
function sentAgain(path: string, body: object): { readonly body: unknown; readonly leftOut: readonly string[] } {
  const { turns, typed, text, images, leftOut } = replayed({ path, text: JSON.stringify(body) });
  const next = [...turns, { id: 1, text, images, lanes: [] }];
  const { members, errors } = validatedSettings(typed);
  expect(errors).toEqual({});
  const messages = messagesOf(typed.system ?? "", next, 0);
  return { body: bodyFor(apiOf(typed), { model: "m", messages, ...members }), leftOut };
}

it("sends a chat completion again as it was captured", () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"at":1}' } };
  const body = {
    model: "m",
    temperature: 0.5,
    max_tokens: 7,
    stop: ["END"],
    stream: true,
    tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
    tool_choice: { type: "function", function: { name: "look" } },
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
    messages: [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Look" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "seen" },
      { role: "assistant", content: "I saw it" },
      {
        role: "user",
        content: [
          { type: "text", text: "And this?" },
          { type: "image_url", image_url: { url: PNG } },
        ],
      },
    ],
  };
  expect(sentAgain("/v1/chat/completions", body)).toEqual({ body, leftOut: [] });
});

it("sends a call of messages again as it was captured", () => {
  const body = {
    model: "m",
    system: "Be brief",
    max_tokens: 7,
    stop_sequences: ["END"],
    tools: [{ name: "look", input_schema: { type: "object" } }],
    tool_choice: { type: "any" },
    messages: [
      { role: "user", content: [{ type: "text", text: "Look" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: { at: 1 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "seen" }] },
      { role: "assistant", content: [{ type: "text", text: "I saw it" }] },
      { role: "user", content: [{ type: "text", text: "And now?" }] },
    ],
  };
  expect(sentAgain("/v1/messages", body)).toEqual({ body, leftOut: [] });
});

it("names what it leaves out", () => {
  const body = {
    model: "m",
    user: "u",
    logit_bias: {},
    messages: [
      { role: "user", content: "Look" },
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c1", content: "seen" },
    ],
  };
  expect(replayed({ path: "/v1/chat/completions", text: JSON.stringify(body) }).leftOut).toEqual([
    "user",
    "logit_bias",
    "tool results",
  ]);
});
