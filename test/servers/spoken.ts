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
]);

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
  const events = text.split("\n\n").map((event) => {
    const field = (name: string): string | undefined => new RegExp(`^${name}: ?(.*)$`, "m").exec(event)?.[1];
    const data = field("data");
    return data === undefined ? null : { event: field("event"), data: parsed(data) };
  });
  return events.filter((event) => event !== null && !isOnlyTimes(event.data));
}

/** The event that llama.cpp's server sends last, without a count that nobody asked for: only times are left in it. */
function isOnlyTimes(data: unknown): boolean {
  if (data === null || typeof data !== "object") return false;
  const { choices, usage } = data as { choices?: unknown; usage?: unknown };
  return Array.isArray(choices) && choices.length === 0 && usage === undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) => (VOLATILE.has(name) ? undefined : value)) as unknown;
  } catch {
    return text;
  }
}
