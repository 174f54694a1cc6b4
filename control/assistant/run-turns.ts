/**
 * One answer of the assistant: the model is asked, its reads are done, and it is asked again until it has finished or a
 * bound is reached (docs/rules/assistant.md#bounds). All I/O is in {@link TurnPorts}, and none of them can write: whatever the
 * model says, the most that comes out is a proposal.
 */
import type { AssistantEvent, AssistantProposal, AssistantStop } from "../../shared/wire/assistant.ts";
import type { BrainTurn } from "./brain-answer.ts";
import { type HistoryMessage, recentHistory } from "./history.ts";
import { type ApiCall, checkCall, type ModelCall, type ModelTool, modelTools } from "./model-tools.ts";
import type { AssistantOperation } from "./operations.ts";

/** An answer of the Management API to a read. */
export interface ReadAnswer {
  readonly status: number;
  readonly text: string;
  /** The answer is longer than `text`, which is only its beginning. */
  readonly isPart: boolean;
  /** The parameter `cursor` of the next page; null: this is the last, or no list. */
  readonly cursor: string | null;
}

/** What an answer needs from outside. */
interface TurnPorts {
  /** Asks the model; `onText` is told its text as it comes. */
  readonly ask: (
    messages: readonly unknown[],
    tools: readonly ModelTool[],
    onText: (text: string) => void,
  ) => Promise<BrainTurn>;
  /** The path of the route that a call leads to, with `{name}` for parameters; null: to none. */
  readonly leadsTo: (call: ApiCall) => string | null;
  /** Reads as the person who asks, who may have less than at the begin. Only ever called with GET. */
  readonly read: (call: ApiCall) => Promise<ReadAnswer>;
  readonly propose: (operation: AssistantOperation, call: ApiCall) => Promise<AssistantProposal>;
  readonly emit: (event: AssistantEvent) => void;
  /** Milliseconds of a clock that does not run backwards. */
  readonly nowMs: () => number;
}

export const TURNS_MAX = 12;
const TOKENS_MAX = 400_000;
export const ANSWER_MAX_MS = 180_000;
const RESULT_MAX_CHARACTERS = 16_000;
/** Of all calls' arguments and results in one answer. */
const CALLS_MAX_CHARACTERS = 100_000;
/** What a token has at least, where the upstream does not count. */
const CHARACTERS_PER_TOKEN = 4;

/** Answers the last message of `history`, which is the person's. Emits everything but a failure, which it throws. */
export async function runTurns(
  ports: TurnPorts,
  given: { readonly system: string; readonly history: readonly HistoryMessage[] },
  operations: readonly AssistantOperation[],
): Promise<void> {
  const tools = modelTools(operations);
  const beganMs = ports.nowMs();
  const history = [...recentHistory(given.history)];
  let tokens = 0;
  let callCharacters = 0;
  let hasFilled = false;
  let stopped: AssistantStop | null = null;
  for (let turns = 1; ; turns += 1) {
    const messages = [{ role: "system", content: given.system }, ...history];
    const turn = await ports.ask(messages, tools, (text) => ports.emit({ kind: "text", text }));
    tokens += turn.tokens ?? Math.ceil(JSON.stringify(messages).length / CHARACTERS_PER_TOKEN);
    // Nine letters and digits, as the strictest upstreams want them.
    const nth = String(history.length).padStart(4, "0");
    const calls = turn.calls.map((call, at) => ({ ...call, id: `call${nth}${at}` }));
    const wasFull = hasFilled;
    const kept = calls.map((call) => {
      const isKept = callCharacters + call.arguments.length <= CALLS_MAX_CHARACTERS;
      if (isKept) callCharacters += call.arguments.length;
      return isKept ? { call, isKept } : { call: { ...call, arguments: "{}" }, isKept };
    });
    history.push(
      assistantMessage(
        turn.text,
        kept.map(({ call }) => call),
      ),
    );
    if (calls.length === 0) break;
    for (const { call, isKept } of kept) {
      const isFull = !isKept || callCharacters >= CALLS_MAX_CHARACTERS;
      hasFilled ||= isFull;
      const text = isFull ? FULL : await resultOf(ports, call, operations);
      callCharacters += text.length;
      history.push({ role: "tool", tool_call_id: call.id, content: text });
    }
    if (turns >= TURNS_MAX) stopped = "turns";
    else if (tokens >= TOKENS_MAX) stopped = "tokens";
    else if (ports.nowMs() - beganMs >= ANSWER_MAX_MS) stopped = "time";
    // It was told to answer with what there is, and has called again.
    else if (wasFull) stopped = "size";
    if (stopped !== null) break;
  }
  ports.emit({ kind: "done", history: recentHistory(history), stopped });
}

const FULL = JSON.stringify({ refused: "this answer has read as much as it may; answer with what there is" });

/** Does what a call means; the text that the model gets. */
async function resultOf(ports: TurnPorts, call: ModelCall, operations: readonly AssistantOperation[]): Promise<string> {
  const checked = checkCall(call, operations);
  if (checked.kind === "answer")
    return JSON.stringify(checked.isRefusal ? { refused: checked.text } : { description: checked.text });
  const { operation } = checked;
  // A value may be the fixed part of another route: what is shown must be what is meant.
  if (ports.leadsTo(checked.call) !== operation.path)
    return JSON.stringify({ refused: "a parameter of the path is not the id of an object" });
  if (checked.kind === "propose") {
    const proposal = await ports.propose(operation, checked.call);
    ports.emit({ kind: "proposal", proposal });
    return JSON.stringify({
      proposed: proposal.id,
      state: "shown to the person, who runs or dismisses it; it has NOT happened",
    });
  }
  const { method, path } = checked.call;
  ports.emit({ kind: "call", id: call.id, title: operation.summary, method, path: `/api/v1${path}` });
  const answer = await ports.read(checked.call);
  const ok = answer.status >= 200 && answer.status < 300;
  const result = quoted(answer, operation);
  ports.emit({ kind: "result", id: call.id, ok, text: result });
  return result;
}

/** An answer as data: one JSON document, so that nothing in it can become a part of the conversation. */
function quoted({ status, text: given, isPart, cursor }: ReadAnswer, { query }: AssistantOperation): string {
  const text = given.toWellFormed();
  const isCut = isPart || text.length > RESULT_MAX_CHARACTERS;
  return JSON.stringify({
    status,
    ...(isCut ? { cut: cutText(isPart ? null : text.length, Object.keys(query)) } : {}),
    ...(cursor === null ? {} : { next_page: { cursor } }),
    data: isCut ? text.slice(0, RESULT_MAX_CHARACTERS).toWellFormed() : (jsonOf(text) ?? text),
  });
}

/** Says that there is more, of how many characters (null: not known), and how less of it is asked for. */
function cutText(characters: number | null, parameters: readonly string[]): string {
  const all = characters === null ? "an answer that is too long to be read whole" : `${characters} characters`;
  const filters = parameters.filter((name) => name !== "limit" && name !== "cursor");
  const ways = [
    ...(parameters.includes("limit") ? ["fewer rows with limit (next_page then leads on)"] : []),
    ...(filters.length > 0 ? [`what matters with ${filters.join(", ")}`] : []),
  ];
  const how =
    ways.length === 0 ? "ask for one of the objects in it, if there is a tool" : `ask for ${ways.join(", or ")}`;
  return `this is the start of ${all}; ${how}`;
}

function assistantMessage(text: string, calls: readonly ModelCall[]): HistoryMessage {
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: args },
  }));
  return { role: "assistant", content: text, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
