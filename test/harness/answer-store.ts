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
  const origin = useServer((request, response) => {
    bodyOf(request).then(
      (body) => {
        const [, mark = "", endpoint = "", path = ""] = /^\/([^/]+)\/([^/]+)\/v1(\/.*)$/.exec(request.url ?? "") ?? [];
        calls.push({ mark, endpoint, method: request.method ?? "", path, body });
        answer(request.method === "POST" && path === "/responses", body, response);
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

/** A new answer repeats the request's own `metadata` and `tools`, as OpenAI's does. With the instructions `hang` a stream stays open after its first event. */
function answer(creates: boolean, body: Readonly<Record<string, unknown>>, response: ServerResponse): void {
  const content = [{ type: "output_text", text: "secret 4711", annotations: [] }];
  const item = { type: "message", id: `msg_${randomUUID()}`, status: "completed", role: "assistant", content };
  const code = { type: "code_interpreter_call", id: `ci_${randomUUID()}`, container_id: `cntr_${randomUUID()}` };
  const tools = { type: "mcp_list_tools", id: `mcpl_${randomUUID()}`, tools: [{ input_schema: body["metadata"] }] };
  const { metadata = {}, tools: given = [], stream, background } = body;
  const whole = {
    // vLLM takes the id that its client chooses
    id: body["request_id"] ?? `resp_${randomUUID()}`,
    object: "response",
    status: creates && background === true ? "queued" : "completed",
    metadata,
    tools: given,
    output: creates && background === true ? [] : [item, code, tools, ...itemsOf(metadata)],
    usage: creates && background === true ? null : { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
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
    { type: "response.completed", response: whole },
  ];
  if (body["instructions"] === "hang") events.splice(1);
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  if (body["instructions"] !== "hang") response.end();
}
