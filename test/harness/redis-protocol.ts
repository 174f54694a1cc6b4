/**
 * A key-value store behind the Redis protocol (RESP2) on a port of 127.0.0.1. The embedded store answers what a client of a
 * real server sends, transactions included. Clients must send a password when one is given.
 */
import { createServer, type Socket } from "node:net";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import { type Backend, type Command, RedisError, type Reply } from "../../infra/local/redis/backend.ts";

export type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;

/** Starts it. The caller closes the backend. */
export async function startRedisServer(backend: Backend, password?: string) {
  const sockets = new Set<Socket>();
  const seen: Command[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    let known = password === undefined;
    let queued: Command[] | null = null;
    const run = async (command: Command): Promise<string> => {
      const [name, ...args] = command;
      seen.push(command);
      if (name === "AUTH") {
        known = args.at(-1) === password;
        return known ? "+OK\r\n" : "-WRONGPASS invalid username-password pair\r\n";
      }
      if (!known) return "-NOAUTH Authentication required.\r\n";
      if (name === "INFO") return encoded("redis_version:7.0.15\r\nloading:0\r\n");
      if (name === "CLIENT" || name === "SELECT") return "+OK\r\n";
      if (name === "MULTI") {
        queued = [];
        return "+OK\r\n";
      }
      if (name === "EXEC" && queued !== null) {
        const commands = queued;
        queued = null;
        return encodedAll(await backend.transaction(commands));
      }
      if (queued !== null) {
        queued.push(command);
        return "+QUEUED\r\n";
      }
      return encoded(await backend.call(command));
    };
    let bytes = Buffer.alloc(0);
    let answering = Promise.resolve();
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let parsed = parseCommand(bytes); parsed !== null; parsed = parseCommand(bytes)) {
        const { command, end } = parsed;
        bytes = bytes.subarray(end);
        answering = answering.then(async () => {
          const answer = await run(command).catch(refusal);
          if (!redis.silent && !socket.destroyed) socket.write(answer);
        });
      }
    });
  });
  const at: Listening = await listen(server, "127.0.0.1", 0);
  /** Cuts every connection; new ones are served. */
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const redis = {
    /** With the password. */
    url: `redis://${password === undefined ? "" : `:${password}@`}${new URL(at.url).host}`,
    /** Commands of clients so far, names in upper case. */
    seen: seen as readonly Command[],
    cut,
    /** Accepts commands and answers none, until a test sets it back. */
    silent: false,
    close: async (): Promise<void> => {
      cut();
      await at.close();
    },
  };
  return redis;
}

function refusal(error: unknown): string {
  return `-${error instanceof RedisError ? error.message : "ERR the store failed"}\r\n`;
}

function encodedAll(replies: readonly (Reply | RedisError)[]): string {
  const items = replies.map((reply) => (reply instanceof RedisError ? refusal(reply) : encoded(reply)));
  return `*${items.length}\r\n${items.join("")}`;
}

function encoded(reply: Reply): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  return encodedAll(reply);
}

/**
 * The first whole command in these bytes, an array of bulk strings, and where it ends; null when the command is not
 * complete.
 */
function parseCommand(bytes: Buffer): { readonly command: Command; readonly end: number } | null {
  let at = 0;
  const line = (): string | null => {
    const end = bytes.indexOf("\r\n", at);
    if (end < 0) return null;
    const text = bytes.toString("utf8", at, end);
    at = end + 2;
    return text;
  };
  const head = line();
  if (head === null) return null;
  const words: string[] = [];
  for (let left = Number(head.slice(1)); left > 0; left -= 1) {
    const size = line();
    if (size === null) return null;
    const length = Number(size.slice(1));
    if (bytes.length < at + length + 2) return null;
    words.push(bytes.toString("utf8", at, at + length));
    at += length + 2;
  }
  const [name = "", ...args] = words;
  return { command: [name.toUpperCase(), ...args], end: at };
}
