/**
 * The texts of a chat request that compression may change, and the request with other texts in their place
 * (docs/rules/compression.md#texts-that-are-never-touched). Messages come from a client: anything without the expected shape
 * stays unchanged.
 */
import type { Steps } from "../../../shared/steps.ts";
import { tokensOf } from "./block.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The place of a text: the message, and its content part; null: the content itself is the text. */
interface TextPlace {
  readonly message: number;
  readonly part: number | null;
}

/** What compression works on. */
interface RequestTexts {
  readonly texts: readonly string[];
  /** The place of each text, in the same order. */
  readonly places: readonly TextPlace[];
  /** The last user message's last text, which says what matters; "" without one. */
  readonly question: string;
}

const TOKENS_PER_MESSAGE = 4;
/** Most values in messages that are compressed. */
const VALUES_MAX = 64 * 1024;
/** Work for a value, in units. */
const VALUE_UNITS = 12;

/** The texts of user, assistant, tool and function messages that may change. */
export function requestTexts(messages: readonly unknown[]): RequestTexts {
  const lastUser = messages.findLastIndex((message) => roleOf(message) === "user");
  const question = textsOf(messages[lastUser], lastUser).at(-1);
  const found = messages.flatMap((message, at) => (isOpen(roleOf(message), at > lastUser) ? textsOf(message, at) : []));
  const open = found.filter(
    ({ place }) => place.message !== question?.place.message || place.part !== question.place.part,
  );
  return {
    texts: open.map(({ text }) => text),
    places: open.map(({ place }) => place),
    question: question?.text ?? "",
  };
}

/** The messages with these texts at these places; messages that keep their texts are the same objects. */
export function withRequestTexts(
  messages: readonly unknown[],
  { texts, places }: RequestTexts,
  changed: readonly string[],
): readonly unknown[] {
  const after = [...messages];
  for (const [at, { message, part }] of places.entries()) {
    const text = changed[at];
    const before = after[message];
    if (text === undefined || text === texts[at] || !isFields(before)) continue;
    after[message] = { ...before, content: part === null ? text : withPart(before["content"], part, text) };
  }
  return after;
}

/**
 * Whether messages can be written as JSON again without changing a number in them: none that JSON.parse has rounded or that
 * JSON.stringify writes differently. False also for messages of more values than an honest request has: some of the work on
 * messages is done at once.
 */
export function* isRewritable(messages: readonly unknown[]): Steps<boolean> {
  const open: Iterator<unknown>[] = [messages.values()];
  for (let [inner, values] = [open.at(-1), 0]; inner !== undefined; inner = open.at(-1)) {
    yield VALUE_UNITS;
    const { done, value } = inner.next();
    if (done === true) open.pop();
    else values += 1;
    if (values > VALUES_MAX) return false;
    if (typeof value === "number") {
      if (!Number.isFinite(value) || Object.is(value, -0)) return false;
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
    } else if (typeof value === "object" && value !== null) {
      open.push((Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value)).values());
    }
  }
  return true;
}

/** Input tokens of messages by the rule of estimates (docs/rules/token-estimates.md#formulas). */
export function messagesTokens(messages: readonly unknown[]): number {
  return messages.reduce((sum: number, message) => {
    const content = isFields(message) ? message["content"] : undefined;
    if (typeof content === "string") return sum + tokensOf(content) + TOKENS_PER_MESSAGE;
    const parts: readonly unknown[] = Array.isArray(content) ? content : [];
    return parts.reduce((tokens: number, part) => {
      const text = isFields(part) ? part["text"] : undefined;
      return tokens + (typeof text === "string" ? tokensOf(text) : 0);
    }, sum + TOKENS_PER_MESSAGE);
  }, 0);
}

/** Whether messages of this role may change. `answered`: the message comes after the last one of the user. */
function isOpen(role: unknown, answered: boolean): boolean {
  return role === "user" || role === "tool" || role === "function" || (role === "assistant" && !answered);
}

function textsOf(message: unknown, at: number): readonly { readonly text: string; readonly place: TextPlace }[] {
  const content = isFields(message) ? message["content"] : undefined;
  if (typeof content === "string") return [{ text: content, place: { message: at, part: null } }];
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.flatMap((part, index) => {
    const text = isFields(part) && part["type"] === "text" ? part["text"] : undefined;
    return typeof text === "string" ? [{ text, place: { message: at, part: index } }] : [];
  });
}

function withPart(content: unknown, part: number, text: string): unknown {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.map((before, index) => (index === part && isFields(before) ? { ...before, text } : before));
}

function roleOf(message: unknown): unknown {
  return isFields(message) ? message["role"] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
