/**
 * JSON-RPC messages between the gateway, as the client of a tool server, and the server (Model Context Protocol,
 * docs/rules/tool-loop.md#tool-servers). What a server answers is hostile: only what has the expected shape is read.
 */
import { isJsonObject, type JsonObject } from "../json/document.ts";

/** The revision of the protocol that the gateway speaks; a server may answer with another one. */
const PROTOCOL_VERSION = "2025-03-26";

/** Codes of JSON-RPC and MCP. */
const METHOD_NOT_FOUND = -32_601;

/** What a server replies to one request. */
export type RpcReply =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly methodUnknown: boolean; readonly message: string };

/** The parameters of `initialize`. */
export const INITIALIZE_PARAMS = {
  protocolVersion: PROTOCOL_VERSION,
  capabilities: {},
  clientInfo: { name: "gateway", version: "1" },
};

/** A request, as JSON text. Throws when `params` cannot be written, such as for its depth. */
export function rpcRequest(id: number, method: string, params: object): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** A notification, as JSON text. */
export function rpcNotification(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
}

/**
 * The reply to the request with this id in a message of the server, or in a list of messages; null: there is none, so
 * that it may still come. A reply with another id belongs to no request of ours.
 */
export function replyIn(text: string, id: number): RpcReply | null {
  const value = parsed(text);
  for (const message of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
    if (!isJsonObject(message) || message["id"] !== id || "method" in message) continue;
    if (isJsonObject(message["error"])) return errorOf(message["error"]);
    if (isJsonObject(message["result"])) return { kind: "result", result: message["result"] };
  }
  return null;
}

/** The revision that the server has chosen, as the header of later requests wants it; null: it has named none. */
export function protocolVersionOf(initialized: JsonObject): string | null {
  const version = initialized["protocolVersion"];
  return typeof version === "string" && /^\d{4}-\d{2}-\d{2}$/.test(version) ? version : null;
}

function errorOf({ code, message }: JsonObject): RpcReply {
  return {
    kind: "error",
    methodUnknown: code === METHOD_NOT_FOUND,
    message: typeof message === "string" ? message : "",
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
