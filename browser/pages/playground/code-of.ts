/** A request of the playground as a program makes it. Every value is quoted for the language it stands in. Pure. */
import { printableJson } from "../../../shared/text/printable.ts";
import {
  bearerOf,
  pythonEnvironment,
  pythonSecret,
  quoted,
  scriptSecret,
  shellText,
} from "../../forms/keys/call-examples.ts";
import type { Api } from "./messages-api.ts";

interface Code {
  /** Of the data plane, without a slash at its end. */
  readonly baseUrl: string;
  readonly api: Api;
  /** The body of the request, without `stream`: the answer is printed when it is there. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Systems take no longer word on a command line: Linux has 128 KiB. An image is longer. */
const WORD_MAX_CHARACTERS = 30_000;

/** A line for a POSIX shell. A long body follows it, as the input of the command. */
export function curlCode({ baseUrl, api, body }: Code): string {
  const json = printableJson(JSON.stringify(body));
  const isLong = json.length > WORD_MAX_CHARACTERS;
  const line = [
    `curl ${shellText(`${baseUrl}/v1/${api}`)}`,
    `  -H ${bearerOf(null)}`,
    "  -H 'content-type: application/json'",
    isLong ? "  --data-binary @- <<'END_OF_BODY'" : `  -d ${shellText(json)}`,
  ].join(" \\\n");
  // JSON is one line, so that none of it ends the input; a `!` would call up a line of the history where one pastes it.
  return isLong ? `${line}\n${json.replaceAll("!", "\\u0021")}\nEND_OF_BODY` : line;
}

/** For the package of the API's maker in Python. */
export function pythonCode({ baseUrl, api, body }: Code): string {
  const members = Object.entries(body).map(([name, value]) => `    ${name}=${literal(PYTHON, value, 4)},`);
  const [head, call, said] =
    api === "messages"
      ? [
          [
            "from anthropic import Anthropic",
            "",
            `client = Anthropic(base_url=${quoted(baseUrl)}, api_key=${pythonSecret(null)})`,
          ],
          "client.messages",
          "answer.content",
        ]
      : [
          [
            "from openai import OpenAI",
            "",
            `client = OpenAI(base_url=${quoted(`${baseUrl}/v1`)}, api_key=${pythonSecret(null)})`,
          ],
          "client.chat.completions",
          "answer.choices[0].message",
        ];
  return [...pythonEnvironment(null), ...head, `answer = ${call}.create(`, ...members, ")", `print(${said})`].join(
    "\n",
  );
}

/** For the package of the API's maker in TypeScript. */
export function typescriptCode({ baseUrl, api, body }: Code): string {
  const [name, address, call, said] =
    api === "messages"
      ? ["Anthropic", baseUrl, "messages", "content"]
      : ["OpenAI", `${baseUrl}/v1`, "chat.completions", "choices[0].message"];
  return [
    `import ${name} from "${api === "messages" ? "@anthropic-ai/sdk" : "openai"}";`,
    "",
    `const client = new ${name}({ baseURL: ${quoted(address)}, apiKey: ${scriptSecret(null)} });`,
    `const answer = await client.${call}.create(${literal(SCRIPT, body, 0)});`,
    `console.log(answer.${said});`,
  ].join("\n");
}

/** How a language writes what JSON has words for, and how far it indents. */
interface Language {
  readonly words: Readonly<Record<"null" | "true" | "false", string>>;
  readonly indent: number;
  readonly key: (name: string) => string;
}

const PYTHON: Language = { words: { null: "None", true: "True", false: "False" }, indent: 4, key: quoted };
const SCRIPT: Language = {
  words: { null: "null", true: "true", false: "false" },
  indent: 2,
  // Written plainly it would be the prototype of the object, and no member.
  key: (name) => (name === "__proto__" ? `[${quoted(name)}]` : quoted(name)),
};

/** A value of JSON as a language writes it; `indent`: columns before its line. */
function literal(language: Language, value: unknown, indent: number): string {
  if (value === null || typeof value === "boolean") return language.words[`${value}`];
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object") return JSON.stringify(value);
  const within = indent + language.indent;
  const items = Array.isArray(value)
    ? value.map((item: unknown) => literal(language, item, within))
    : Object.entries(value).map(([name, item]) => `${language.key(name)}: ${literal(language, item, within)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = " ".repeat(within);
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${" ".repeat(indent)}${close}`;
}
