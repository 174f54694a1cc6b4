/**
 * The session of a request (docs/rules/routes.md#session-id): the id that the client states, else a stable id derived
 * from tenant, leading system text and first user message, so that a conversation keeps its id from turn to turn.
 */
import type { SessionIdSource } from "../../../shared/usage/usage-row.ts";
import { fnv1a64 } from "../wire/bytes/fnv1a.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../wire/json/document.ts";
import { firstOf, firstText } from "./attribution.ts";
import type { EstimateRule } from "./route-class.ts";

const MAX_LENGTH = 200;
const SEED_MAX_BYTES = 8192;
const encoder = new TextEncoder();
/** Refilled for each id. A character that starts within the seed has space to end. */
const seedBytes = new Uint8Array(SEED_MAX_BYTES + 3);
const tenantBytes = new Uint8Array(16);

export interface SessionId {
  readonly id: string;
  readonly source: SessionIdSource;
}

/** Nothing states a session. */
export const NO_SESSION: SessionId = { id: "", source: "none" };

/** The parts of a request that its session follows from. */
interface SessionSource {
  readonly headers: Headers;
  readonly document: JsonDocument;
  readonly rule: EstimateRule;
  readonly tenantId: string;
}

/** The session that the headers state: all that is known of it before the body has been read. */
export function sessionOfHeaders(headers: Headers): SessionId {
  return stated(firstOf([headers.get("x-gateway-session-id"), headers.get("x-session-id")], MAX_LENGTH)) ?? NO_SESSION;
}

/** The session id of a request; when `derive` is false, only ids that clients state are recorded. */
export function sessionIdOf({ headers, document, rule, tenantId }: SessionSource, derive: boolean): SessionId {
  const ofHeaders = sessionOfHeaders(headers);
  if (ofHeaders !== NO_SESSION) return ofHeaders;
  const { session_id, metadata, user } = document.root;
  const inBody = [session_id, isJsonObject(metadata) ? metadata["session_id"] : undefined, user];
  return stated(firstText(document, inBody, MAX_LENGTH)) ?? (derive ? derived(document, rule, tenantId) : NO_SESSION);
}

const stated = (id: string): SessionId | null => (id === "" ? null : { id, source: "client" });

function derived(document: JsonDocument, rule: EstimateRule, tenantId: string): SessionId {
  const { messages, system } = conversationOf(document.root, rule);
  if (messages.length === 0) return NO_SESSION;
  const seed: string[] = [];
  let leading = true;
  if (system !== undefined) seed.push(textOf(document, { content: system }));
  for (const message of messages) {
    const role = isJsonObject(message) ? message["role"] : undefined;
    const instructs = role === "system" || role === "developer";
    if (instructs && leading) seed.push(textOf(document, message));
    if (!instructs) leading = false;
    if (role === "user") {
      seed.push(textOf(document, message));
      break;
    }
  }
  if (seed.length === 0) return NO_SESSION;
  const { written } = encoder.encodeInto(seed.join("\u001f"), seedBytes);
  const text = seedBytes.subarray(0, Math.min(written, SEED_MAX_BYTES));
  return { id: fnv1a64([uuidBytes(tenantId), text]), source: "derived" };
}

/** The 16 bytes of a UUID. */
function uuidBytes(uuid: string): Uint8Array {
  const digits = uuid.replaceAll("-", "");
  for (let at = 0; at < 16; at += 1) tenantBytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return tenantBytes;
}

/** Messages, and the system text that some routes keep beside them. Other bodies contain no conversation. */
function conversationOf(body: JsonObject, rule: EstimateRule): { messages: readonly unknown[]; system?: unknown } {
  if (rule === "responses") {
    const input = typeof body["input"] === "string" ? [{ role: "user", content: body["input"] }] : body["input"];
    return { messages: Array.isArray(input) ? input : [], system: body["instructions"] };
  }
  const messages = rule === "messages" || rule === "any" ? body["messages"] : [];
  return { messages: Array.isArray(messages) ? messages : [], system: rule === "any" ? body["system"] : undefined };
}

function textOf(document: JsonDocument, message: unknown): string {
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return document.text(content);
  if (!Array.isArray(content)) return "";
  let text = "";
  for (const part of content.slice(0, SEED_MAX_BYTES)) {
    if (isJsonObject(part) && typeof part["text"] === "string") text += document.text(part["text"]);
    if (text.length > SEED_MAX_BYTES) break;
  }
  return text;
}
