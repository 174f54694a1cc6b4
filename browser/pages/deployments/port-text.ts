/** On which port a replica serves, as far as it is known. Pure. */
import type { Records } from "../../data/api.ts";
import { formatText } from "../../ui/format.ts";

/** The port of its endpoint's address; before it has one `8000 …`, the first port of its window. */
export function portText({ endpoint, port_base }: Pick<Records["ModelReplica"], "endpoint" | "port_base">): string {
  const port = endpoint === null ? null : URL.parse(endpoint.api_base)?.port;
  if (port !== null && port !== undefined && port !== "") return port;
  return port_base === null ? formatText(null) : `${port_base} …`;
}
