/** The tools of a request of the Responses API as functions of a chat completion. */
import type { Steps } from "../../../../shared/steps.ts";
import type { JsonObject } from "../../wire/json/document.ts";
import { listAt, untranslatable } from "../lost-fields.ts";
import { given, ITEM_UNITS, objectOf, textOf } from "../values.ts";

/** The longest name of a function, including its namespace, which is written once for each of its tools. */
const NAME_MAX_CHARACTERS = 128;
/** The only argument of a function that replaces a tool with a text input. */
export const TEXT_ARGUMENT = "input";

const TEXT_PARAMETERS: JsonObject = {
  type: "object",
  properties: { [TEXT_ARGUMENT]: { type: "string" } },
  required: [TEXT_ARGUMENT],
  additionalProperties: false,
};

/** A tool as its client knows it, if the function that replaces it differs. */
export interface ClientTool {
  readonly name: string;
  readonly namespace: string | null;
  /** Its input is a text. */
  readonly takesText: boolean;
}

interface ChatTools {
  readonly tools: readonly JsonObject[];
  /** By the names of functions. */
  readonly clientTools: ReadonlyMap<string, ClientTool>;
}

/** The name of the function that replaces a tool. */
export function chatNameOf(name: unknown, namespace: unknown): string {
  return textOf(namespace) === "" ? textOf(name) : `${textOf(namespace)}__${textOf(name)}`;
}

export function* chatToolsOf(given: unknown): Steps<ChatTools> {
  const tools: JsonObject[] = [];
  const clientTools = new Map<string, ClientTool>();
  const add = (tool: JsonObject, at: string, namespace: string | null): void => {
    const { type, name } = tool;
    const takesText = type === "custom";
    if ((type !== "function" && !takesText) || textOf(name) === "") throw untranslatable("responses", at);
    const chatName = chatNameOf(name, namespace);
    if (chatName.length > NAME_MAX_CHARACTERS)
      throw untranslatable(
        "responses",
        `${at}.name`,
        `use at most ${NAME_MAX_CHARACTERS} characters with the namespace`,
      );
    if (takesText || namespace !== null) clientTools.set(chatName, { name: textOf(name), namespace, takesText });
    const called = { ...tool, name: chatName };
    tools.push({ type: "function", function: takesText ? textFunction(called) : plainFunction(called) });
  };
  for (const [index, one] of listAt("responses", "tools", given).entries()) {
    yield ITEM_UNITS;
    const tool = objectOf(one);
    const at = `tools.${String(index)}`;
    const { type, name, tools: inner } = tool;
    // agents offer a search to every model, and a model without it answers as well as it can
    if (textOf(type).startsWith("web_search")) continue;
    if (type !== "namespace" || textOf(name) === "") add(tool, at, null);
    else
      for (const [nth, each] of listAt("responses", `${at}.tools`, inner).entries()) {
        yield ITEM_UNITS;
        add(objectOf(each), `${at}.tools.${String(nth)}`, textOf(name));
      }
  }
  return { tools, clientTools };
}

function plainFunction({ name, description, parameters, strict }: JsonObject): JsonObject {
  return given({ name, description, parameters, strict });
}

/** A chat completion has no grammar for a tool's input, so the grammar goes into the tool's description. */
function textFunction({ name, description, format }: JsonObject): JsonObject {
  const { type, syntax, definition } = objectOf(format);
  const told = type === "grammar" ? `The input follows this ${textOf(syntax)} grammar:\n${textOf(definition)}` : "";
  const text = [textOf(description), told].filter((part) => part !== "").join("\n\n");
  return given({ name, description: text === "" ? null : text, parameters: TEXT_PARAMETERS });
}
