/**
 * An upstream in the place of a model that an agent works with, by the Responses API and by the Messages API. It lets the agent run
 * one shell command a turn, `echo step-<n>`, and says `all done` once it has seen as many results as the model's name says
 * (`turns=<n>`). Beside these turns a fault can stand (`fault=<name>@<n>`): it takes the place of the first answer after n results.
 */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  EVENT_STREAM,
  eventStream,
  type HttpSink,
  jsonAnswer,
  namedEvents,
  type SinkAnswer,
  startHttpSink,
} from "../harness/http-sink.ts";
import { messageStream } from "../harness/messages-upstream.ts";

/** `error-first` and `error-late` are an error event in a 200, `overloaded` is 529, `rate-limited` 429 with `retry-after`. */
export type Fault =
  | "error-first"
  | "error-late"
  | "overloaded"
  | "rate-limited"
  | "reset-after-head"
  | "reset-in-stream";

type Answer = Exclude<Awaited<ReturnType<HttpSink["answer"]>>, null>;
const DIALECTS = ["responses", "messages"] as const;
type Dialect = (typeof DIALECTS)[number];

interface AgentRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: string; readonly type?: string }[];
}

interface AgentUpstream {
  readonly url: string;
  readonly calls: (model: string) => number;
  readonly close: () => Promise<void>;
}

export const TURN_TOKENS = { input: 100, output: 10 } as const;

export async function startAgentUpstream(): Promise<AgentUpstream> {
  const asked: string[] = [];
  const failed = new Set<string>();
  const sink = await startHttpSink(({ url, body }) => {
    const dialect = DIALECTS.find((each) => new URL(url, "http://upstream").pathname.endsWith(`/${each}`));
    if (dialect === undefined) return jsonAnswer({ error: { message: "no such route" } }, 404);
    const request = JSON.parse(body) as AgentRequest;
    asked.push(request.model);
    const results = (body.match(/"(?:type":"function_call_output|type":"tool_result)"/g) ?? []).length;
    const [, fault, at] = /fault=([a-z-]+)@(\d+)/.exec(request.model) ?? [];
    if (fault !== undefined && results === Number(at) && !failed.has(request.model)) {
      failed.add(request.model);
      return faultAnswer(fault as Fault, dialect);
    }
    const turns = Number(/turns=(\d+)/.exec(request.model)?.[1] ?? 1);
    const tool = results < turns ? shellOf(request) : null;
    const turn = tool === null ? sayTurn(dialect, request) : callTurn(dialect, request, tool, results);
    return request.stream === true ? events(turn.events) : jsonAnswer(turn.document);
  });
  return {
    url: `${sink.url}/v1`,
    calls: (model) => asked.filter((each) => each === model).length,
    close: sink.close,
  };
}

interface Shell {
  readonly name: string;
  readonly args: (command: string) => object;
}

/** How an agent's tool for shell commands is called; the first that it offers. */
const SHELLS: readonly Shell[] = [
  { name: "exec_command", args: (cmd) => ({ cmd }) },
  { name: "shell_command", args: (command) => ({ command }) },
  { name: "shell", args: (command) => ({ command: ["sh", "-c", command] }) },
  { name: "Bash", args: (command) => ({ command, description: "Says a word" }) },
];

export function shellOf({ tools = [] }: Pick<AgentRequest, "tools">): Shell | null {
  return SHELLS.find(({ name }) => tools.some((tool) => tool.name === name)) ?? null;
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** An answer in one piece, which an agent wants after a broken stream, and the events of its stream. */
interface Turn {
  readonly document: object;
  readonly events: readonly Event[];
}

function responsesTurn({ model }: AgentRequest, item: object): Turn {
  const { input, output } = TURN_TOKENS;
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const begun = { id: `resp_${randomUUID()}`, object: "response", created_at: 1, model, output: [] };
  const document = { ...begun, status: "completed", output: [item], usage };
  const events = [
    { type: "response.created", response: { ...begun, status: "in_progress" } },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: document },
  ];
  return { document, events };
}

function messagesTurn({ model }: AgentRequest, stop_reason: string, block: Event): Turn {
  const usage = { input_tokens: TURN_TOKENS.input, output_tokens: TURN_TOKENS.output };
  const head = { id: `msg_${randomUUID()}`, type: "message", role: "assistant", model, stop_sequence: null };
  const document = { ...head, stop_reason, content: [block], usage };
  return { document, events: messageStream(document) };
}

function sayTurn(dialect: Dialect, request: AgentRequest): Turn {
  const text = "all done";
  if (dialect === "messages") return messagesTurn(request, "end_turn", { type: "text", text });
  const content = [{ type: "output_text", text, annotations: [] }];
  const item = { type: "message", id: `msg_${randomUUID()}`, role: "assistant", status: "completed", content };
  return responsesTurn(request, item);
}

function callTurn(dialect: Dialect, request: AgentRequest, { name, args }: Shell, turn: number): Turn {
  const input = args(`echo step-${turn}`);
  const id = `call_${randomUUID().replaceAll("-", "")}`;
  if (dialect === "messages") return messagesTurn(request, "tool_use", { type: "tool_use", id, name, input });
  const call = { type: "function_call", id: `fc_${id}`, call_id: id, name, status: "completed" };
  return responsesTurn(request, { ...call, arguments: JSON.stringify(input) });
}

const written = (list: readonly Event[]): string =>
  namedEvents(...list.map((event, at) => ({ sequence_number: at, ...event })));
const events = (list: readonly Event[]): SinkAnswer => eventStream(written(list));

function errorEvents(dialect: Dialect): readonly Event[] {
  const error = { type: "overloaded_error", code: "server_is_overloaded", message: "Overloaded" };
  if (dialect === "messages") return [{ type: "error", error }];
  const response = { id: "resp_failed", object: "response", status: "failed", error, output: [] };
  return [{ type: "response.failed", response }];
}

function faultAnswer(fault: Fault, dialect: Dialect): Answer {
  const begun = sayTurn(dialect, { model: "m" }).events.slice(0, 1);
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  switch (fault) {
    case "error-first":
      return events(errorEvents(dialect));
    case "error-late":
      return events([...begun, ...errorEvents(dialect)]);
    case "overloaded":
      return jsonAnswer(error, 529);
    case "rate-limited":
      return { ...jsonAnswer(error, 429), headers: { "content-type": "application/json", "retry-after": "1" } };
    case "reset-after-head":
      return (response) => reset(response, "");
    case "reset-in-stream":
      return (response) => reset(response, written(begun));
  }
}

function reset(response: ServerResponse, sent: string): void {
  response.writeHead(200, EVENT_STREAM).flushHeaders();
  if (sent === "") setImmediate(() => response.socket?.resetAndDestroy());
  else response.write(sent, () => setImmediate(() => response.socket?.resetAndDestroy()));
}
