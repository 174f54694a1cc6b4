/**
 * First requests with a key, as one pastes them into a terminal or a program. Every value is quoted for the language it stands
 * in, whatever a model is called. Pure.
 */

interface Call {
  /** Of the data plane, without a slash at its end. */
  readonly baseUrl: string;
  readonly secret: string;
  readonly model: string;
}

const HELLO = [{ role: "user", content: "Hello" }];

/** A line for a POSIX shell. */
export function curlExample({ baseUrl, secret, model }: Call): string {
  const body = JSON.stringify({ model, messages: HELLO });
  return [
    `curl ${shellText(`${baseUrl}/v1/chat/completions`)}`,
    `  -H ${shellText(`authorization: Bearer ${secret}`)}`,
    "  -H 'content-type: application/json'",
    `  -d ${shellText(body)}`,
  ].join(" \\\n");
}

/** For OpenAI's package in Python. */
export function pythonExample({ baseUrl, secret, model }: Call): string {
  return [
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${quoted(`${baseUrl}/v1`)}, api_key=${quoted(secret)})`,
    "answer = client.chat.completions.create(",
    `    model=${quoted(model)},`,
    '    messages=[{"role": "user", "content": "Hello"}],',
    ")",
    "print(answer.choices[0].message.content)",
  ].join("\n");
}

/** For OpenAI's package in TypeScript. */
export function typescriptExample({ baseUrl, secret, model }: Call): string {
  return [
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: ${quoted(`${baseUrl}/v1`)}, apiKey: ${quoted(secret)} });`,
    "const answer = await client.chat.completions.create({",
    `  model: ${quoted(model)},`,
    '  messages: [{ role: "user", content: "Hello" }],',
    "});",
    "console.log(answer.choices[0].message.content);",
  ].join("\n");
}

/** In single quotes, in which a shell changes nothing. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** In double quotes, as Python and JavaScript both read it. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
