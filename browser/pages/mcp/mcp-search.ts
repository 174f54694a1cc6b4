/** Search parameters of the page `mcp`. */
import { LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";

export const mcpSearch = searchParams({
  ...LIST_PARAMS,
  /** Of what was changed. */
  changes_columns: LIST_PARAMS.columns,
  q: textParam(200),
  /** The server that is open beside the list. */
  server_id: textParam(40),
});
