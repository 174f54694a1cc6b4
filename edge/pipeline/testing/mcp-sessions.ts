/** Whose the sessions of one MCP server are, in a test's hands. */
import type { McpSessions } from "../../ports.ts";

export class TestMcpSessions implements McpSessions {
  /** Tenants by the sessions that are known. */
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
