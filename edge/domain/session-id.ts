/**
 * The session of a request (specification "Data plane routes" 7, decisions §24): what the client states, else a stable id
 * derived from tenant, leading system text and first user message, so that a conversation keeps its id from turn to turn.
 */
import type { SessionIdSource } from "../../shared/usage-row.ts";
import { fnv1a64 } from "./fnv1a.ts";
import type { JsonObject } from "./json-document.ts";

const MAX_LENGTH = 200;
const SEED_MAX_BYTES = 8192;

export interface SessionId {
  readonly id: string;
  readonly source: SessionIdSource;
}

const NONE: SessionId = { id: "", source: "none" };

/** The session id of a request; `derive` false records only what clients state. */
export function sessionIdOf(headers: Headers, body: JsonObject | null, tenantId: string, derive: boolean): SessionId {
  const metadata = body?.["metadata"];
  const stated = [
    headers.get("x-gateway-session-id"),
    headers.get("x-session-id"),
    body?.["session_id"],
    isObject(metadata) ? metadata["session_id"] : undefined,
    body?.["user"],
  ];
  for (const value of stated) {
    const id = typeof value === "string" ? value.trim().slice(0, MAX_LENGTH) : "";
    if (id !== "") return { id, source: "client" };
  }
  return derive && body !== null ? derived(body, tenantId) : NONE;
}

function derived(body: JsonObject, tenantId: string): SessionId {
  const messages = body["messages"];
  if (!Array.isArray(messages) || messages.length === 0) return NONE;
  const seed: string[] = [];
  let leading = true;
  for (const message of messages) {
    const role = isObject(message) ? message["role"] : undefined;
    const system = role === "system" || role === "developer";
    if (system && leading) seed.push(textOf(message));
    if (!system) leading = false;
    if (role === "user") {
      seed.push(textOf(message));
      break;
    }
  }
  if (seed.length === 0) return NONE;
  const tenant = Uint8Array.from(tenantId.replaceAll("-", "").match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const text = new TextEncoder().encode(seed.join("\u001f")).subarray(0, SEED_MAX_BYTES);
  return { id: fnv1a64([tenant, text]), source: "derived" };
}

function textOf(message: unknown): string {
  const content = isObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
