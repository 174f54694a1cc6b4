/**
 * The tool loop (docs/rules/tool-loop.md): tools of tool servers, and tools of the gateway itself, are added to a chat
 * completion; the gateway runs the model's calls of them and asks the model again. This file decides whether it applies
 * and changes the request.
 */
import { isJsonObject, type JsonDocument, type JsonObject } from "../../domain/json/document.ts";
import { withSystemText } from "../../domain/request/system-text.ts";
import { mergeTools } from "../../domain/tool-loop/merge-tools.ts";
import type { Boon, BoonEffect, BoonWork, OwnTool } from "../boons/boon.ts";
import { hasToolLoop } from "../boons/boon-settings.ts";
import { type DraftMember, isDraftMember, type RequestDraft } from "../boons/request-draft.ts";
import { discoverTools } from "../tool-servers/discover-tools.ts";
import { loopedAnswer } from "./looped-answer.ts";
import { ToolLoop } from "./tool-loop.ts";
import type { ToolOwner } from "./tool-owner.ts";

/** Members of a draft that later turns repeat. */
const REPEATED: readonly DraftMember[] = [
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "stream",
  "stream_options",
];

export const toolLoopBoon: Boon = {
  name: "tool_loop",
  apply: async (work) => await apply(work),
};

async function apply(work: BoonWork): Promise<BoonEffect | null> {
  const { call, request, settings, draft, ownTools } = work;
  const { model, boons, parsed } = request;
  const withServers = hasToolLoop(model, boons);
  if (!model.supports.function_calling || (!withServers && ownTools.length === 0) || draft.isLarge) return null;
  const messages = draft.get("messages");
  const tools = draft.get("tools") ?? [];
  const others = otherMembers(parsed.document);
  if (others === null || !Array.isArray(messages) || !Array.isArray(tools) || !canLoop(draft, parsed.document))
    return null;
  const servers = withServers ? await discoverTools(call, model.tool_servers) : [];
  const merged = mergeTools<ToolOwner>(tools as readonly unknown[], [
    ...ownTools.map((tool) => ({ owner: { kind: "own", tool } as const, tools: [offerOf(tool)] })),
    ...servers.map(({ owner: session, tools: offered }) => ({
      owner: { kind: "server", session } as const,
      tools: offered,
    })),
  ]);
  if (merged === null) return null;
  draft.set("tools", merged.all);
  const nudged = tools.length === 0 && servers.length > 0;
  if (nudged)
    draft.set(
      "messages",
      withSystemText(messages, settings.tool_loop_nudge, model.supports.system_messages) ?? messages,
    );
  // Read while the client's bytes are here: they are freed when the request has been sent.
  for (const name of REPEATED) draft.get(name);
  const members = (): JsonObject => ({ ...others, ...draftMembers(draft) });
  return {
    applied: true,
    warnings: [],
    answer: async (answer, report) =>
      await loopedAnswer(new ToolLoop({ call, request, settings, members, merged }), answer, report),
  };
}

/** Whether answers of this request can be continued: it wants one answer, and leaves the model its choice of tools. */
function canLoop(draft: RequestDraft, { root }: JsonDocument): boolean {
  const single = root["n"] === undefined || root["n"] === null || root["n"] === 1;
  const legacy = draft.get("functions") !== undefined || draft.get("function_call") !== undefined;
  return single && !legacy && draft.get("tool_choice") !== "none";
}

/** The members that no boon changes; null: the text of one is so long that the parsed document does not hold it. */
function otherMembers(document: JsonDocument): JsonObject | null {
  const others = Object.entries(document.root).filter(([name]) => name !== "model" && !isDraftMember(name));
  return others.every(([, value]) => isWhole(document, value)) ? Object.fromEntries(others) : null;
}

function isWhole(document: JsonDocument, value: unknown): boolean {
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined || waiting.length > 0; next = waiting.pop()) {
    if (typeof next === "string" && document.text(next) !== next) return false;
    if (Array.isArray(next)) for (const one of next as readonly unknown[]) waiting.push(one);
    else if (isJsonObject(next)) for (const one of Object.values(next)) waiting.push(one);
  }
  return true;
}

function draftMembers(draft: RequestDraft): JsonObject {
  return Object.fromEntries(
    REPEATED.flatMap((name) => (draft.get(name) === undefined ? [] : [[name, draft.get(name)]])),
  );
}

function offerOf({ definition }: OwnTool) {
  return { name: definition.function.name, definition, characters: JSON.stringify(definition).length };
}
