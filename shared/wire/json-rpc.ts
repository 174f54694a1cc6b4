/**
 * JSON-RPC messages between the gateway, as the client of a tool server, and the server (Model Context Protocol,
 * docs/rules/tool-loop.md#tool-servers). Answers of servers are untrusted: only members of the expected shape are read.
 */

type JsonObject = Readonly<Record<string, unknown>>;

/** The revision of the protocol that the gateway speaks; a server may answer with another one. */
const PROTOCOL_VERSION = "2025-03-26";

/** Codes of JSON-RPC and MCP. */
const METHOD_NOT_FOUND = -32_601;

/** Longest id of a server's request that is answered. */
const ID_MAX_CHARACTERS = 256;

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

/** What a message of a server holds, or a list of messages. */
interface Received {
  /** The first reply to the request that was asked for; null: it may still come. */
  readonly reply: RpcReply | null;
  /** What the server's own requests are answered with, as JSON texts. */
  readonly answers: readonly string[];
}

/**
 * Reads a message of a server while the request with this id waits for its reply. A reply with another id belongs to no request
 * of ours, and a notification needs no answer. A request of the server gets an answer, because it may wait for one: a ping gets
 * its empty result, every other method the error that the client does not have it.
 */
export function received(text: string, id: number): Received {
  return receivedIn(parsed(text), id);
}

/** The same for a parsed message; undefined: it is not JSON. */
export function receivedIn(value: unknown, id: number): Received {
  const answers: string[] = [];
  for (const message of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
    if (!isJsonObject(message)) continue;
    if ("method" in message) {
      const answer = answerTo(message);
      if (answer !== null) answers.push(answer);
    } else if (message["id"] === id) {
      const reply = replyOf(message);
      if (reply !== null) return { reply, answers };
    }
  }
  return { reply: null, answers };
}

/** The revision that the server has chosen, as the header of later requests wants it; null: it has named none. */
export function protocolVersionOf(initialized: JsonObject): string | null {
  const version = initialized["protocolVersion"];
  return typeof version === "string" && /^\d{4}-\d{2}-\d{2}$/.test(version) ? version : null;
}

function replyOf({ error, result }: JsonObject): RpcReply | null {
  if (isJsonObject(error)) return errorOf(error);
  return isJsonObject(result) ? { kind: "result", result } : null;
}

/** Null: it is a notification, or has no id that a request can have. */
function answerTo({ id, method }: JsonObject): string | null {
  const named = typeof id === "string" ? id.length <= ID_MAX_CHARACTERS : Number.isSafeInteger(id);
  if (!named) return null;
  return method === "ping"
    ? JSON.stringify({ jsonrpc: "2.0", id, result: {} })
    : JSON.stringify({ jsonrpc: "2.0", id, error: { code: METHOD_NOT_FOUND, message: "Method not found" } });
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

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
