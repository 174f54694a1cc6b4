/** Tests of MCP servers: what came of the last one of each stays for the list as long as the window is open. */
import { queryOptions } from "@tanstack/react-query";
import { answerValue, api, type Records } from "../../data/api.ts";
import type { ApiError } from "../../data/api-error.ts";

/** The last test of a server. It runs only when somebody asks for it (`refetch`). */
export function trialOf(id: string) {
  return queryOptions<Records["McpServerTest"], ApiError>({
    queryKey: ["mcp server test", id],
    queryFn: async ({ signal }) =>
      answerValue(await api.POST("/api/v1/mcp-servers/{id}/test", { params: { path: { id } }, signal })),
    enabled: false,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
}
