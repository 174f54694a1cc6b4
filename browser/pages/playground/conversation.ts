/**
 * The conversation of the playground: turns of a person, each with the exchanges of one or two models (lanes), and the messages
 * of the API that it makes. Pure.
 */
import type { Answer, ToolCall } from "./answer.ts";

/** The result of a tool, as the person has typed it. */
export interface ToolResult {
  readonly id: string;
  readonly content: string;
}

/** One request and its answer. */
export interface Exchange {
  /** Tells it from every other one of the page. */
  readonly id: number;
  readonly model: string;
  /** Undefined: it was sent with a pasted key, or as the person's own tenant. */
  readonly tenantId?: string | undefined;
  /** Results for the calls of the exchange before. */
  readonly results: readonly ToolResult[];
  readonly answer: Answer;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly failure: ExchangeFailure | null;
  /** When it was sent, epoch ms by the browser's clock. */
  readonly sentAtMs: number;
  /** Milliseconds from sending to the first of the answer, and to its end, as the browser saw them; null: not yet. */
  readonly firstMs: number | null;
  readonly totalMs: number | null;
  /** Headers of the gateway; null: it has not answered. */
  readonly headers: Readonly<Record<string, string>> | null;
}

/** Why there is no answer, or no more of it. */
export interface ExchangeFailure {
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

export interface Turn {
  readonly id: number;
  readonly text: string;
  /** Data URLs. */
  readonly images: readonly string[];
  /** By lane; the second one is empty while one model is asked. */
  readonly lanes: readonly (readonly Exchange[])[];
}

/** A message of the API. */
type Message = Readonly<Record<string, unknown>>;

/**
 * The messages that a lane sends after these turns. A turn in which it was not asked has what the first lane answered, so that a
 * second model goes on from the same conversation. Answers that failed without a word are left out, and so are calls of tools
 * without results, which upstreams refuse.
 */
export function messagesOf(system: string, turns: readonly Turn[], lane: number): readonly Message[] {
  const messages: Message[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  for (const { text, images, lanes } of turns) {
    messages.push({ role: "user", content: contentOf(text, images) });
    const own = lanes[lane] ?? [];
    const exchanges = own.length > 0 ? own : (lanes[0] ?? []);
    for (const [nth, { results, answer }] of exchanges.entries()) {
      for (const { id, content } of results) messages.push({ role: "tool", tool_call_id: id, content });
      const answered = new Set(exchanges[nth + 1]?.results.map(({ id }) => id));
      const calls = answer.toolCalls.filter(({ id }) => answered.has(id));
      if (answer.content === "" && calls.length === 0) continue;
      messages.push({
        role: "assistant",
        content: answer.content,
        ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
      });
    }
  }
  return messages;
}

function contentOf(text: string, images: readonly string[]): unknown {
  if (images.length === 0) return text;
  const parts = images.map((url) => ({ type: "image_url", image_url: { url } }));
  return text === "" ? parts : [{ type: "text", text }, ...parts];
}

function callOf({ id, name, args }: ToolCall): object {
  return { id, type: "function", function: { name, arguments: args } };
}

/** Turns with a change to one exchange. */
export function withExchange(
  turns: readonly Turn[],
  id: number,
  change: (exchange: Exchange) => Exchange,
): readonly Turn[] {
  return turns.map((turn) => {
    const isIn = turn.lanes.some((lane) => lane.some((exchange) => exchange.id === id));
    if (!isIn) return turn;
    const lanes = turn.lanes.map((lane) => lane.map((exchange) => (exchange.id === id ? change(exchange) : exchange)));
    return { ...turn, lanes };
  });
}

/** Whether the gateway has an answer. To a stream that still waits it sends a head too, which lacks the time of its own work. */
export function isAnswered({ headers }: Pick<Exchange, "headers">): boolean {
  return headers?.["x-gateway-overhead-ms"] !== undefined;
}

/** The calls that wait for results: those of the last exchange of the last turn of a lane. */
export function openCalls(exchange: Exchange, next: Exchange | undefined): readonly ToolCall[] {
  if (next !== undefined || exchange.state !== "done") return [];
  return exchange.answer.toolCalls.filter(({ id }) => id !== "");
}
