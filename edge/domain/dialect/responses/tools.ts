/** The tools of a request of the Responses API as functions of a chat completion. */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { listAt, untranslatable } from "../lost-fields.ts";
import { given, ITEM_UNITS, objectOf, textOf } from "../values.ts";

/** The only argument of a function that stands for a tool whose input is a text. */
export const TEXT_ARGUMENT = "input";

const TEXT_PARAMETERS: JsonObject = {
  type: "object",
  properties: { [TEXT_ARGUMENT]: { type: "string" } },
  required: [TEXT_ARGUMENT],
  additionalProperties: false,
};

interface ChatTools {
  readonly tools: readonly JsonObject[];
  readonly textTools: ReadonlySet<string>;
}

export function* chatToolsOf(given: unknown): Steps<ChatTools> {
  const tools: JsonObject[] = [];
  const textTools = new Set<string>();
  for (const [index, one] of listAt("responses", "tools", given).entries()) {
    yield ITEM_UNITS;
    const tool = objectOf(one);
    const { type, name } = tool;
    // agents offer a search to every model, and a model without it answers as well as it can
    if (textOf(type).startsWith("web_search")) continue;
    if ((type !== "function" && type !== "custom") || textOf(name) === "")
      throw untranslatable("responses", `tools.${String(index)}`);
    if (type === "custom") textTools.add(textOf(name));
    tools.push({ type: "function", function: type === "custom" ? textFunction(tool) : plainFunction(tool) });
  }
  return { tools, textTools };
}

function plainFunction({ name, description, parameters, strict }: JsonObject): JsonObject {
  return given({ name, description, parameters, strict });
}

/** A chat completion has no grammar for a tool's input, so the model is told of it. */
function textFunction({ name, description, format }: JsonObject): JsonObject {
  const { type, syntax, definition } = objectOf(format);
  const told = type === "grammar" ? `The input follows this ${textOf(syntax)} grammar:\n${textOf(definition)}` : "";
  const text = [textOf(description), told].filter((part) => part !== "").join("\n\n");
  return given({ name, description: text === "" ? null : text, parameters: TEXT_PARAMETERS });
}
