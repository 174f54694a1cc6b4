/** The sessions of one MCP server and their tenants, for tests. */
import type { McpSessions } from "../../../../edge/ports.ts";

export class TestMcpSessions implements McpSessions {
  /** Tenants of the known sessions. */
  readonly known = new Map<string, string>();
  /** Sessions whose use was reported. */
  readonly renewed: string[] = [];

  async owners(_server: string, ids: readonly string[]): Promise<readonly string[]> {
    return ids.flatMap((id) => this.known.get(id) ?? []);
  }

  async remember(_server: string, ids: readonly string[], tenantId: string): Promise<void> {
    for (const id of ids) this.known.set(id, tenantId);
  }

  async renew(_server: string, ids: readonly string[]): Promise<void> {
    this.renewed.push(...ids);
  }

  async forget(_server: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) this.known.delete(id);
  }
}
