/**
 * An upstream whose chat completions a test writes itself: the answers to the first, the second and every later request of
 * a model, by the name that the gateway sends upstream.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface ChatScript {
  readonly url: string;
  /** Sets what a model says, request by request; the last text is said again. */
  readonly say: (model: string, ...texts: string[]) => void;
  /** The bodies of a model's requests, in order. */
  readonly seen: (model: string) => readonly Readonly<Record<string, unknown>>[];
  readonly close: () => Promise<void>;
}

/** Starts it on a free loopback port. */
export async function startChatScript(): Promise<ChatScript> {
  const texts = new Map<string, readonly string[]>();
  const bodies = new Map<string, Record<string, unknown>[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
      const model = String(body["model"]);
      const seen = [...(bodies.get(model) ?? []), body];
      bodies.set(model, seen);
      const script = texts.get(model) ?? [];
      const content = script[seen.length - 1] ?? script.at(-1) ?? "";
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(completionOf(model, content)));
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    say: (model, ...said) => void texts.set(model, said),
    seen: (model) => bodies.get(model) ?? [],
    close: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function completionOf(model: string, content: string): object {
  const message = { role: "assistant", content, refusal: null };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: "stop", logprobs: null }],
    usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
  };
}
