/**
 * The MCP servers' route: HTTP in, pipeline, HTTP out.
 */
import type { Deps } from "../deps.ts";
import { mcpTarget } from "../domain/mcp/mcp.ts";
import { runOther } from "../pipeline/run.ts";
import { runMcp } from "../pipeline/run-mcp.ts";
import { pipelineInputOf } from "./openai.ts";

/** Any method on `/mcp/{server}` and below; a path that names no server is like any other. */
export async function mcp(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  const input = pipelineInputOf(deps, request, context);
  const target = mcpTarget(input.place.path);
  return target === null ? await runOther(input) : await runMcp(input, target);
}
