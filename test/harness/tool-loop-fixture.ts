/**
 * What a test of the tool loop on the running stack needs: a model that calls tools, and tenants whose model has tool
 * servers. The setting stays on: it does nothing for models without tool servers, and several files use it at a time.
 */
import { afterAll, beforeAll } from "vitest";
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Fixture } from "./fixture.ts";
import type { Minted } from "./gateway.ts";
import { startToolModel, type ToolModel } from "./tool-model.ts";

/** The time that a tool has in these tests. */
const TOOL_TIMEOUT_MS = 10_000;

interface RegisteredServer {
  readonly url: string;
  readonly auth_header?: string;
}

interface ToolLoopFixture {
  readonly model: ToolModel;
  /** A tenant whose model behaves as given and has the tools of these servers, in this order. */
  mint(servers: readonly RegisteredServer[], behaviour?: string): Promise<Minted>;
}

/** Registers the hooks; the parts are there once tests run. */
export function useToolLoop(fixture: Fixture): ToolLoopFixture {
  let started: ToolModel | undefined;
  const model = (): ToolModel => {
    if (started === undefined) throw new Error("the model starts with the tests");
    return started;
  };
  beforeAll(async () => {
    started = await startToolModel();
    await fixture.gateway.must("PUT", "/settings/boons", {
      tool_loop_enabled: true,
      tool_loop_max_turns: 8,
      tool_loop_tool_timeout_ms: TOOL_TIMEOUT_MS,
    });
  });
  afterAll(async () => {
    await started?.close();
  });
  return {
    get model() {
      return model();
    },
    mint: async (servers, behaviour = "turns=1") => {
      const { gateway } = fixture;
      const names: string[] = [];
      for (const { url, ...more } of servers) {
        const name = `tools-${crypto.randomUUID()}`;
        await gateway.must<McpServer>("POST", "/mcp-servers", { name, upstream_url: url, ...more });
        names.push(name);
      }
      const fields = { supports_function_calling: true, tool_servers: names };
      return await gateway.mint(model().url, behaviour, fields);
    },
  };
}
