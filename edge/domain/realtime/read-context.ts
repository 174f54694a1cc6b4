/** The input of a response of a realtime session, by its own settings (docs/rules/realtime.md#budgets). */
import { isJsonObject, type JsonObject, jsonObjectOf } from "../wire/json/document.ts";

export interface ReadContext {
  /** The whole conversation with the settings of the session, its items with settings of the response, or neither. */
  readonly reads: "all" | "items" | "own";
  /** Its output becomes part of the conversation. */
  readonly isInConversation: boolean;
}

/** Settings of a response that do not change what it reads. */
const UNREAD: ReadonlySet<string> = new Set(
  "conversation output_modalities modalities audio voice output_audio_format max_output_tokens max_response_output_tokens metadata temperature reasoning user safety_identifier".split(
    " ",
  ),
);
/** Settings that replace those of the session. */
const INSTEAD: ReadonlySet<string> = new Set(["instructions", "tools", "tool_choice"]);

/** Settings of turn detection with which no response starts before its upstream has received audio. */
const OF_AUDIO: ReadonlySet<string> = new Set(
  "type threshold prefix_padding_ms silence_duration_ms create_response interrupt_response eagerness".split(" "),
);

/** Whether an upstream with these settings of a session may start responses unasked although it has received no audio. */
export function beginsInSilence({ turn_detection: older, audio }: JsonObject): boolean {
  const { turn_detection: turns } = jsonObjectOf(jsonObjectOf(audio)?.["input"]) ?? {};
  const settings = [older, turns].flatMap((detection) => Object.entries(jsonObjectOf(detection) ?? {}));
  return settings.some(([name, value]) =>
    name === "type" ? value !== "server_vad" && value !== "semantic_vad" : value !== null && !OF_AUDIO.has(name),
  );
}

/** The input of a response with these settings; null: its settings do not say. */
export function readContextOf(settings: JsonObject | null): ReadContext {
  const { conversation } = settings ?? {};
  const isInConversation = conversation !== "none";
  const names = Object.keys(settings ?? {}).filter((name) => !UNREAD.has(name));
  const isOfConversation = conversation === undefined || conversation === null || conversation === "auto";
  if (!isOfConversation || names.some((name) => !INSTEAD.has(name))) return { reads: "own", isInConversation };
  return { reads: names.length === 0 ? "all" : "items", isInConversation };
}

/** Base64 audio in the parts of items. */
export function audioCharacters(items: unknown): number {
  if (!Array.isArray(items)) return 0;
  const parts = items
    .filter(isJsonObject)
    .flatMap(({ content }): readonly unknown[] => (Array.isArray(content) ? content : []));
  return parts.filter(isJsonObject).reduce((sum, { audio }) => sum + (typeof audio === "string" ? audio.length : 0), 0);
}
