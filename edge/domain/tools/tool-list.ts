/**
 * The tools that a tool server lists, as a chat completion takes them (docs/rules/tool-loop.md#discovery). A server is not
 * trusted: tools whose names a model could not call, and tools that are too large, are left out.
 */
import type { Steps } from "../../../shared/steps.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";

/** A tool that a model can be offered. */
export interface OfferedTool {
  readonly name: string;
  /** The member of `tools` of a chat completion. */
  readonly definition: JsonObject;
  /** Characters of the definition as JSON. */
  readonly characters: number;
}

/** One page of a list. */
interface ToolPage {
  readonly tools: readonly OfferedTool[];
  /** The cursor of the next page; null: this is the last one. */
  readonly nextCursor: string | null;
}

/** Names that models can call; it has no control characters, and nothing that a client could take for markup. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DESCRIPTION_MAX_CHARACTERS = 4096;
/** Largest definition of one tool, in characters of JSON. */
const DEFINITION_MAX_CHARACTERS = 32 * 1024;
/** A longer tool is dropped, whatever it contains beside its definition. */
const TOOL_MAX_CHARACTERS = 256 * 1024;
/** Work for a value that is measured, in units. */
const VALUE_UNITS = 2;
const CURSOR_MAX_CHARACTERS = 4096;

/** The page that is the result of `tools/list`; null: it has no list. */
export function* toolPageOf({ tools, nextCursor }: JsonObject): Steps<ToolPage | null> {
  if (!Array.isArray(tools)) return null;
  const offered: OfferedTool[] = [];
  for (const tool of tools as readonly unknown[]) {
    const one = isJsonObject(tool) && (yield* isShort(tool)) ? offeredTool(tool) : null;
    if (one !== null) offered.push(one);
  }
  return {
    tools: offered,
    nextCursor:
      typeof nextCursor === "string" && nextCursor !== "" && nextCursor.length <= CURSOR_MAX_CHARACTERS
        ? nextCursor
        : null,
  };
}

/** A tool by its name, description and JSON Schema of its arguments; null: a model cannot be offered it. */
export function offeredToolOf(name: string, description: string, schema: JsonObject): OfferedTool | null {
  if (!TOOL_NAME.test(name)) return null;
  const text = description.slice(0, DESCRIPTION_MAX_CHARACTERS).toWellFormed();
  const definition = {
    type: "function",
    function: { name, ...(text === "" ? {} : { description: text }), parameters: parametersOf(schema) },
  };
  const characters = charactersOf(definition);
  return characters > DEFINITION_MAX_CHARACTERS ? null : { name, definition, characters };
}

/** Whether a tool's texts, names and the punctuation between them stay within its limit. */
function* isShort(tool: JsonObject): Steps<boolean> {
  const left: unknown[] = [tool];
  let characters = 0;
  while (left.length > 0 && characters <= TOOL_MAX_CHARACTERS) {
    const value = left.pop();
    if (typeof value === "string") characters += value.length;
    if (typeof value !== "object" || value === null) continue;
    const within: readonly unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
    characters += 2 + 2 * within.length;
    if (characters <= TOOL_MAX_CHARACTERS) for (const one of within) left.push(one);
    yield VALUE_UNITS * (1 + within.length);
  }
  return characters <= TOOL_MAX_CHARACTERS;
}

function offeredTool(tool: JsonObject): OfferedTool | null {
  const { name, description, inputSchema } = tool;
  if (typeof name !== "string") return null;
  return offeredToolOf(
    name,
    typeof description === "string" ? description : "",
    isJsonObject(inputSchema) ? inputSchema : {},
  );
}

/** Upstreams refuse a schema that is not of an object with properties. */
function parametersOf(schema: JsonObject): JsonObject {
  const { properties } = schema;
  return { ...schema, type: "object", properties: isJsonObject(properties) ? properties : {} };
}

/** Infinity if it cannot be written, for example because it is too deep. */
function charactersOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
