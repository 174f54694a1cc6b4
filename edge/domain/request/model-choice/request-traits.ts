/**
 * What a chat request asks of the model that is to answer it (docs/rules/auto-router.md#candidates), read from the
 * client's body. It never fails: what has another shape than the API documents asks for nothing here, and the upstream
 * judges it.
 */
import { isJsonObject, type JsonDocument } from "../../wire/json/document.ts";
import type { TokenEstimate } from "../token-estimate.ts";

/** The features and the room that a request needs. */
export interface RequestNeeds {
  readonly tools: boolean;
  /** The client demands the call of a tool, or of a certain one. */
  readonly toolChoice: boolean;
  /** The answer has to be JSON, of any kind or by a schema. */
  readonly jsonAnswer: boolean;
  readonly vision: boolean;
  /** Estimated input and the limit that the client states for the output, in tokens. */
  readonly contextTokens: number;
}

/** A request as the auto router sees it. */
export interface RequestTraits {
  readonly needs: RequestNeeds;
  /** The texts of the user's messages, in order. Of a string that was cut, what was kept of it. */
  readonly userTexts: readonly string[];
  /** The whole estimate, in tokens. */
  readonly estimatedTokens: number;
}

/** The traits of a chat request, in time linear in its messages. */
export function requestTraits(document: JsonDocument, estimate: TokenEstimate): RequestTraits {
  const { root } = document;
  const messages = arrayOf(root["messages"]).filter(isJsonObject);
  const parts = messages.flatMap((message) => arrayOf(message["content"]).filter(isJsonObject));
  return {
    needs: {
      tools: isGiven(root["tools"]) || isGiven(root["functions"]),
      toolChoice: isDemand(root["tool_choice"]) || isDemand(root["function_call"]),
      jsonAnswer: isJsonFormat(root["response_format"]),
      vision: parts.some(({ type }) => type === "image_url" || type === "input_image"),
      contextTokens: estimate.inputTokens + (estimate.statedOutputTokens ?? 0),
    },
    userTexts: messages
      .filter(({ role }) => role === "user")
      .flatMap(({ content }) => textsOf(content))
      .map((text) => document.text(text)),
    estimatedTokens: estimate.totalTokens,
  };
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === "string") return [content];
  return arrayOf(content).flatMap((part) => {
    const text = isJsonObject(part) ? part["text"] : undefined;
    return typeof text === "string" ? [text] : [];
  });
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
