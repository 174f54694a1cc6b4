/**
 * An upstream in the place of a model that calls tools: while a request offers it tools it calls the first one, as often
 * as its name says (`turns=<n>`), and then answers with the results that it has read. It streams when it is asked to.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Message {
  readonly role: string;
  readonly content: unknown;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
}

interface ToolModel {
  readonly url: string;
  /** Requests whose text contains this, in order. */
  seen(text: string): readonly ChatRequest[];
  close(): Promise<void>;
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** Starts it on a free loopback port. */
export async function startToolModel(): Promise<ToolModel> {
  const requests: { readonly text: string; readonly body: ChatRequest }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const body = JSON.parse(text) as ChatRequest;
      requests.push({ text, body });
      answer(body, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen: (text) => requests.filter((one) => one.text.includes(text)).map(({ body }) => body),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer({ model, messages, tools = [], stream }: ChatRequest, response: ServerResponse): void {
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const wanted = Number(/turns=(\d+)/.exec(model)?.[1] ?? 1);
  const name = tools[0]?.function.name;
  const calls = name !== undefined && results.length < wanted;
  const call = { id: `call-${results.length}`, type: "function", function: { name, arguments: "{}" } };
  const message = calls
    ? { role: "assistant", content: null, tool_calls: [call] }
    : { role: "assistant", content: `read ${JSON.stringify(results)}` };
  const finish = calls ? "tool_calls" : "stop";
  const head = { id: `chatcmpl-${results.length}`, created: 1, model };
  if (stream !== true) {
    response.writeHead(200, { "content-type": "application/json" });
    const choices = [{ index: 0, message, finish_reason: finish }];
    response.end(JSON.stringify({ ...head, object: "chat.completion", choices, usage: USAGE }));
    return;
  }
  const delta = calls ? { ...message, tool_calls: [{ index: 0, ...call }] } : message;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage: USAGE },
  ])
    response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...chunk })}\n\n`);
  response.end("data: [DONE]\n\n");
}
