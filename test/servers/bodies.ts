/** Bodies for the routes that every OpenAI-compatible server has. Their answers are the same each time. */

export interface Body {
  readonly name: string;
  readonly path: string;
  /** Without `model`. */
  readonly body: Readonly<Record<string, unknown>>;
}

const messages = [{ role: "user", content: "a b c" }];
const greedy = { temperature: 0, seed: 1 };
const short = { ...greedy, max_tokens: 12 };
const tool = {
  type: "function",
  function: {
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: { at: { type: "string" } } },
  },
};
const schema = { type: "object", properties: { n: { type: "boolean" } }, required: ["n"], additionalProperties: false };

const chat = (name: string, more: Readonly<Record<string, unknown>>): Body => ({
  name: `chat: ${name}`,
  path: "/v1/chat/completions",
  body: { messages, ...short, ...more },
});
const completion = (name: string, more: Readonly<Record<string, unknown>>): Body => ({
  name: `completion: ${name}`,
  path: "/v1/completions",
  body: { prompt: "a b c", ...short, ...more },
});

export const COMMON_BODIES: readonly Body[] = [
  chat("plain", {}),
  chat("a system message and turns", {
    messages: [
      { role: "system", content: "be brief" },
      ...messages,
      { role: "assistant", content: "d" },
      { role: "user", content: "€ 😀 \u2028 x" },
    ],
  }),
  chat("parts of content", { messages: [{ role: "user", content: [{ type: "text", text: "a" }] }] }),
  chat("max_completion_tokens", { max_tokens: undefined, max_completion_tokens: 5 }),
  chat("logprobs", { logprobs: true, top_logprobs: 2 }),
  chat("two choices", { n: 2 }),
  chat("stop", { stop: ["e", "a"] }),
  chat("a bias", { logit_bias: { "261": 50 } }),
  chat("penalties", { presence_penalty: 0.5, frequency_penalty: 0.5 }),
  chat("a schema", { max_tokens: 40, response_format: { type: "json_schema", json_schema: { name: "n", schema } } }),
  chat("tools that it may call", { tools: [tool], tool_choice: "none" }),
  chat("a stream", { stream: true }),
  chat("a stream with usage", { stream: true, stream_options: { include_usage: true } }),
  chat("a stream without usage", { stream: true, stream_options: { include_usage: false } }),
  chat("a stream of logprobs", { stream: true, logprobs: true, top_logprobs: 1 }),
  chat("a stream of two choices", { stream: true, n: 2, ignore_eos: true, max_tokens: 1 }),
  chat("a stream to its limit", { stream: true, ignore_eos: true, max_tokens: 50 }),
  chat("no messages", { messages: undefined }),
  chat("a temperature in words", { temperature: "hot" }),
  chat("a role that nobody has", { messages: [{ role: 7, content: "a" }] }),
  completion("plain", {}),
  completion("several prompts", { prompt: ["a", "b c"] }),
  completion("token ids", { prompt: [1, 261, 262] }),
  completion("echo", { echo: true }),
  completion("logprobs", { logprobs: 2 }),
  completion("a stream", { stream: true }),
  completion("a stream with usage", { stream: true, stream_options: { include_usage: true } }),
  completion("no prompt", { prompt: undefined }),
  { name: "responses", path: "/v1/responses", body: { input: "a b", temperature: 0, max_output_tokens: 8 } },
  {
    name: "responses: a stream",
    path: "/v1/responses",
    body: { input: messages, temperature: 0, max_output_tokens: 8, stream: true },
  },
  { name: "messages", path: "/v1/messages", body: { messages, ...greedy, max_tokens: 8 } },
  {
    name: "messages: a stream",
    path: "/v1/messages",
    body: { messages, system: "be brief", ...greedy, max_tokens: 8, stream: true },
  },
  { name: "messages: counted", path: "/v1/messages/count_tokens", body: { messages } },
];
