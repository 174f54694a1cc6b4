/**
 * What a test of the tool loop on the running stack needs: a model that calls tools, and tenants whose model has tool
 * servers. The loop's settings are those of the shared stack (global-setup.ts).
 */
import type { McpServer } from "../../shared/schema/mcp-server.ts";
import type { Fixture } from "./fixture.ts";
import type { Minted } from "./gateway.ts";
import { startToolModel } from "./tool-model.ts";
import { useStarted } from "./use-started.ts";

interface RegisteredServer {
  readonly url: string;
  readonly auth_header?: string;
}

/** Registers the hooks; the parts are there once tests run. */
export function useToolLoop(fixture: Fixture) {
  const model = useStarted(startToolModel);
  return {
    get model() {
      return model();
    },
    /** A tenant whose model behaves as given and has the tools of these servers, in this order. */
    mint: async (servers: readonly RegisteredServer[], behaviour = "turns=1"): Promise<Minted> => {
      const { gateway } = fixture;
      const names: string[] = [];
      for (const { url, auth_header } of servers) {
        const name = `tools-${crypto.randomUUID()}`;
        await gateway.must<McpServer>("POST", "/mcp-servers", { name, upstream_url: url, auth_header });
        names.push(name);
      }
      const fields = { supports_function_calling: true, tool_servers: names };
      return await gateway.mint(model().url, behaviour, fields);
    },
  };
}
