/**
 * The tools of a request with those that the gateway adds (docs/rules/tool-loop.md#merge): the client's come first and keep
 * their names, then each owner's in order. The owner of a tool runs it.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { HASHED_MAX } from "../wire/text/hashed-key.ts";
import type { OfferedTool } from "./tool-list.ts";

/** Most tools of a request, with the client's: upstreams refuse more. */
export const TOOLS_MAX = LIMITS.toolsOfRequest;
/** Most characters of definitions that the gateway adds. */
const ADDED_MAX_CHARACTERS = 256 * 1024;

/** Tools that one owner offers. */
interface ToolOffer<O> {
  readonly owner: O;
  readonly tools: readonly OfferedTool[];
}

/** The tools of a request, and the owners of those that the gateway has added. */
export interface MergedTools<O> {
  /** The member `tools` with all of them. */
  readonly all: readonly unknown[];
  /** The member `tools` as the client has sent it. */
  readonly ofClient: readonly unknown[];
  /** Whose each added tool is, by its name; never a name of the client's. */
  readonly owners: ReadonlyMap<string, O>;
}

/** The merged tools; null: nothing can be added. */
export function mergeTools<O>(ofClient: readonly unknown[], offers: readonly ToolOffer<O>[]): MergedTools<O> | null {
  const taken = new Set(ofClient.map(clientToolName).filter((name) => name !== undefined && name.length <= HASHED_MAX));
  const owners = new Map<string, O>();
  const added: JsonObject[] = [];
  let characters = 0;
  for (const { owner, tools } of offers) {
    for (const tool of tools) {
      if (ofClient.length + added.length >= TOOLS_MAX) break;
      if (taken.has(tool.name) || characters + tool.characters > ADDED_MAX_CHARACTERS) continue;
      taken.add(tool.name);
      owners.set(tool.name, owner);
      added.push(tool.definition);
      characters += tool.characters;
    }
  }
  return added.length === 0 ? null : { all: [...ofClient, ...added], ofClient, owners };
}

/** The name by which a model calls a tool of the client; undefined if it has none. */
function clientToolName(tool: unknown): string | undefined {
  if (!isJsonObject(tool)) return undefined;
  for (const holder of [tool["function"], tool["custom"], tool])
    if (isJsonObject(holder) && typeof holder["name"] === "string") return holder["name"];
  return undefined;
}
