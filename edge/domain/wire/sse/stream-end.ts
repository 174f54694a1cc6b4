/**
 * Whether an event stream is complete: its last event is one that ends the protocol. A stream that ends in another way
 * may be cut off and is never stored (docs/rules/response-cache.md#what-is-stored).
 */

/** Types of last events in protocols without `[DONE]`. */
const LAST_TYPES = new Set([
  "response.completed",
  "response.incomplete",
  "message_stop",
  "image_generation.completed",
  "image_edit.completed",
  "speech.audio.done",
]);

/** True when `body`, an event stream from its first byte on, ended as it should. */
export function isCompleteStream(body: Uint8Array): boolean {
  const text = new TextDecoder().decode(body).replaceAll(/\r\n?/g, "\n");
  const last = text.trimEnd().split("\n\n").at(-1) ?? "";
  const data = fieldOf(last, "data");
  if (data === "[DONE]") return true;
  if (!text.endsWith("\n\n")) return false;
  const type = fieldOf(last, "event") ?? /^\{\s*"type"\s*:\s*"([^"]+)"/.exec(data ?? "")?.[1];
  return type !== undefined && LAST_TYPES.has(type);
}

function fieldOf(event: string, name: string): string | undefined {
  const line = event.split("\n").find((entry) => entry.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}
