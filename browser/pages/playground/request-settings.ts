/**
 * What a request of the playground says besides its messages, from what was typed: a field that is empty is not sent. Pure.
 */
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import type { Api } from "./messages-api.ts";

const text = texts("playground", playgroundTexts);

/** Numbers of the API by their names, with what they may be. */
export const NUMBERS = [
  { name: "temperature", min: 0, max: 2, isWhole: false },
  { name: "top_p", min: 0, max: 1, isWhole: false },
  { name: "max_tokens", min: 0, max: 2_147_483_647, isWhole: true },
  { name: "frequency_penalty", min: -2, max: 2, isWhole: false },
  { name: "presence_penalty", min: -2, max: 2, isWhole: false },
  { name: "seed", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, isWhole: true },
] as const;

/** Those that messages do not have. */
const OF_CHAT_ONLY: ReadonlySet<string> = new Set(["frequency_penalty", "presence_penalty", "seed"]);

export const TOOL_CHOICES = ["auto", "none", "required"] as const;

type NumberName = (typeof NUMBERS)[number]["name"];
export type SettingName = NumberName | "system" | "stop" | "tools" | "tool_choice" | "schema" | "stream" | "api";

/** What was typed, by field; absent: nothing. `api` is `messages` or none, `stream` `off` where the answer is to come in one piece. */
export type TypedSettings = Readonly<Partial<Record<SettingName, string>>>;

interface ValidatedSettings {
  /** Members of the request's body. */
  readonly members: Readonly<Record<string, unknown>>;
  /** What is wrong, by field. */
  readonly errors: Readonly<Partial<Record<SettingName, string>>>;
}

/** The API that was chosen. */
export function apiOf({ api }: TypedSettings): Api {
  return api === "messages" ? api : "chat/completions";
}

/** The numbers that this API has. */
export function numbersOf(typed: TypedSettings): readonly (typeof NUMBERS)[number][] {
  return NUMBERS.filter(({ name }) => apiOf(typed) !== "messages" || !OF_CHAT_ONLY.has(name));
}

/** The members of the body that were asked for, and what is wrong with others. */
export function validatedSettings(typed: TypedSettings): ValidatedSettings {
  const members: Record<string, unknown> = {};
  const errors: Partial<Record<SettingName, string>> = {};
  for (const { name, min, max, isWhole } of numbersOf(typed)) {
    const written = (typed[name] ?? "").trim();
    if (written === "") continue;
    const value = /^-?\d{1,16}(\.\d{1,16})?$/.test(written) ? Number(written) : Number.NaN;
    if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) members[name] = value;
    else errors[name] = text(isWhole ? "wrongWhole" : "wrongNumber", { min, max });
  }
  const stops = (typed.stop ?? "").split("\n").filter((line) => line !== "");
  if (stops.length > 0) members["stop"] = stops;
  const tools = parsed(typed.tools);
  if (tools !== undefined) {
    if (isListOfTools(tools)) members["tools"] = tools;
    else errors.tools = text("wrongTools");
  }
  const choice = typed.tool_choice ?? "";
  if (members["tools"] !== undefined && TOOL_CHOICES.some((one) => one === choice)) members["tool_choice"] = choice;
  else if (toolNames(typed).includes(choice)) members["tool_choice"] = { type: "function", function: { name: choice } };
  const schema = parsed(typed.schema);
  if (schema !== undefined) {
    if (isObject(schema)) members["response_format"] = { type: "json_schema", json_schema: namedSchema(schema) };
    else errors.schema = text("wrongSchema");
  }
  if (typed.stream !== "off") members["stream"] = true;
  return { members, errors };
}

/** The names of the tools that are typed, each once; none while these are wrong. */
export function toolNames(typed: TypedSettings): readonly string[] {
  const tools = parsed(typed.tools);
  return isListOfTools(tools) ? [...new Set(tools.map((tool) => tool.function.name))] : [];
}

/** A schema with its name; one that has it already, as it stands in examples of the API, is taken as it is. */
function namedSchema(schema: Readonly<Record<string, unknown>>): object {
  return typeof schema["name"] === "string" && isObject(schema["schema"]) ? schema : { name: "answer", schema };
}

/** The value of JSON; undefined: nothing was typed; null also where it is none. */
function parsed(typed: string | undefined): unknown {
  if (typed === undefined || typed.trim() === "") return undefined;
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOfTools(value: unknown): value is readonly { readonly function: { readonly name: string } }[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((tool) => isObject(tool) && isObject(tool["function"]) && typeof tool["function"]["name"] === "string")
  );
}
