/**
 * The call to the MCP server, up to the headers of its answer. It ends with its own deadline, not with its client, whose
 * leaving is no cancel (design §3 law 6); only a client that was merely listening (GET) takes the call along.
 */
import { issues } from "../../../shared/alerts.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { McpServerRecord } from "../../../shared/records.ts";
import { isUrlAllowed } from "../../../shared/ssrf.ts";
import { type McpTarget, mcpRequestHeaders, mcpUrl } from "../../domain/mcp/mcp.ts";
import type { UpstreamBody } from "../../ports.ts";
import { readBody } from "../body/read-body.ts";
import { type Call, ClientGone } from "../call/context.ts";
import { MCP_BODY_MAX_BYTES } from "./mcp-access.ts";

/** A server that has sent no headers by then is not waited for (decisions §29). */
const HEADERS_WITHIN_MS = 30_000;

/** An answer whose body is still to come; `stop` ends it. */
export interface McpAnswer {
  readonly response: Response;
  readonly stop: AbortController;
}

/** Calls the server. Throws 413, 502, or ClientGone. */
export async function callMcpServer(call: Call, server: McpServerRecord, target: McpTarget): Promise<McpAnswer> {
  if (!isUrlAllowed(server.upstream_url, call.config.ssrf)) throw failed(call, server, "address blocked");
  const authorization = await openAuthorization(call, server);
  const body = await bodyOf(call);
  const client = call.request.signal;
  const listening = isListening(call);
  const stop = new AbortController();
  const leave = (): void => stop.abort(new ClientGone());
  if (listening && client.aborted) throw new ClientGone();
  if (listening) client.addEventListener("abort", leave, { once: true });
  const deadline = { passed: false };
  const timer = setTimeout(() => {
    deadline.passed = true;
    stop.abort(new DOMException("no headers in time", "TimeoutError"));
  }, HEADERS_WITHIN_MS);
  call.facts.upstreamCalledMs = call.ports.clock();
  try {
    const response = await call.ports.upstream.fetch({
      url: mcpUrl(server.upstream_url, target.rest, call.search),
      method: call.request.method,
      headers: mcpRequestHeaders(call.request.headers, authorization),
      body,
      signal: stop.signal,
      trusted: false,
    });
    call.facts.upstreamStatus = response.status;
    if (response.status >= 500) raise(call, "mcp_upstream_5xx_response", server, `answered ${response.status}`);
    return { response, stop };
  } catch (error) {
    if (listening && client.aborted) throw new ClientGone();
    throw failed(call, server, deadline.passed ? "timed out before headers" : "connection failed", error);
  } finally {
    clearTimeout(timer);
    client.removeEventListener("abort", leave);
  }
}

/** The client asked for nothing but to be told: there is no request of its own that its leaving could cancel. */
export function isListening(call: Call): boolean {
  return call.request.method === "GET" || call.request.method === "HEAD";
}

/**
 * The client's body, unchanged. One of undeclared length is read before it is sent, so that it is known to be within the
 * cap. The runtime refuses to make a GET with a body, but passes the client's own on.
 */
async function bodyOf(call: Call): Promise<UpstreamBody> {
  const { request } = call;
  if (request.body === null) return null;
  const declared = request.headers.has("content-length");
  if (request.method === "GET" || request.method === "HEAD") return declared ? request : null;
  return declared ? request.body : await readBody(call, MCP_BODY_MAX_BYTES);
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
