/**
 * The call to the MCP server, up to the headers of its answer. It has its own deadline and does not end with its
 * client, because a client that leaves does not cancel it (docs/rules/mcp.md#clients-that-leave); only a client that
 * was merely listening (GET) ends the call when it leaves.
 */
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { isUrlAllowed } from "../../../shared/network/ssrf.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import {
  hasPagesBeside,
  type McpTarget,
  mcpRequestHeaders,
  mcpUrl,
  parametersOfServer,
} from "../../domain/tools/mcp.ts";
import { asPlain } from "../../domain/upstream/headers.ts";
import type { UpstreamBody } from "../../ports.ts";
import { ClientGone } from "../call/client-gone.ts";
import type { Call } from "../call/context.ts";
import { type Authenticated, NO_UPSTREAM, StageFailure, type UpstreamState } from "../call/known.ts";
import { readBody } from "../resolve-model/read-body.ts";
import { MCP_BODY_MAX_BYTES, type McpAccess } from "./mcp-access.ts";
import { ownersOf, pageId } from "./mcp-session.ts";

/** Time within which a server must send headers (docs/rules/mcp.md#calls). */
const HEADERS_WITHIN_MS = 30_000;

/** An answer whose body is still to come; `stop` ends it. */
export interface McpAnswer {
  readonly response: Response;
  readonly stop: AbortController;
  readonly upstream: UpstreamState;
}

/**
 * Calls the server. Throws 400, 408, 413, 502, or ClientGone; once the server has been called, as a failure that carries the time
 * of the call.
 */
export async function callMcpServer(call: Call, access: McpAccess, target: McpTarget): Promise<McpAnswer> {
  const { server } = access;
  if (!isUrlAllowed(server.upstream_url, call.config.ssrf)) throw failed(call, server, "address blocked");
  const [ownParameter] = parametersOfServer(server.upstream_url, call.search);
  if (ownParameter !== undefined) {
    const param = ownParameter.slice(0, 100);
    throw new GatewayError("validation_failed", { param, complaint: `${param} is set by the operator: leave it out` });
  }
  const authorization = await openAuthorization(call, server);
  const body = await bodyOf(call, access);
  const client = call.request.signal;
  const listening = isListening(call);
  const stop = new AbortController();
  const leave = (): void => stop.abort(new ClientGone());
  if (listening && client.aborted) throw new ClientGone();
  if (listening) client.addEventListener("abort", leave, { once: true });
  const { interruption } = call;
  const callOff = interruption.listen(() => stop.abort(interruption.failure));
  const deadline = { passed: false };
  const timer = setTimeout(() => {
    deadline.passed = true;
    stop.abort(new DOMException("no headers in time", "TimeoutError"));
  }, HEADERS_WITHIN_MS);
  const headers = mcpRequestHeaders(call.request.headers, authorization);
  const called: UpstreamState = { ...NO_UPSTREAM, calledMs: call.ports.clock() };
  let { status } = called;
  try {
    const response = await call.ports.upstream.fetch({
      url: mcpUrl(server.upstream_url, target.rest, call.search, await isNamedPage(call, server, target)),
      method: call.request.method,
      headers: body instanceof Request ? headers : asPlain(headers),
      body,
      signal: stop.signal,
      trusted: false,
    });
    ({ status } = response);
    const refused = unusable(response.status);
    if (refused !== null) throw failed(call, server, refused, refused);
    if (response.status >= 500) raise(call, "mcp_upstream_5xx_response", server, `answered ${response.status}`);
    return { response, stop, upstream: { ...called, status } };
  } catch (error) {
    stop.abort();
    const failure =
      interruption.failure ??
      (error instanceof GatewayError ? error : null) ??
      (listening && client.aborted
        ? new ClientGone()
        : failed(call, server, deadline.passed ? "timed out before headers" : "connection failed", error));
    throw new StageFailure(failure, { ...access, upstream: { ...called, status } });
  } finally {
    clearTimeout(timer);
    callOff();
    client.removeEventListener("abort", leave);
  }
}

/**
 * Why an answer must not go to the client; null: it may. A client never has the credential that the server requires, and would
 * take a 401 for one of the gateway.
 */
function unusable(status: number): string | null {
  if (status === 401) return "answered 401: it refuses the credential of its registration";
  return status < 200 || status > 599 ? `answered ${status}, which is no status of an answer` : null;
}

/** Whether the rest of the path is a page beside the server's own, which the server has named. Throws 503. */
async function isNamedPage(call: Call, { name, upstream_url }: McpServerRecord, { rest }: McpTarget): Promise<boolean> {
  if (rest === "" || isListening(call) || !hasPagesBeside(upstream_url)) return false;
  return (await ownersOf(call, name, [pageId(rest)])).length > 0;
}

/** Whether the client only listens for messages of the server: then it has no request to cancel by leaving. */
export function isListening(call: Call): boolean {
  return call.request.method === "GET" || call.request.method === "HEAD";
}

/**
 * The client's body, unchanged. It is read before it is sent, so that the server is not called, nor blamed, when the client breaks
 * off, is too slow or sends too much. The runtime refuses to make a GET with a body, but passes the client's own on.
 */
async function bodyOf(call: Call, caller: Authenticated): Promise<UpstreamBody> {
  const { request } = call;
  if (request.body === null) return null;
  if (request.method === "GET" || request.method === "HEAD")
    return request.headers.has("content-length") ? request : null;
  return await readBody(call, caller, MCP_BODY_MAX_BYTES);
}

async function openAuthorization(call: Call, server: McpServerRecord): Promise<string | null> {
  if (server.auth_header === null) return null;
  try {
    return await call.ports.secrets.open(server.auth_header);
  } catch (error) {
    throw failed(call, server, "credential unreadable", error);
  }
}

function failed(call: Call, server: McpServerRecord, reason: string, cause?: unknown): GatewayError {
  raise(call, "mcp_upstream_request_failed", server, reason);
  return new GatewayError("mcp_upstream_failed", { cause });
}

function raise(
  call: Call,
  key: "mcp_upstream_request_failed" | "mcp_upstream_5xx_response",
  server: McpServerRecord,
  reason: string,
): void {
  call.ports.alerts.raise(issues.mcpServerFailed(key, server.name, reason));
}
