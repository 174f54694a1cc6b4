/**
 * What a spec file about MCP servers needs: a test server in the place of an MCP server, and tenants that each have a
 * server of their own.
 */
import { expect } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Fixture } from "./fixture.ts";
import type { Minted } from "./gateway.ts";
import { type SeenMcpCall, startMcpUpstream } from "./mcp-upstream.ts";
import { useStarted } from "./use-started.ts";
import { waitFor } from "./wait-for.ts";

export interface McpMinted extends Minted {
  readonly server: McpServer;
}

interface McpCall {
  readonly method?: string;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Registers the hooks; the parts are there once tests run. */
export function useMcp(fixture: Fixture) {
  const upstream = useStarted(startMcpUpstream);
  return {
    get upstream() {
      return upstream();
    },
    /** A tenant with a server of its own, whose base path answers as `behaviour` says. */
    mint: async (behaviour = "", more: Readonly<Record<string, unknown>> = {}): Promise<McpMinted> => {
      const minted = await fixture.gateway.mint(fixture.upstream.url);
      const server = await fixture.gateway.must<McpServer>("POST", "/mcp-servers", {
        name: minted.mark,
        upstream_url: `${upstream().url}${behaviour === "" ? "" : `/${behaviour}`}`,
        ...more,
      });
      return { ...minted, server };
    },
    /** A call of a minted tenant to its server; redirects are not followed. */
    call: async (minted: McpMinted, rest = "", { method = "POST", body, headers, signal }: McpCall = {}) => {
      const init = {
        method,
        body: method === "GET" || method === "DELETE" ? null : (body ?? '{"jsonrpc":"2.0"}'),
        headers: { authorization: `Bearer ${minted.secret}`, ...headers },
        redirect: "manual",
        signal: signal ?? null,
        duplex: "half",
      };
      return await fetch(`${fixture.gateway.proxyUrl}/mcp/${minted.server.name}${rest}`, init as RequestInit);
    },
    seenOnce: async (text: string): Promise<SeenMcpCall> => {
      const [seen, ...more] = await waitFor(
        () => upstream().seen(text),
        (calls) => calls.length > 0,
      );
      expect(more).toEqual([]);
      return seen as SeenMcpCall;
    },
  };
}
