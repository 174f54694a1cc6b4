/**
 * The texts of a chat completion that should be JSON, choice by choice (docs/rules/boons.md#structured-output), and the same
 * completion with other texts.
 */
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import { withoutReasoning } from "./extract-json.ts";

/** The input for the check of one choice. */
export type ChoiceText =
  /** `text` should be the JSON value. */
  | { readonly kind: "text"; readonly text: string }
  /** A refusal, or calls of tools: there is nothing to check, and the client knows what to do with it. */
  | { readonly kind: "passes" }
  /** There is no text, and nothing in its place. */
  | { readonly kind: "empty" };

/** What each choice says, in order; null: the value is not a chat completion. */
export function choiceTextsOf(completion: unknown): readonly ChoiceText[] | null {
  const choices: unknown = jsonObjectOf(completion)?.["choices"];
  if (!Array.isArray(choices)) return null;
  return choices.map((choice) => textOf(messageOf(choice)));
}

function textOf(message: JsonObject | null): ChoiceText {
  const content = message?.["content"];
  const calls = message?.["tool_calls"];
  const refusal = message?.["refusal"];
  const called = (Array.isArray(calls) && calls.length > 0) || jsonObjectOf(message?.["function_call"]) !== null;
  if (called || (typeof refusal === "string" && refusal !== "")) return { kind: "passes" };
  return typeof content === "string" && withoutReasoning(content).trim() !== ""
    ? { kind: "text", text: content }
    : { kind: "empty" };
}

/** The completion with these texts in place of its choices' content; null leaves a choice unchanged. */
export function withContents(completion: JsonObject, texts: readonly (string | null)[]): JsonObject {
  const choices: unknown = completion["choices"];
  if (!Array.isArray(choices)) return completion;
  const changed = choices.map((choice: unknown, at) => {
    const content = texts[at] ?? null;
    return content === null ? choice : { ...jsonObjectOf(choice), message: { ...messageOf(choice), content } };
  });
  return { ...completion, choices: changed };
}

function messageOf(choice: unknown): JsonObject | null {
  return jsonObjectOf(jsonObjectOf(choice)?.["message"]);
}
