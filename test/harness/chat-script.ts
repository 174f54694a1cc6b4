/**
 * An upstream whose chat completions a test writes itself: the answers to the first, the second and every later request of
 * a model, by the name that the gateway sends upstream. It never streams.
 */
import { jsonAnswer, startHttpSink } from "./http-sink.ts";

/** A text, or a call of a tool with these arguments. */
type Said = string | { readonly tool: string; readonly args: object };

export async function startChatScript() {
  const scripts = new Map<string, { readonly said: readonly Said[]; readonly from: number }>();
  const bodies = new Map<string, Record<string, unknown>[]>();
  const sink = await startHttpSink((asked) => {
    const body = JSON.parse(asked.body) as Record<string, unknown>;
    const model = String(body["model"]);
    const seen = [...(bodies.get(model) ?? []), body];
    bodies.set(model, seen);
    const { said: script, from } = scripts.get(model) ?? { said: [], from: 0 };
    return jsonAnswer(
      completionOf(model, script[seen.length - 1 - from] ?? script.at(-1) ?? "", `call-${seen.length}`),
    );
  });
  return {
    url: `${sink.url}/v1`,
    /** Sets what a model answers from now on, request by request; the last one is given again. */
    say: (model: string, ...said: readonly Said[]): void =>
      void scripts.set(model, { said, from: bodies.get(model)?.length ?? 0 }),
    seen: (model: string) => bodies.get(model) ?? [],
    close: sink.close,
  };
}

function completionOf(model: string, said: Said, callId: string): object {
  const isText = typeof said === "string";
  const message = { role: "assistant", content: isText ? said : null, refusal: null };
  const calls = isText
    ? {}
    : {
        tool_calls: [
          { id: callId, type: "function", function: { name: said.tool, arguments: JSON.stringify(said.args) } },
        ],
      };
  const finish_reason = isText ? "stop" : "tool_calls";
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: { ...message, ...calls }, finish_reason, logprobs: null }],
    usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
  };
}
