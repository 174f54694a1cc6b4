/** The list of MCP servers as it is shown: filtered and in order. Pure. */
import type { Records } from "../../data/api.ts";

type Server = Pick<Records["McpServer"], "name" | "upstream_url" | "created_at">;

/** What of the address belongs to the list. */
interface ListSearch {
  readonly q?: string | undefined;
  readonly order?: "name" | "created" | undefined;
  readonly descending?: "true" | "false" | undefined;
}

/** The servers whose name or address has the text, in any case; by name unless the address says otherwise. */
export function serverRows<S extends Server>(servers: readonly S[], search: ListSearch): readonly S[] {
  const wanted = (search.q ?? "").toLowerCase();
  const sign = search.descending === "true" ? -1 : 1;
  const keyOf = ({ name, created_at }: S): string => (search.order === "created" ? created_at : name);
  return servers
    .filter(({ name, upstream_url }) => `${name}\n${upstream_url}`.toLowerCase().includes(wanted))
    .sort((a, b) => sign * (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
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
