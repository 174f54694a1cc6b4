/**
 * The session of a request (specification "Data plane routes" 7, decisions §24): what the client states, else a stable id
 * derived from tenant, leading system text and first user message, so that a conversation keeps its id from turn to turn.
 */
import type { SessionIdSource } from "../../shared/usage-row.ts";
import { fnv1a64 } from "./fnv1a.ts";
import type { JsonDocument, JsonObject } from "./json-document.ts";
import type { EstimateRule } from "./route-class.ts";

const MAX_LENGTH = 200;
const SEED_MAX_BYTES = 8192;
const encoder = new TextEncoder();

export interface SessionId {
  readonly id: string;
  readonly source: SessionIdSource;
}

const NONE: SessionId = { id: "", source: "none" };

/** What of a request tells its session. */
export interface SessionSource {
  readonly headers: Headers;
  readonly document: JsonDocument;
  readonly rule: EstimateRule;
  readonly tenantId: string;
}

/** The session id of a request; `derive` false records only what clients state. */
export function sessionIdOf({ headers, document, rule, tenantId }: SessionSource, derive: boolean): SessionId {
  const body = document.root;
  const { metadata } = body;
  const stated = [
    headers.get("x-gateway-session-id"),
    headers.get("x-session-id"),
    body["session_id"],
    isObject(metadata) ? metadata["session_id"] : undefined,
    body["user"],
  ];
  for (const value of stated) {
    const id = typeof value === "string" ? document.text(value).trim().slice(0, MAX_LENGTH) : "";
    if (id !== "") return { id, source: "client" };
  }
  return derive ? derived(document, rule, tenantId) : NONE;
}

function derived(document: JsonDocument, rule: EstimateRule, tenantId: string): SessionId {
  const { messages, system } = conversationOf(document.root, rule);
  if (messages.length === 0) return NONE;
  const seed: string[] = [];
  let leading = true;
  if (system !== undefined) seed.push(textOf(document, { content: system }));
  for (const message of messages) {
    const role = isObject(message) ? message["role"] : undefined;
    const instructs = role === "system" || role === "developer";
    if (instructs && leading) seed.push(textOf(document, message));
    if (!instructs) leading = false;
    if (role === "user") {
      seed.push(textOf(document, message));
      break;
    }
  }
  if (seed.length === 0) return NONE;
  const tenant = Uint8Array.from(tenantId.replaceAll("-", "").match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const text = encoder.encode(seed.join("\u001f")).subarray(0, SEED_MAX_BYTES);
  return { id: fnv1a64([tenant, text]), source: "derived" };
}

/** Messages, and the system text that some routes keep beside them. Other bodies hold no conversation. */
function conversationOf(body: JsonObject, rule: EstimateRule): { messages: readonly unknown[]; system?: unknown } {
  if (rule === "responses") {
    const input = typeof body["input"] === "string" ? [{ role: "user", content: body["input"] }] : body["input"];
    return { messages: Array.isArray(input) ? input : [], system: body["instructions"] };
  }
  const messages = rule === "messages" || rule === "any" ? body["messages"] : [];
  return { messages: Array.isArray(messages) ? messages : [], system: rule === "any" ? body["system"] : undefined };
}

function textOf(document: JsonDocument, message: unknown): string {
  const content = isObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return document.text(content);
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (isObject(part) && typeof part["text"] === "string" ? document.text(part["text"]) : ""))
    .join("");
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
