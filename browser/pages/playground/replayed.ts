/**
 * A request that was captured as a conversation of the playground: its messages become turns, its last one is the message being written,
 * and its members are typed settings. What the playground has no place for is named. Pure.
 */
import type { Replay } from "../../data/replay.ts";
import { fieldsOf, textOf } from "../../data/untyped.ts";
import { type Answer, NO_ANSWER, withChunk } from "./answer.ts";
import type { ToolResult, Turn } from "./conversation.ts";
import { withMessagesEvent } from "./messages-api.ts";
import { NUMBERS, type SettingName, type TypedSettings } from "./request-settings.ts";

interface Replayed {
  readonly turns: readonly Turn[];
  readonly typed: TypedSettings;
  readonly text: string;
  readonly images: readonly string[];
  /** Names of members that are left out. */
  readonly leftOut: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

export function replayed({ path, text }: Replay): Replayed {
  const isMessages = path.endsWith("/messages");
  const { model: _, messages, system, stream, ...members } = fieldsOf(JSON.parse(text));
  const typed: Partial<Record<SettingName, string>> = isMessages ? { api: "messages" } : {};
  if (stream !== true) typed.stream = "off";
  const left = new Set(Object.keys(members));
  const type = (name: SettingName, value: string | null, ...from: readonly string[]): void => {
    if (value === null) return;
    typed[name] = value;
    for (const each of from) left.delete(each);
  };
  for (const { name } of NUMBERS) if (typeof members[name] === "number") type(name, String(members[name]), name);
  const stop = members["stop"] ?? members["stop_sequences"];
  const stops = Array.isArray(stop) ? stop.join("\n") : textOf(stop);
  type("stop", stops, "stop", "stop_sequences");
  const { tools, tool_choice, response_format, output_config } = members;
  if (Array.isArray(tools)) type("tools", JSON.stringify(isMessages ? tools.map(chatTool) : tools, null, 2), "tools");
  type("tool_choice", choiceOf(tool_choice), "tool_choice");
  const schema = fieldsOf(response_format)["json_schema"] ?? fieldsOf(fieldsOf(output_config)["format"])["schema"];
  if (schema !== undefined) type("schema", JSON.stringify(schema, null, 2), "response_format", "output_config");

  const turns: { text: string; images: string[]; answers: { answer: Answer; results: readonly ToolResult[] }[] }[] = [];
  const instructions = system === undefined ? [] : [said(system)];
  let results: ToolResult[] = [];
  for (const message of listOf(messages)) {
    const { role, content, tool_call_id } = message;
    const parts = listOf(content);
    if (role === "system" || role === "developer") instructions.push(said(content));
    else if (role === "assistant") {
      const answer =
        isMessages && parts.length > 0
          ? withMessagesEvent(NO_ANSWER, { type: "message", content })
          : withChunk(NO_ANSWER, { choices: [{ message }] });
      turns.at(-1)?.answers.push({ answer, results });
      results = [];
    } else {
      const own = parts.flatMap(({ type: kind, tool_use_id: id, content: given }) =>
        kind === "tool_result" ? [{ id: String(id), content: said(given) }] : [],
      );
      results.push(...(role === "tool" ? [{ id: String(tool_call_id), content: said(content) }] : own));
      if (role === "tool" || (own.length > 0 && said(content) === "")) continue;
      turns.push({ text: said(content), images: parts.flatMap(imageOf), answers: [] });
    }
  }
  if (results.length > 0) left.add("tool results");
  if (instructions.length > 0) typed.system = instructions.join("\n\n");
  const last = turns.at(-1)?.answers.length === 0 ? turns.pop() : undefined;
  let id = 0;
  const nextId = (): number => {
    id -= 1;
    return id;
  };
  return {
    typed,
    turns: turns.map(({ answers, ...turn }) => ({
      ...turn,
      id: nextId(),
      lanes: [answers.map((one) => ({ ...one, ...ENDED, id: nextId() }))],
    })),
    text: last?.text ?? "",
    images: last?.images ?? [],
    leftOut: [...left],
  };
}

const ENDED = {
  model: "",
  state: "done",
  failure: null,
  sentAtMs: 0,
  firstMs: null,
  totalMs: null,
  headers: null,
} as const;

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** The text of a content, also of one in parts. */
function said(content: unknown): string {
  return (
    textOf(content) ??
    listOf(content)
      .map(({ text }) => textOf(text) ?? "")
      .join("")
  );
}

function imageOf({ image_url, source }: Fields): readonly string[] {
  const { type, media_type, data } = fieldsOf(source);
  const url = type === "base64" ? `data:${String(media_type)};base64,${String(data)}` : fieldsOf(image_url)["url"];
  return typeof url === "string" && url.startsWith("data:") ? [url] : [];
}

/** A tool of messages as chat completions have it. */
function chatTool(tool: unknown): object {
  const { input_schema: parameters, ...own } = fieldsOf(tool);
  return { type: "function", function: { ...own, parameters } };
}

function choiceOf(choice: unknown): string | null {
  if (typeof choice === "string") return choice;
  const { type, name, function: called } = fieldsOf(choice);
  const named = textOf(name) ?? textOf(fieldsOf(called)["name"]);
  return named ?? (type === "any" ? "required" : textOf(type));
}
