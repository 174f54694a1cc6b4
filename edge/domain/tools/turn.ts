/**
 * The steps after a turn of a tool loop, which is one answer of the model (docs/rules/tool-loop.md#turns): its calls are run
 * and the model is called again, or the answer goes to the client without the calls that only the gateway can run.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { parsedInSteps } from "../wire/json/parse-in-steps.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";

/** One answer of the model, complete. */
export interface FinishedTurn {
  /** The message without its tool calls. */
  readonly message: JsonObject;
  /** The tool calls as the model has made them. */
  readonly toolCalls: readonly JsonObject[];
  readonly finishReason: unknown;
}

/** A call of a tool that the gateway runs. */
export interface GatewayToolCall {
  readonly name: string;
  /** The arguments; null: the model's text is not a JSON object. */
  readonly arguments: JsonObject | null;
}

/** The steps after a turn. */
export type TurnDecision =
  /** The gateway runs the calls and asks the model again. `toolCalls`: all calls, each with an id. */
  | { readonly kind: "run"; readonly calls: readonly GatewayToolCall[]; readonly toolCalls: readonly JsonObject[] }
  /** The answer is the client's, with these tool calls. `removed`: the gateway's own calls were removed. */
  | { readonly kind: "final"; readonly toolCalls: readonly JsonObject[]; readonly removed: boolean };

/** Most calls that are run in one turn; the others get an error for a result. */
export const CALLS_MAX = LIMITS.toolsAtOnce;

/** A longer id of a call is replaced. */
const ID_MAX = 4_096;
/** Work for a call, in units. */
const CALL_UNITS = 16;

/** The members of a message in which upstreams write a model's reasoning. */
export const REASONING_NAMES = ["reasoning_content", "reasoning"] as const;

/** Reasons for which an answer has ended before the model meant it to: its calls may be incomplete. */
const CUT_SHORT: ReadonlySet<unknown> = new Set(["length", "content_filter"]);

/**
 * Decides by the names of the gateway's own tools. `mayRun` is false once the turns are used up. A call to any other
 * tool is the client's to run, and so the whole answer is the client's.
 */
export function* decideTurn(
  turn: FinishedTurn,
  owned: { has(name: string): boolean },
  { turn: nth, mayRun }: { readonly turn: number; readonly mayRun: boolean },
): Steps<TurnDecision> {
  const ofClient = turn.toolCalls.filter((call) => !isOwned(call, owned));
  const removed = ofClient.length < turn.toolCalls.length;
  if (!removed || ofClient.length > 0 || !mayRun || CUT_SHORT.has(turn.finishReason))
    return { kind: "final", toolCalls: ofClient, removed };
  const calls: GatewayToolCall[] = [];
  for (const call of turn.toolCalls) {
    yield CALL_UNITS;
    const { name, arguments: written } = functionOf(call);
    calls.push({ name: String(name), arguments: yield* argumentsOf(written) });
  }
  const toolCalls = yield* withIds(turn.toolCalls, calls, nth);
  return { kind: "run", toolCalls, calls };
}

/** The finish reason of an answer that goes to the client: without tool calls they cannot be the reason. */
export function finalFinishReason(
  turn: FinishedTurn,
  { toolCalls }: { readonly toolCalls: readonly unknown[] },
): unknown {
  return toolCalls.length === 0 && turn.toolCalls.length > 0 && turn.finishReason === "tool_calls"
    ? "stop"
    : turn.finishReason;
}

/** The message of a turn and the results of its calls, as the model reads them in its next turn. */
export function exchangeOf(
  { message }: FinishedTurn,
  toolCalls: readonly JsonObject[],
  results: readonly string[],
): readonly JsonObject[] {
  const { content } = message;
  const readable = typeof content === "string" || Array.isArray(content) ? (content as unknown) : null;
  // Upstreams refuse unknown members; some want their own reasoning back.
  const reasoning = Object.fromEntries(
    REASONING_NAMES.flatMap((name) => (message[name] ? [[name, message[name]]] : [])),
  );
  return [
    { role: "assistant", content: readable, ...reasoning, tool_calls: toolCalls },
    ...results.map((text, nth) => ({ role: "tool", tool_call_id: toolCalls[nth]?.["id"], content: text })),
  ];
}

/** The name of a called function; undefined if it is not a call of a function. */
function nameOf(call: JsonObject): string | undefined {
  const { type, function: called } = call;
  if ((type !== undefined && type !== null && type !== "function") || !isJsonObject(called)) return undefined;
  return typeof called["name"] === "string" ? called["name"] : undefined;
}

function isOwned(call: JsonObject, owned: { has(name: string): boolean }): boolean {
  const name = nameOf(call);
  return name !== undefined && owned.has(name);
}

/** The calls, each with a unique id by which the model finds its result, a type, and arguments that are JSON. */
function* withIds(
  toolCalls: readonly JsonObject[],
  calls: readonly GatewayToolCall[],
  turn: number,
): Steps<readonly JsonObject[]> {
  const taken = new Set<unknown>();
  const named: JsonObject[] = [];
  for (const [nth, call] of toolCalls.entries()) {
    yield CALL_UNITS;
    const { id } = call;
    const usable = typeof id === "string" && id !== "" && id.length <= ID_MAX && !taken.has(id);
    if (usable) taken.add(id);
    const called = functionOf(call);
    const written = called["arguments"];
    const given = calls[nth]?.arguments ?? null;
    const readable = given !== null && typeof written === "string" && written !== "";
    const text = readable ? written : yield* jsonInSteps(given ?? {});
    named.push({
      ...call,
      type: "function",
      id: usable ? id : `call_${turn}_${nth}`,
      function: { ...called, arguments: text },
    });
  }
  return named;
}

function functionOf(call: JsonObject): JsonObject {
  return isJsonObject(call["function"]) ? call["function"] : {};
}

/** Some upstreams write no text for a call without arguments, others the object itself. */
function* argumentsOf(written: unknown): Steps<JsonObject | null> {
  if (written === undefined || written === null || written === "") return {};
  if (typeof written !== "string") return isJsonObject(written) ? written : null;
  const value = yield* parsedInSteps(written);
  return isJsonObject(value) ? value : null;
}
