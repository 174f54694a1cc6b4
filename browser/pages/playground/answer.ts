/**
 * The answer of a chat completion, put together from what an upstream sends: chunks of a stream, or one document. Upstreams are
 * not trusted: what is no answer changes nothing. Pure; each chunk is looked at once.
 */
import { fieldsOf, textOf } from "../../data/untyped.ts";

/** A call of a tool that the model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, which may be none. */
  readonly args: string;
}

export interface Answer {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** Why the model stopped; null: it did not say so yet. */
  readonly finishReason: string | null;
}

export const NO_ANSWER: Answer = { content: "", reasoning: "", toolCalls: [], finishReason: null };

/** More characters are not shown: the page would no longer answer. */
export const ANSWER_MAX_CHARACTERS = 2_000_000;
const TOOL_CALLS_MAX = 128;

/** How many characters an answer has. */
export function answerLength({ content, reasoning, toolCalls }: Answer): number {
  return toolCalls.reduce((sum, { args }) => sum + args.length, content.length + reasoning.length);
}

/** The answer with one chunk of a stream, or with a whole document. */
export function withChunk(answer: Answer, chunk: unknown): Answer {
  const { choices } = fieldsOf(chunk);
  if (!Array.isArray(choices)) return answer;
  const { delta, message, finish_reason } = fieldsOf(choices[0]);
  const said = fieldsOf(delta ?? message);
  return {
    content: answer.content + textIn(said["content"]),
    reasoning: answer.reasoning + textIn(said["reasoning_content"] ?? said["reasoning"]),
    toolCalls: withCalls(answer.toolCalls, said["tool_calls"]),
    finishReason: textOf(finish_reason) ?? answer.finishReason,
  };
}

/** What a chunk or document says went wrong; null: nothing. */
export function failureIn(chunk: unknown): { readonly code: string; readonly message: string } | null {
  const { error } = fieldsOf(chunk);
  if (error === undefined || error === null) return null;
  const { code, message } = fieldsOf(error);
  return { code: textIn(code) || "upstream_stream_error", message: textIn(message).slice(0, 2000) };
}

function withCalls(known: readonly ToolCall[], parts: unknown): readonly ToolCall[] {
  if (!Array.isArray(parts) || parts.length === 0) return known;
  const calls = [...known];
  for (const [place, part] of parts.slice(0, TOOL_CALLS_MAX).entries()) {
    const { index, id, function: called } = fieldsOf(part);
    const { name, arguments: args } = fieldsOf(called);
    const at = typeof index === "number" ? index : place;
    // In order and without holes, as models write them.
    if (!Number.isInteger(at) || at < 0 || at > calls.length || at >= TOOL_CALLS_MAX) continue;
    const before = calls[at] ?? { id: "", name: "", args: "" };
    calls[at] = {
      id: before.id === "" ? textIn(id) : before.id,
      name: before.name + textIn(name),
      args: before.args + textIn(args),
    };
  }
  return calls;
}

/** A text, also of content that comes in parts. */
function textIn(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value) ?? "";
  return value.map((part) => textOf(fieldsOf(part)["text"]) ?? "").join("");
}

/** A part of a text: prose, or code between fences. */
interface TextBlock {
  readonly isCode: boolean;
  readonly text: string;
}

/** A text cut at its fences (CommonMark: fenced code blocks); a fence that is not closed lasts to the end. */
export function textBlocks(text: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const end = (isCode: boolean): void => {
    const block = lines.join("\n");
    if (isCode || block.trim() !== "") blocks.push({ isCode, text: isCode ? block : block.replace(/^\n/, "") });
    lines = [];
  };
  for (const line of text.split("\n")) {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    const closes = fence !== null && line.trim() === mark && mark.startsWith(fence);
    if (fence === null && mark !== undefined) {
      end(false);
      fence = mark;
    } else if (closes) {
      end(true);
      fence = null;
    } else lines.push(line);
  }
  end(fence !== null);
  return blocks;
}
