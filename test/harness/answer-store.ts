/**
 * An upstream that keeps its answers, as the Responses API does: under an id of their own, at one of its endpoints. It
 * records which endpoint got which call.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { useServer } from "./use-started.ts";

/** A call that reached it. */
interface StoredCall {
  readonly mark: string;
  readonly endpoint: string;
  readonly method: string;
  /** Path and query after `/v1`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Registers the hooks; `baseOf(mark, endpoint)` is an address, and `seen(mark)` has the calls to all addresses of the mark. */
export function useAnswerStore() {
  const calls: StoredCall[] = [];
  const hanging = new Map<string, () => void>();
  const origin = useServer((request, response) => {
    bodyOf(request).then(
      (body) => {
        const [, mark = "", endpoint = "", path = ""] = /^\/([^/]+)\/([^/]+)\/v1(\/.*)$/.exec(request.url ?? "") ?? [];
        calls.push({ mark, endpoint, method: request.method ?? "", path, body });
        const [, cancelled = ""] = /^\/responses\/(.*)\/cancel$/.exec(path) ?? [];
        const isOpen = hanging.get(cancelled);
        isOpen?.();
        answer(request.method === "POST" && path === "/responses", isOpen !== undefined, body, response, hanging);
      },
      () => response.destroy(),
    );
  });
  return {
    baseOf: (mark: string, endpoint = "only"): string => `${origin()}/${mark}/${endpoint}/v1`,
    seen: (mark: string): readonly StoredCall[] => calls.filter((call) => call.mark === mark),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
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
  body: Readonly<Record<string, unknown>>,
  response: ServerResponse,
  hanging: Map<string, () => void>,
): void {
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
  if (!creates || stream !== true) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(whole));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = [
    { type: "response.created", response: { ...whole, status: "in_progress", output: [], usage: null } },
    ...[item, code].map((each) => ({ type: "response.output_item.done", item: each })),
    { type: "response.completed", response: { ...whole, ...made } },
  ];
  const write = (some: typeof events) => {
    for (const event of some) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const finish = () => {
    write(events.slice(1));
    response.end();
  };
  write(events.slice(0, 1));
  if (body["instructions"] === "hang") hanging.set(id, finish);
  else finish();
}
