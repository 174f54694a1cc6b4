/**
 * Whether an event stream is whole: its last event is one that its protocol ends with. What ends otherwise may be cut short
 * and is never stored (decisions §21).
 */

/** Types of last events, where a protocol has no `[DONE]`. */
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
