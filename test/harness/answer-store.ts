/**
 * An upstream that keeps its answers, as the Responses API does: under an id of their own, at one of its endpoints. It
 * records which endpoint got which call.
 */
import { randomUUID } from "node:crypto";
import { EVENT_STREAM, eventStream, type HttpSink, jsonAnswer, namedEvents, startHttpSink } from "./http-sink.ts";
import { useStarted } from "./use-started.ts";

type Body = Readonly<Record<string, unknown>>;

interface StoredCall {
  readonly mark: string;
  readonly endpoint: string;
  readonly method: string;
  /** Path and query after `/v1`. */
  readonly path: string;
  readonly body: Body;
}

/** Registers the hooks; `baseOf(mark, endpoint)` is an address, and `seen(mark)` has the calls to all addresses of the mark. */
export function useAnswerStore() {
  const calls: StoredCall[] = [];
  /** What ends the streams that hang, by the ids of their answers. */
  const hanging = new Map<string, () => void>();
  const sink = useStarted(
    async () =>
      await startHttpSink(({ method, url, body: text }) => {
        const [, mark = "", endpoint = "", path = ""] = /^\/([^/]+)\/([^/]+)\/v1(\/.*)$/.exec(url) ?? [];
        const body = (text === "" ? {} : JSON.parse(text)) as Body;
        calls.push({ mark, endpoint, method, path, body });
        const [, cancelled = ""] = /^\/responses\/(.*)\/cancel$/.exec(path) ?? [];
        const finish = hanging.get(cancelled);
        finish?.();
        return answer(method === "POST" && path === "/responses", finish !== undefined, body, hanging);
      }),
  );
  return {
    baseOf: (mark: string, endpoint = "only"): string => `${sink().url}/${mark}/${endpoint}/v1`,
    seen: (mark: string): readonly StoredCall[] => calls.filter((call) => call.mark === mark),
  };
}

/** As many items as `metadata.items` says, in addition to the usual ones. */
function itemsOf(metadata: unknown): readonly object[] {
  const count = Number((metadata as Readonly<Record<string, string>>)["items"] ?? 0);
  return Array.from({ length: count }, () => ({ type: "message", id: `msg_${randomUUID()}`, content: [] }));
}

/** A new answer repeats the request's own `metadata` and `tools`, as OpenAI's does. With the instructions `hang` a stream stays open after its first event, until the answer is cancelled, which does not say what it used. */
function answer(
  creates: boolean,
  cancels: boolean,
  body: Body,
  hanging: Map<string, () => void>,
): ReturnType<HttpSink["answer"]> {
  const content = [{ type: "output_text", text: "secret 4711", annotations: [] }];
  const item = { type: "message", id: `msg_${randomUUID()}`, status: "completed", role: "assistant", content };
  const code = { type: "code_interpreter_call", id: `ci_${randomUUID()}`, container_id: `cntr_${randomUUID()}` };
  const tools = { type: "mcp_list_tools", id: `mcpl_${randomUUID()}`, tools: [{ input_schema: body["metadata"] }] };
  const { metadata = {}, tools: given = [], stream, background } = body;
  const made = {
    status: "completed",
    output: [item, code, tools, ...itemsOf(metadata)],
    usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8, output_tokens_details: { reasoning_tokens: 4 } },
  };
  // vLLM takes the id that its client chooses; another server may under any other name
  const chosen = body["request_id"] ?? body["rid"] ?? body["name_for_my_answer"];
  const id = typeof chosen === "string" ? chosen : `resp_${randomUUID()}`;
  const isLater = creates && background === true;
  const whole = {
    id,
    object: "response",
    metadata,
    tools: given,
    ...(isLater || cancels ? { status: isLater ? "queued" : "cancelled", output: [], usage: null } : made),
  };
  if (!creates || stream !== true) return jsonAnswer(whole);
  const created = { ...whole, status: "in_progress", output: [], usage: null };
  const first = namedEvents({ type: "response.created", response: created });
  const rest = namedEvents(...[item, code].map((each) => ({ type: "response.output_item.done", item: each })), {
    type: "response.completed",
    response: { ...whole, ...made },
  });
  if (body["instructions"] !== "hang") return eventStream(`${first}${rest}`);
  return (response) => {
    response.writeHead(200, EVENT_STREAM).write(first);
    hanging.set(id, () => response.end(rest));
  };
}
