/**
 * The Upstash REST protocol over a Backend: POST / (one command), /pipeline, /multi-exec, /subscribe/<channels> as
 * server-sent events. Every request needs the bearer token; the size of a body is limited. With `Upstash-Encoding: base64`
 * every string is encoded except a top-level "OK".
 */
import { timingSafeEqual } from "node:crypto";
import http from "node:http";
import { z } from "zod";
import { readBody, TooLarge } from "../http/http-body.ts";
import { type Listening, listen } from "../http/listen.ts";
import { type Backend, type Command, RedisError, RedisUnavailable, type Reply } from "./backend.ts";

/** What {@link startRedisBridge} needs. Port 0 takes a free port. */
interface RedisBridgeOptions {
  readonly backend: Backend;
  readonly token: string;
  readonly port?: number;
  readonly maxBodyBytes?: number;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;

const argument = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);
const command = z.tuple([argument.pipe(z.string().min(1))], argument).transform((value): Command => value);
const commands = z.array(command);

type Encode = (reply: Reply) => Reply;

const plain: Encode = (reply) => reply;
const encodeAll: Encode = (reply) => {
  if (typeof reply === "string") return Buffer.from(reply).toString("base64");
  return Array.isArray(reply) ? reply.map(encodeAll) : reply;
};
const base64: Encode = (reply) => (reply === "OK" ? reply : encodeAll(reply));

function answer(response: http.ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  const closing = status === 413 ? { connection: "close" } : {};
  response.writeHead(status, { "content-type": "application/json", "content-length": bytes.length, ...closing });
  response.end(bytes);
}

function authorized(header: string | undefined, token: string): boolean {
  const given = Buffer.from(/^Bearer (.*)$/i.exec(header ?? "")?.[1] ?? "");
  const wanted = Buffer.from(token);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function parse<T>(request: http.IncomingMessage, schema: z.ZodType<T>, limit: number): Promise<T> {
  const bytes = await readBody(request, limit);
  try {
    return schema.parse(JSON.parse(bytes.toString("utf8")));
  } catch {
    throw new RedisError("ERR failed to parse command");
  }
}

async function subscribe(backend: Backend, channels: readonly string[], response: http.ServerResponse): Promise<void> {
  const event = (text: string) => response.write(`data: ${text.replace(/\r\n|\r|\n/g, "\ndata: ")}\n\n`);
  const stop = await backend.subscribe(channels, (channel, message) => event(`message,${channel},${message}`));
  response.once("close", stop);
  if (response.destroyed) return stop();
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const [index, channel] of channels.entries()) event(`subscribe,${channel},${index + 1}`);
}

async function handle(options: RedisBridgeOptions, request: http.IncomingMessage, response: http.ServerResponse) {
  const { backend, maxBodyBytes = MAX_BODY_BYTES } = options;
  if (!authorized(request.headers.authorization, options.token)) {
    return answer(response, 401, { error: "WRONGPASS invalid or missing auth token" });
  }
  const encode = request.headers["upstash-encoding"] === "base64" ? base64 : plain;
  const [route, ...rest] =
    (request.url ?? "/")
      .split("?")[0]
      ?.split("/")
      .filter((part) => part !== "") ?? [];
  if (route === "subscribe" && rest.length > 0) {
    return subscribe(
      backend,
      rest.flatMap((part) => decodeURIComponent(part).split(",")),
      response,
    );
  }
  if (request.method !== "POST" || rest.length > 0) return answer(response, 404, { error: "ERR unknown route" });
  const item = (value: Reply | RedisError) =>
    value instanceof RedisError ? { error: value.message } : { result: encode(value) };
  switch (route) {
    case undefined:
      return answer(response, 200, { result: encode(await backend.call(await parse(request, command, maxBodyBytes))) });
    case "pipeline": {
      const calls = (await parse(request, commands, maxBodyBytes)).map((one) =>
        backend.call(one).catch((error: unknown) => {
          if (error instanceof RedisError) return error;
          throw error;
        }),
      );
      return answer(response, 200, (await Promise.all(calls)).map(item));
    }
    case "multi-exec":
      return answer(response, 200, (await backend.transaction(await parse(request, commands, maxBodyBytes))).map(item));
    default:
      return answer(response, 404, { error: "ERR unknown route" });
  }
}

/** Starts the bridge on 127.0.0.1. Closing it cuts open subscriptions; the caller keeps the backend and closes it. */
export async function startRedisBridge(options: RedisBridgeOptions): Promise<Listening> {
  const server = http.createServer((request, response) => {
    handle(options, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else if (error instanceof RedisError) answer(response, 400, { error: error.message });
      else if (error instanceof URIError) answer(response, 400, { error: "ERR malformed channel" });
      else if (error instanceof TooLarge) answer(response, 413, { error: "ERR request too large" });
      else if (error instanceof RedisUnavailable) answer(response, 503, { error: `ERR ${error.message}` });
      else answer(response, 503, { error: "ERR the store is not available" });
    });
  });
  server.requestTimeout = 30_000;
  return listen(server, "127.0.0.1", options.port ?? 0);
}
