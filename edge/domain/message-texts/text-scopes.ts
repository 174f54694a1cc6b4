/** The members of a request whose texts are examined, by route, and how each is read */
import { MODEL_ROUTES, type RouteClass } from "../request/route-class.ts";

/**
 * How the strings of a member are read: those of messages by speaker, all of them (`beside`: a server may leave the member
 * out), or those of definitions.
 */
export type MemberRule = "messages" | "all" | "beside" | "definitions";

/** The members of a request that are examined, by name. */
export type TextScope = ReadonlyMap<string, MemberRule>;

const scopeOf = (rules: Readonly<Record<string, MemberRule>>): TextScope => new Map(Object.entries(rules));

/** What model servers (vLLM, SGLang, llama.cpp) take beyond the fields of a route, and show their models or templates. */
const OF_SERVERS = {
  chat_template: "beside",
  chat_template_kwargs: "beside",
  prediction: "beside",
  guided_json: "definitions",
  guided_choice: "definitions",
  guided_regex: "beside",
  guided_grammar: "beside",
  structured_outputs: "definitions",
  regex: "beside",
  ebnf: "beside",
  grammar: "beside",
  json_schema: "definitions",
} as const;

const BESIDE_MESSAGES = {
  ...OF_SERVERS,
  documents: "beside",
  response_format: "definitions",
  tools: "definitions",
  functions: "definitions",
} as const;
const CHAT = scopeOf({ ...BESIDE_MESSAGES, messages: "messages" });
const COMPLETION = scopeOf({ ...OF_SERVERS, prompt: "all", suffix: "all", response_format: "definitions" });
/** A translated request may have the members of its model's API besides messages. */
const RESPONSES = scopeOf({
  ...BESIDE_MESSAGES,
  instructions: "all",
  input: "messages",
  previous_input_messages: "beside",
  prompt: "beside",
  text: "definitions",
});
const EMBEDDING = scopeOf({ ...OF_SERVERS, input: "all", messages: "messages" });
const AUDIO = scopeOf({ input: "all", instructions: "all", prompt: "all" });
const IMAGE = scopeOf({ prompt: "all", negative_prompt: "all" });
/**
 * For a path without its own rules, at any depth: members that are examined on any path, and names that the protocols of other
 * servers use.
 */
const ANY = new Map([
  ...[CHAT, COMPLETION, RESPONSES, EMBEDDING, AUDIO, IMAGE].flatMap((scope) => [...scope]),
  ...scopeOf(
    Object.fromEntries(
      "messages input text system query inputs texts queries contents message chat_history preamble system_instruction systeminstruction text_1 text_2 input_prefix input_suffix input_extra prefix template"
        .split(" ")
        .map((name) => [name, "all"]),
    ),
  ),
  ...scopeOf({ output_format: "definitions", output_config: "definitions" }),
]);

const DOCUMENTED: ReadonlySet<string> = new Set(MODEL_ROUTES);

/** The members that are examined on a path of this class. */
export function textScopeOf(path: string, { requestType }: RouteClass): TextScope {
  if (!DOCUMENTED.has(path)) return ANY;
  switch (requestType) {
    case "chat":
      return CHAT;
    case "completion":
      return COMPLETION;
    case "responses":
      return RESPONSES;
    case "embedding":
      return EMBEDDING;
    case "audio":
      return AUDIO;
    case "image":
      return IMAGE;
    default:
      return ANY;
  }
}

/** True for the scope of a path without its own rules. */
export function isOfAny(scope: TextScope): boolean {
  return scope === ANY;
}

/** True for members whose strings are all texts. */
export function isOfEvery(rule: MemberRule | undefined): boolean {
  return rule === "all" || rule === "beside";
}
