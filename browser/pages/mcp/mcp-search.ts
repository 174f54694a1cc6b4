/** Search parameters of the page `mcp`. */
import { choiceParam, searchParams, textParam } from "../../data/search-params.ts";

/** The columns that the list can be put in order of. */
export const MCP_ORDERS = ["name", "created"] as const;

export const mcpSearch = searchParams({
  q: textParam(200),
  order: choiceParam(MCP_ORDERS),
  descending: choiceParam(["true", "false"]),
  /** The server that is open beside the list. */
  server_id: textParam(40),
});
