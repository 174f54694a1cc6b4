/** Who runs a tool that the gateway has added to a request. */
import type { OwnTool } from "../../call/boon/boon.ts";
import type { ToolServerSession } from "./tool-server-session.ts";

export type ToolOwner =
  | { readonly kind: "server"; readonly session: ToolServerSession }
  | { readonly kind: "own"; readonly tool: OwnTool };
