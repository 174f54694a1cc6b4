/** Who runs a tool that the gateway has added to a request. */
import type { OwnTool } from "../boons/boon.ts";
import type { ToolServerSession } from "../tool-servers/tool-server-session.ts";

export type ToolOwner =
  | { readonly kind: "server"; readonly session: ToolServerSession }
  | { readonly kind: "own"; readonly tool: OwnTool };
