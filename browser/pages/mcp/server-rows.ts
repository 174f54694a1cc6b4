/** The list of MCP servers as it is shown, and who uses one. Pure. */
import type { Records } from "../../data/api.ts";

/** The servers whose name or address has the text, in any case; undefined: all. */
export function matchingServers<S extends Pick<Records["McpServer"], "name" | "upstream_url">>(
  servers: readonly S[],
  q: string | undefined,
): readonly S[] {
  const wanted = (q ?? "").toLowerCase();
  return servers.filter(({ name, upstream_url }) => `${name}\n${upstream_url}`.toLowerCase().includes(wanted));
}

/** The names of the models that run the tools of a server, by name. */
export function modelsOf(
  models: readonly Pick<Records["Model"], "model_name" | "tool_servers">[],
  server: string,
): readonly string[] {
  return models
    .filter(({ tool_servers }) => tool_servers.includes(server))
    .map(({ model_name }) => model_name)
    .sort();
}
