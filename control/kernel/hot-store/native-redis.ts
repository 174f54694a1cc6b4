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

/** Why there is no connection; null: there is one, or it was closed without a reason. */
interface LostConnection {
  error: unknown;
}

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
    const lost: LostConnection = { error: null };
    connection.on("error", (error) => (lost.error = error));
    connection.on("ready", () => (lost.error = null));
    super(requesterOf(connection, lost));
    this.opts = { automaticDeserialization: false };
    this.#connection = connection;
  }

  /** Closes the connection. */
  close(): void {
    this.#connection.disconnect();
  }
}

function requesterOf(connection: Connection, lost: LostConnection): Requester {
  // upper case keeps the client from converting replies: its converters are registered by lower-case names
  const send = async ([name, ...args]: Command): Promise<unknown> => {
    try {
      return await connection.call(name.toUpperCase(), ...args);
    } catch (error) {
      // the client's own error says only that it gave up
      if (lost.error === null || isReplyError(error)) throw error;
      throw new Error("the command was not sent", { cause: lost.error });
    }
  };
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
    if (isReplyError(reason)) return { error: reason.message };
    throw reason;
  });
}

const isReplyError = (error: unknown): error is Error => error instanceof Error && error.name === "ReplyError";
