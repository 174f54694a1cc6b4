/**
 * The MCP servers' route: HTTP in, pipeline, HTTP out.
 */
import type { Deps } from "../deps.ts";
import { runMcp } from "../pipeline/run-mcp.ts";
import { pipelineInputOf } from "./openai.ts";

/** Any method on `/mcp/{server}` and below. */
export async function mcp(deps: Deps, request: Request, context: ExecutionContext): Promise<Response> {
  return await runMcp(pipelineInputOf(deps, request, context));
}
