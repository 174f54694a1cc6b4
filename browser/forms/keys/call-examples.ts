/**
 * First requests with a key, as one pastes them into a terminal or a program. Every value is quoted for the language it stands
 * in, whatever a model is called. Pure.
 */

import { printableJson } from "../../../shared/text/printable.ts";

/** Where the examples find a secret that is not told them. */
export const SECRET_VARIABLE = "GATEWAY_API_KEY";

/** What an example calls. */
export interface Call {
  /** Of the data plane, without a slash at its end. */
  readonly baseUrl: string;
  /** Null: it is in the environment, as {@link SECRET_VARIABLE}. */
  readonly secret: string | null;
  readonly model: string;
}

const HELLO = [{ role: "user", content: "Hello" }];

/** A line for a POSIX shell. */
export function curlExample({ baseUrl, secret, model }: Call): string {
  const body = printableJson(JSON.stringify({ model, messages: HELLO }));
  return [
    `curl ${shellText(`${baseUrl}/v1/chat/completions`)}`,
    `  -H ${bearerOf(secret)}`,
    "  -H 'content-type: application/json'",
    `  -d ${shellText(body)}`,
  ].join(" \\\n");
}

/** For OpenAI's package in Python. */
export function pythonExample({ baseUrl, secret, model }: Call): string {
  return [
    ...pythonEnvironment(secret),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${quoted(`${baseUrl}/v1`)}, api_key=${pythonSecret(secret)})`,
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
    `const client = new OpenAI({ baseURL: ${quoted(`${baseUrl}/v1`)}, apiKey: ${scriptSecret(secret)} });`,
    "const answer = await client.chat.completions.create({",
    `  model: ${quoted(model)},`,
    '  messages: [{ role: "user", content: "Hello" }],',
    "});",
    "console.log(answer.choices[0].message.content);",
  ].join("\n");
}

/** For LangChain in Python (`langchain-openai`). */
export function langchainPythonExample({ baseUrl, secret, model }: Call): string {
  return [
    ...pythonEnvironment(secret),
    "from langchain_openai import ChatOpenAI",
    "",
    "model = ChatOpenAI(",
    `    base_url=${quoted(`${baseUrl}/v1`)},`,
    `    api_key=${pythonSecret(secret)},`,
    `    model=${quoted(model)},`,
    ")",
    'print(model.invoke("Hello").content)',
  ].join("\n");
}

/** For LangChain in TypeScript (`@langchain/openai`). */
export function langchainExample({ baseUrl, secret, model }: Call): string {
  return [
    'import { ChatOpenAI } from "@langchain/openai";',
    "",
    "const model = new ChatOpenAI({",
    `  configuration: { baseURL: ${quoted(`${baseUrl}/v1`)} },`,
    `  apiKey: ${scriptSecret(secret)},`,
    `  model: ${quoted(model)},`,
    "});",
    'console.log((await model.invoke("Hello")).content);',
  ].join("\n");
}

/** For the AI SDK (`ai`, `@ai-sdk/openai-compatible`). */
export function aiSdkExample({ baseUrl, secret, model }: Call): string {
  return [
    'import { createOpenAICompatible } from "@ai-sdk/openai-compatible";',
    'import { generateText } from "ai";',
    "",
    "const gateway = createOpenAICompatible({",
    '  name: "gateway",',
    `  baseURL: ${quoted(`${baseUrl}/v1`)},`,
    `  apiKey: ${scriptSecret(secret)},`,
    "});",
    `const { text } = await generateText({ model: gateway(${quoted(model)}), prompt: "Hello" });`,
    "console.log(text);",
  ].join("\n");
}

/** For Anthropic's package in TypeScript. */
export function anthropicExample({ baseUrl, secret, model }: Call): string {
  return [
    'import Anthropic from "@anthropic-ai/sdk";',
    "",
    `const client = new Anthropic({ baseURL: ${quoted(baseUrl)}, apiKey: ${scriptSecret(secret)} });`,
    "const message = await client.messages.create({",
    `  model: ${quoted(model)},`,
    "  max_tokens: 1024,",
    '  messages: [{ role: "user", content: "Hello" }],',
    "});",
    "console.log(message.content);",
  ].join("\n");
}

/** The header with the secret, as a word of a shell. */
export function bearerOf(secret: string | null): string {
  const bearer = "authorization: Bearer ";
  return secret === null ? `"${bearer}$${SECRET_VARIABLE}"` : shellText(`${bearer}${secret}`);
}

/** What a program needs to read the secret from its environment. */
export function pythonEnvironment(secret: string | null): readonly string[] {
  return secret === null ? ["import os", ""] : [];
}

/** The secret in a program of Python. */
export function pythonSecret(secret: string | null): string {
  return secret === null ? `os.environ[${quoted(SECRET_VARIABLE)}]` : quoted(secret);
}

/** The secret in a program of JavaScript. */
export function scriptSecret(secret: string | null): string {
  return secret === null ? `process.env.${SECRET_VARIABLE}` : quoted(secret);
}

/** In single quotes, in which a shell changes nothing. */
export function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** In double quotes, as Python and JavaScript both read it; what would change how the line looks is escaped. */
export function quoted(text: string): string {
  return printableJson(JSON.stringify(text));
}
