/** What a model server said, without what differs between two equal calls: ids, times and the slot that served. */

const VOLATILE = new Set([
  "id",
  "item_id",
  "request_id",
  "id_slot",
  "created",
  "created_at",
  "completed_at",
  "timings",
  "prompt_ms",
  "sequence_number",
]);

/** vLLM has its fingerprint only in the event of the usage, which a client that did not ask for it does not get. */
const NOT_IN_EVENTS = new Set([...VOLATILE, "system_fingerprint"]);

export interface Spoken {
  readonly status: number;
  readonly type: string;
  readonly said: unknown;
}

/** Status, media type and body of an answer. The events of a stream are a list. */
export async function spoken(response: Response): Promise<Spoken> {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  const text = await response.text();
  const said = type === "text/event-stream" ? eventsOf(text) : parsed(text);
  return { status: response.status, type, said };
}

/** What the objects `usage` in it say together, a later one over an earlier; undefined when there is none. */
export function usageIn(said: unknown): Readonly<Record<string, number>> | undefined {
  if (said === null || typeof said !== "object") return undefined;
  const { usage } = said as { usage?: Readonly<Record<string, number>> };
  const parts = [usage ?? undefined, ...Object.values(said).map(usageIn)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : Object.assign({}, ...parts);
}

function eventsOf(text: string): readonly unknown[] {
  const texts: Record<string, string> = {};
  const events = text.split("\n\n").map((event) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: ?(.*)$`, "m").exec(event)?.[1];
    const data = field("data");
    return data === undefined ? null : { event: field("event"), data: withoutText(parsed(data, NOT_IN_EVENTS), texts) };
  });
  const kept: unknown[] = [];
  for (const event of events.filter((each) => each !== null && !isOnlyTimes(each.data))) {
    const both = joined(kept.at(-1), event);
    if (both === undefined) kept.push(event);
    else kept[kept.length - 1] = both;
  }
  return [...kept, texts];
}

/**
 * An event without the texts of its choices, which `texts` has then: a busy server may send the last token with the event that
 * says why the answer ends, or before it.
 */
function withoutText(data: unknown, texts: Record<string, string>): unknown {
  const { choices } = isObject(data) ? (data as { choices?: unknown }) : {};
  if (!Array.isArray(choices)) return data;
  const bare = choices.map((choice: { index?: number; text?: unknown; delta?: { content?: unknown } }) => {
    const { index = 0, text, delta } = choice;
    if (typeof text === "string") texts[index] = `${texts[index] ?? ""}${text}`;
    if (typeof delta?.content === "string") texts[index] = `${texts[index] ?? ""}${delta.content}`;
    return {
      ...choice,
      ...(typeof text === "string" && { text: "" }),
      ...(typeof delta?.content === "string" && { delta: { ...delta, content: "" } }),
    };
  });
  return { ...(data as object), choices: bare };
}

/** Where an answer's text is, and what is said of each of its tokens. */
const PIECES = new Set([
  "content",
  "text",
  "delta",
  "tokens",
  "token_logprobs",
  "top_logprobs",
  "text_offset",
  "token_ids",
]);

/**
 * Two events as one: servers cut the same text into other pieces each time. Undefined for events that differ in more than the
 * text; `name` is that of the member that they are.
 */
function joined(first: unknown, second: unknown, name = ""): unknown {
  if (PIECES.has(name) && typeof first === "string" && typeof second === "string") return first + second;
  if (PIECES.has(name) && Array.isArray(first) && Array.isArray(second)) return [...first, ...second];
  if (!isObject(first) || !isObject(second)) return first === second ? first : undefined;
  const names = Object.keys(first);
  if (names.length !== Object.keys(second).length) return undefined;
  const both = names.map((each) => [each, joined(first[each], second[each], each)] as const);
  const fits = both.every(([each, value]) => value !== undefined || (first[each] === undefined && each in second));
  if (!fits) return undefined;
  return Array.isArray(first) ? both.map(([, value]) => value) : Object.fromEntries(both);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === "object";
}

/** The event that llama.cpp's server sends last, without a count that nobody asked for: only times are left in it. */
function isOnlyTimes(data: unknown): boolean {
  if (data === null || typeof data !== "object") return false;
  const { choices, usage } = data as { choices?: unknown; usage?: unknown };
  return Array.isArray(choices) && choices.length === 0 && usage === undefined;
}

function parsed(text: string, without: ReadonlySet<string> = VOLATILE): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) => (without.has(name) ? undefined : value)) as unknown;
  } catch {
    return text;
  }
}
