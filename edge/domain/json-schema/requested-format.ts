/**
 * The JSON that a client asks for with `response_format`, and the instructions for the model
 * (docs/rules/boons.md#structured-output).
 */
import type { Steps } from "../../../shared/steps.ts";
import { jsonObjectOf } from "../wire/json/document.ts";
import { jsonInSteps } from "../wire/json/write-in-steps.ts";
import { withoutReasoning } from "./extract-json.ts";

/** JSON that a client has asked for. */
export interface RequestedFormat {
  /** The JSON Schema of the value; null: any JSON value will do. */
  readonly schema: unknown;
  /** The schema as models get it. */
  readonly json: string;
}

/** The format that `response_format` asks for; null: none, or plain text, or something that is not known. */
export function* requestedFormatOf(responseFormat: unknown): Steps<RequestedFormat | null> {
  const format = jsonObjectOf(responseFormat);
  if (format?.["type"] === "json_object") return { schema: null, json: "null" };
  if (format?.["type"] !== "json_schema") return null;
  const schema = jsonObjectOf(jsonObjectOf(format["json_schema"])?.["schema"]);
  return { schema, json: yield* jsonInSteps(schema) };
}

/** The instructions for the model before it answers. */
export function instructionFor({ schema, json }: RequestedFormat): string {
  const asked = "Answer with exactly one JSON value and nothing else.";
  return schema === null ? asked : `${asked} It must conform to this JSON Schema: ${json}`;
}

/** The request to a model to repair `text`: one user message, which every model understands. */
export function repairPrompt(text: string, problems: readonly string[], { schema, json }: RequestedFormat): string {
  const wanted =
    schema === null
      ? "The text below should be exactly one JSON value."
      : `The text below should be exactly one JSON value that conforms to this JSON Schema: ${json}`;
  return [
    wanted,
    `It has these problems:\n${problems.map((problem) => `- ${problem}`).join("\n")}`,
    "Answer with the corrected JSON value and nothing else. Change only what is needed, and do not invent content.",
    `Text:\n${withoutReasoning(text)}`,
  ].join("\n\n");
}
