/**
 * The conversation so far as a page sends it back (docs/rules/assistant.md#questions). Pure. It comes from the browser, so
 * that nothing in it is more than what its own person could have said: it can make the model say something, and nothing
 * else.
 */
import { z } from "zod";

const CONTENT_MAX_CHARACTERS = 128 * 1024;
const MESSAGES_MAX = 200;
/** What is older than this is forgotten. */
const HISTORY_MAX_CHARACTERS = 120_000;
/** Of all that is kept, as JSON. */
const KEPT_MAX_BYTES = 1024 * 1024;
const QUESTION_MAX_CHARACTERS = 8000;

const content = z
  .string({ error: "must be a string" })
  .max(CONTENT_MAX_CHARACTERS, "is too long")
  .transform(wellFormed);
const shortName = z.string({ error: "must be a string" }).max(200, "is too long");

const callSchema = z.object({
  id: shortName,
  type: z.literal("function"),
  function: z.object({ name: shortName, arguments: z.string().max(CONTENT_MAX_CHARACTERS) }),
});

const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), content }),
  z.object({ role: z.literal("assistant"), content, tool_calls: z.array(callSchema).max(8).optional() }),
  z.object({ role: z.literal("tool"), tool_call_id: shortName, content }),
]);

/** A message of a chat completion, other than the system's. */
export type HistoryMessage = z.output<typeof messageSchema>;

/** What a page asks. */
export const questionSchema = z.object({
  text: z
    .string({ error: "must be a string" })
    .trim()
    .min(1, "must not be blank")
    .max(QUESTION_MAX_CHARACTERS, `must be at most ${QUESTION_MAX_CHARACTERS} characters`)
    .transform(wellFormed),
  history: z
    .array(messageSchema, { error: "must be the history of an answer" })
    .max(MESSAGES_MAX, "is too long")
    .default([]),
});

/**
 * The newest messages that fit, from one of the person on: a result without its call is no conversation. Of the messages
 * since the person's last one, all are kept that fit into 1 MiB: the newest, and the person's.
 */
export function recentHistory(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  let from = messages.length;
  let characters = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    characters += sizeOf(messages[at] as HistoryMessage);
    const isOver = characters > HISTORY_MAX_CHARACTERS || messages.length - at > MESSAGES_MAX / 2;
    if (isOver && from < messages.length) break;
    if (messages[at]?.role === "user") from = at;
  }
  return withinBytes(messages.slice(from));
}

/** The first message, and of the others the newest that fit, from a call on and not from its result. */
function withinBytes(messages: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const sizes = messages.map((message) => Buffer.byteLength(JSON.stringify(message)));
  let bytes = sizes[0] ?? 0;
  let from = messages.length;
  for (let at = messages.length - 1; at > 0; at -= 1) {
    bytes += sizes[at] ?? 0;
    if (bytes > KEPT_MAX_BYTES) return [...messages.slice(0, 1), ...messages.slice(from)];
    if (messages[at]?.role !== "tool") from = at;
  }
  return messages;
}

function sizeOf(message: HistoryMessage): number {
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
  return message.content.length + calls.reduce((sum, call) => sum + call.function.arguments.length, 0);
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}
