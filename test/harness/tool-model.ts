/**
 * An upstream in the place of a model that calls tools while a request offers it any. The lines of the last user message
 * that begin with `call ` say which, a turn for each line, as an object of arguments by tool; without such lines it calls
 * the first tool, as often as its name says (`turns=<n>`). In the end it answers with the results that it has read since
 * that message. It streams when it is asked to.
 */
import { chatEvents, eventStream, jsonAnswer, type SinkAnswer, startHttpSink } from "./http-sink.ts";

interface Message {
  readonly role: string;
  readonly content: unknown;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
}

export type ToolModel = Awaited<ReturnType<typeof startToolModel>>;

export const TURN_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export async function startToolModel() {
  const sink = await startHttpSink(({ body }) => answer(JSON.parse(body) as ChatRequest));
  return {
    url: `${sink.url}/v1`,
    seen: (text: string): readonly ChatRequest[] =>
      sink.asked.filter(({ body }) => body.includes(text)).map(({ body }) => JSON.parse(body) as ChatRequest),
    close: sink.close,
  };
}

/** What the model calls now, as an object of arguments by tool; null: nothing more. */
function callsOf({ model, messages, tools = [] }: ChatRequest, turn: number): Readonly<Record<string, object>> | null {
  const name = tools[0]?.function.name;
  if (name === undefined) return null;
  const asked = String(messages.findLast(({ role }) => role === "user")?.content);
  const lines = asked.split("\n").filter((line) => line.startsWith("call "));
  const line = lines[turn];
  if (lines.length > 0)
    return line === undefined ? null : (JSON.parse(line.slice("call ".length)) as Record<string, object>);
  return turn < Number(/turns=(\d+)/.exec(model)?.[1] ?? 1) ? { [name]: {} } : null;
}

function answer(request: ChatRequest): SinkAnswer {
  const { model, messages, stream } = request;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const turn = since.filter(({ role }) => role === "assistant").length;
  const results = since.filter(({ role }) => role === "tool").map(({ content }) => content);
  const called = callsOf(request, turn);
  const calls = Object.entries(called ?? {}).map(([name, args], nth) => ({
    id: `call-${turn}-${nth}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message =
    called === null
      ? { role: "assistant", content: `read ${JSON.stringify(results)}` }
      : { role: "assistant", content: null, tool_calls: calls };
  const finish = called === null ? "stop" : "tool_calls";
  const head = { id: `chatcmpl-${turn}`, created: 1, model };
  const choices = [{ index: 0, message, finish_reason: finish }];
  if (stream !== true) return jsonAnswer({ ...head, object: "chat.completion", choices, usage: TURN_USAGE });
  const delta =
    called === null ? message : { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) };
  const chunks = [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage: TURN_USAGE },
  ].map((chunk) => ({ ...head, object: "chat.completion.chunk", ...chunk }));
  return eventStream(chatEvents(...chunks));
}
