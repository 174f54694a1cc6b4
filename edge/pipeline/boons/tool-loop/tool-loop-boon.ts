/**
 * The tool loop (docs/rules/tool-loop.md): tools of tool servers, and tools of the gateway itself, are added to a chat
 * completion; the gateway runs the model's calls of them and asks the model again. This file decides whether it applies
 * and changes the request.
 */

import { withSystemText } from "../../../domain/request/system-text.ts";
import { mergeTools } from "../../../domain/tools/merge-tools.ts";
import type { JsonObject } from "../../../domain/wire/json/document.ts";
import type { Boon, BoonEffect, BoonWork, OwnTool } from "../../call/boon/boon.ts";
import { hasToolLoop } from "../../call/boon/boon-settings.ts";
import { loopableRequest } from "../../call/boon/loopable-request.ts";
import type { DraftMember, RequestDraft } from "../../call/boon/request-draft.ts";
import { discoverTools } from "./discover-tools.ts";
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
  const { model, boons } = request;
  const withServers = hasToolLoop(model, boons);
  const loopable = withServers || ownTools.length > 0 ? await loopableRequest(work) : null;
  if (loopable === null) return null;
  const { messages, tools, others } = loopable;
  const servers = withServers ? await discoverTools(call, model.tool_servers) : [];
  const merged = mergeTools<ToolOwner>(tools, [
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
  for (const name of REPEATED) await draft.get(name);
  const members = (): JsonObject => ({ ...others, ...draftMembers(draft) });
  return {
    applied: true,
    warnings: [],
    answer: async (answer, report) =>
      await loopedAnswer(new ToolLoop({ call, request, settings, members, merged }), answer, report),
  };
}

function draftMembers(draft: RequestDraft): JsonObject {
  return Object.fromEntries(
    REPEATED.flatMap((name) => (draft.known(name) === undefined ? [] : [[name, draft.known(name)]])),
  );
}

function offerOf({ definition }: OwnTool) {
  return { name: definition.function.name, definition, characters: JSON.stringify(definition).length };
}
