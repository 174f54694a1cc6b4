/**
 * The tool servers of a model and their tools (docs/rules/tool-loop.md#discovery). All servers are queried at the same time.
 * One that fails is left out and reported; the others count.
 */
import { issues } from "../../../../shared/alerts.ts";
import type { McpServerRecord } from "../../../../shared/records.ts";
import type { OfferedTool } from "../../../domain/tools/tool-list.ts";
import { ClientGone } from "../../call/client-gone.ts";
import type { Call } from "../../call/context.ts";
import { withDeadline } from "./deadline.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";
import { DISCOVERY_WITHIN_MS, ToolServerSession } from "./tool-server-session.ts";

/** Most servers of one model that are queried. */
const SERVERS_MAX = 32;

/** A server with its tools. */
interface DiscoveredServer {
  readonly owner: ToolServerSession;
  readonly tools: readonly OfferedTool[];
}

/** The enabled servers of these names that have tools, in this order. Throws ClientGone, 503. */
export async function discoverTools(call: Call, names: readonly string[]): Promise<readonly DiscoveredServer[]> {
  const servers = await currentServers(call, [...new Set(names)].slice(0, SERVERS_MAX));
  const discovered = await Promise.all(
    servers.map(async (server) => {
      const owner = new ToolServerSession(call, server);
      return { owner, tools: await toolsOf(call, owner) };
    }),
  );
  return discovered.filter(({ tools }) => tools.length > 0);
}

/**
 * The registered and enabled servers as the Cell knows them now (docs/rules/freshness.md#revisions): a copy that is
 * outdated is read again, and one that stays outdated is not used.
 */
async function currentServers(call: Call, names: readonly string[]): Promise<readonly McpServerRecord[]> {
  const { directory, admission } = call.ports;
  const read = async (name: string): Promise<McpServerRecord | null> =>
    (await directory.mcpServer(name))?.record ?? null;
  const first = await Promise.all(names.map(read));
  const items = first.flatMap((server) =>
    server === null ? [] : [{ kind: "mcp" as const, id: server.name, rev: server.rev }],
  );
  const stale = items.length === 0 ? [] : await admission.view.staleAmong(items);
  const newest = new Map(stale.map(({ id, rev }) => [id, rev]));
  if (stale.length > 0) directory.forget(stale);
  const current = await Promise.all(
    first.map(async (server) => {
      const rev = server === null ? undefined : newest.get(server.name);
      if (server === null || rev === undefined) return server;
      const again = await read(server.name);
      return again === null || again.rev < rev ? null : again;
    }),
  );
  return current.flatMap((server) => (server?.enabled === true ? [server] : []));
}

async function toolsOf(call: Call, owner: ToolServerSession): Promise<readonly OfferedTool[]> {
  const { toolLists } = call.memory;
  const { server } = owner;
  const known = toolLists.get(server, call.ports.clock());
  if (known !== undefined) return known ?? [];
  try {
    const tools = await withDeadline(call, DISCOVERY_WITHIN_MS, async (deadline) => await owner.listTools(deadline));
    toolLists.set(server, tools, call.ports.clock());
    return tools;
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    toolLists.set(server, null, call.ports.clock());
    const reason = error instanceof ToolServerFailure ? error.reason : "failed";
    call.ports.alerts.raise(issues.mcpServerFailed("mcp_tool_discovery_failed", server.name, reason));
    return [];
  } finally {
    // Whether the request calls a tool is not known yet, and nothing may stay open if it does not.
    owner.close();
  }
}
