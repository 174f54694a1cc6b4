/** A request of the playground as a program makes it. Every value is quoted for the language it stands in. Pure. */
import { printableJson } from "../../../shared/printable.ts";
import { quoted, shellText } from "../../forms/keys/call-examples.ts";

interface Code {
  /** Of the data plane, without a slash at its end. */
  readonly baseUrl: string;
  /** The body of the request, without `stream`: the answer is printed when it is there. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Stands for the key: what is copied goes into files and chats. */
const KEY = "YOUR_KEY";

/** A line for a POSIX shell. */
export function curlCode({ baseUrl, body }: Code): string {
  return [
    `curl ${shellText(`${baseUrl}/v1/chat/completions`)}`,
    `  -H 'authorization: Bearer ${KEY}'`,
    "  -H 'content-type: application/json'",
    `  -d ${shellText(printableJson(JSON.stringify(body)))}`,
  ].join(" \\\n");
}

/** For OpenAI's package in Python. */
export function pythonCode({ baseUrl, body }: Code): string {
  const members = Object.entries(body).map(([name, value]) => `    ${name}=${pythonValue(value, 4)},`);
  return [
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${quoted(`${baseUrl}/v1`)}, api_key="${KEY}")`,
    "answer = client.chat.completions.create(",
    ...members,
    ")",
    "print(answer.choices[0].message)",
  ].join("\n");
}

/** For OpenAI's package in TypeScript. */
export function typescriptCode({ baseUrl, body }: Code): string {
  return [
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: ${quoted(`${baseUrl}/v1`)}, apiKey: "${KEY}" });`,
    `const answer = await client.chat.completions.create(${printableJson(JSON.stringify(body, null, 2))});`,
    "console.log(answer.choices[0].message);",
  ].join("\n");
}

/** A value of JSON as Python writes it; `indent`: columns before its line. */
function pythonValue(value: unknown, indent: number): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = " ".repeat(indent + 4);
  const items = Array.isArray(value)
    ? value.map((item: unknown) => pythonValue(item, indent + 4))
    : Object.entries(value).map(([name, item]) => `${quoted(name)}: ${pythonValue(item, indent + 4)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return items.length === 0
    ? `${open}${close}`
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${" ".repeat(indent)}${close}`;
}
