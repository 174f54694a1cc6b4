/** What the tests of public reports need: an upstream of each test's own, and a call whose answer and row are read. */
import { onTestFinished } from "vitest";
import type { UsageLog } from "../../shared/schema/usage.ts";
import type { Gateway, Minted } from "./gateway.ts";
import { type HttpSink, startHttpSink } from "./http-sink.ts";

export const CHAT = { messages: [{ role: "user", content: "hi" }] };
const CONTENT = { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" };
export const CHAT_ANSWER = { object: "chat.completion", choices: [CONTENT], usage: chatUsage(11, 22) };

export function chatUsage(input: number, output: number) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** An upstream that ends with its test. */
export async function reportUpstream(answer: HttpSink["answer"]): Promise<HttpSink> {
  const sink = await startHttpSink(answer);
  onTestFinished(async () => await sink.close());
  return sink;
}

interface Served {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** A POST of a body that is text already, or whose model is filled in. */
export async function post(
  { proxyUrl }: Gateway,
  { secret, model }: Minted,
  path: string,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const response = await fetch(`${proxyUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify({ model: model.model_name, ...body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export async function rowOf(gateway: Gateway, { tenant }: Minted, { headers }: Served): Promise<UsageLog> {
  return await gateway.row(tenant.id, headers.get("x-gateway-request-id"));
}
