/**
 * The members that every event of a streamed answer repeats. The upstream writes it once and the client gets it with each
 * event, so it is short whatever the upstream sends.
 */
import type { JsonObject } from "../json/document.ts";

/** Longer ids and names of models are ignored. */
const TEXT_MAX_CHARACTERS = 256;
const NAMES = ["id", "object", "created", "model", "system_fingerprint", "service_tier"] as const;

/** An id, or the name of a model; undefined if it is neither. */
export function headText(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= TEXT_MAX_CHARACTERS ? value : undefined;
}

/** The members of a chat completion, or of a chunk of one, that all its chunks have. */
export function eventHead(completion: JsonObject): JsonObject {
  const members = NAMES.map((name) => [name, completion[name]] as const);
  return Object.fromEntries(members.filter(([, value]) => isShort(value)));
}

function isShort(value: unknown): boolean {
  return value === null || typeof value === "number" || headText(value) !== undefined;
}
