/**
 * What a chat request requires of its model (docs/rules/auto-router.md#candidates), read from the client's body. It never
 * fails: a member in an undocumented shape requires nothing here and is left to the upstream.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { isJsonObject, type JsonDocument, type JsonObject } from "../../wire/json/document.ts";
import type { TokenEstimate } from "../token-estimate.ts";

/** Work for a message, and for a part of one, in units. */
const PART_UNITS = 8;

/** The features and the room that a request needs. */
export interface RequestNeeds {
  readonly tools: boolean;
  /** The client demands the call of a tool, or of a certain one. */
  readonly toolChoice: boolean;
  /** The answer must be JSON, of any kind or by a schema. */
  readonly jsonAnswer: boolean;
  readonly vision: boolean;
  /** Estimated input and the limit that the client states for the output, in tokens. */
  readonly contextTokens: number;
}

/** A request as the auto router sees it. */
export interface RequestTraits {
  readonly needs: RequestNeeds;
  /** The texts of the user's messages, in order. Of a string that was cut, the kept part. */
  readonly userTexts: readonly string[];
  /** The whole estimate, in tokens. */
  readonly estimatedTokens: number;
}

/** The traits of a chat request, in time linear in its messages. */
export function* requestTraits(document: JsonDocument, estimate: TokenEstimate): Steps<RequestTraits> {
  const { root } = document;
  const userTexts: string[] = [];
  let vision = false;
  for (const message of arrayOf(root["messages"])) {
    yield PART_UNITS;
    const { role, content }: JsonObject = isJsonObject(message) ? message : {};
    for (const part of typeof content === "string" ? [{ text: content }] : arrayOf(content)) {
      yield PART_UNITS;
      const { type, text }: JsonObject = isJsonObject(part) ? part : {};
      vision ||= type === "image_url" || type === "input_image";
      if (role === "user" && typeof text === "string") userTexts.push(document.text(text));
    }
  }
  return {
    needs: {
      tools: isGiven(root["tools"]) || isGiven(root["functions"]),
      toolChoice: isDemand(root["tool_choice"]) || isDemand(root["function_call"]),
      jsonAnswer: isJsonFormat(root["response_format"]),
      vision,
      contextTokens: estimate.inputTokens + (estimate.statedOutputTokens ?? 0),
    },
    userTexts,
    estimatedTokens: estimate.totalTokens,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function isDemand(value: unknown): boolean {
  return typeof value === "string" ? value !== "none" && value !== "auto" : typeof value === "object" && value !== null;
}

function isJsonFormat(value: unknown): boolean {
  return isJsonObject(value) && (value["type"] === "json_schema" || value["type"] === "json_object");
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
