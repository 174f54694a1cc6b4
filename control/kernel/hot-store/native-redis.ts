/**
 * A key-value store with the Redis protocol (`redis://`, `rediss://`), used through the commands of the REST client, so
 * that both kinds of store are used in the same way. It does not support transactions. Replies are the server's replies in
 * the form of the REST endpoint. It never retries a command: the caller decides.
 */
import { Redis as RestClient } from "@upstash/redis";
import { Redis as Connection } from "ioredis";

/** True for an address that {@link NativeRedis} accepts. */
export const isNativeRedisUrl = (url: string): boolean => /^rediss?:\/\//i.test(url);

type Requester = Extract<ConstructorParameters<typeof RestClient>[0], { readonly request: unknown }>;
type Command = readonly [name: string, ...args: (string | number)[]];

/** The result of one command, in the form of the REST protocol. */
type Outcome = { readonly result: unknown } | { readonly error: string };

/** One connection, which is opened in the background and opened again when it is lost. */
export class NativeRedis extends RestClient {
  readonly #connection: Connection;

  /** `deadlineMs`: a command that is not answered by then rejects. */
  constructor(url: string, deadlineMs: number) {
    const connection = new Connection(url, {
      commandTimeout: deadlineMs,
      connectTimeout: deadlineMs,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    });
    connection.on("error", () => undefined); // every command reports its own failure
    super(requesterOf(connection));
    this.opts = { automaticDeserialization: false };
    this.#connection = connection;
  }

  /** Closes the connection. */
  close(): void {
    this.#connection.disconnect();
  }
}

function requesterOf(connection: Connection): Requester {
  // upper case keeps the client from converting replies: its converters are registered by lower-case names
  const send = async ([name, ...args]: Command): Promise<unknown> => await connection.call(name.toUpperCase(), ...args);
  const request = async ({ path, body }: Parameters<Requester["request"]>[0]): Promise<unknown> => {
    if (path?.[0] === "pipeline") return await outcomes((body as readonly Command[]).map(send));
    if (path?.[0] === "multi-exec") throw new Error("transactions are not carried");
    return (await outcomes([send(body as Command)]))[0];
  };
  return { request: request as Requester["request"] };
}

/** Errors of the server become values; rejects when the server does not answer. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<readonly Outcome[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((outcome) => {
    if (outcome.status === "fulfilled") return { result: outcome.value };
    const reason: unknown = outcome.reason;
    if (reason instanceof Error && reason.name === "ReplyError") return { error: reason.message };
    throw reason;
  });
}
