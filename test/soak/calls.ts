/** The soak's calls: of both dialects to models of both, streamed and in one piece, with and without tools and their results. */

export const MESSAGES_PATH = "/messages";
const CHAT_PATH = "/chat/completions";

export type Dialect = "openai" | "anthropic";

interface SoakCall {
  readonly path: string;
  /** Of its client and of its model, such as `anthropic to openai, streamed`. */
  readonly kind: string;
  readonly body: object;
}

const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

export function randomCall(modelDialect: Dialect, model: string, mark: string): SoakCall {
  const client: Dialect = Math.random() < 0.5 ? "openai" : "anthropic";
  const stream = Math.random() < 0.75;
  const hasTools = Math.random() < 0.5;
  const body = client === "openai" ? chatBody(mark, hasTools) : messagesBody(mark, hasTools);
  return {
    path: `/v1${client === "openai" ? CHAT_PATH : MESSAGES_PATH}`,
    kind: `${client} to ${modelDialect}${stream ? ", streamed" : ""}`,
    body: { ...body, model, stream },
  };
}

/** With tools, the turn after a call of one. */
function chatBody(mark: string, hasTools: boolean): object {
  const asked = { role: "user", content: mark };
  if (!hasTools) return { messages: [asked] };
  const call = { id: "call_0", type: "function", function: { name: "weather", arguments: '{"city":"Bergen"}' } };
  return {
    messages: [
      asked,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "Rain" },
    ],
    tools: [{ type: "function", function: { name: "weather", parameters: SCHEMA } }],
  };
}

function messagesBody(mark: string, hasTools: boolean): object {
  const asked = { role: "user", content: mark };
  if (!hasTools) return { max_tokens: 100, messages: [asked] };
  return {
    max_tokens: 100,
    messages: [
      asked,
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_0", name: "weather", input: { city: "Bergen" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_0", content: "Rain" }] },
    ],
    tools: [{ name: "weather", input_schema: SCHEMA }],
  };
}
