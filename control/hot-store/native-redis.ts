/**
 * A key-value store behind the Redis protocol (`redis://`, `rediss://`), reached by the commands of the REST client: both are
 * used in one way, but for transactions, which it does not carry. Replies are those of the server, as the REST endpoint would give
 * them. It never retries a command: whoever asked decides.
 */
import { Redis as RestClient } from "@upstash/redis";
import { Redis as Connection } from "ioredis";

/** True for an address that {@link NativeRedis} takes. */
export const isNativeRedisUrl = (url: string): boolean => /^rediss?:\/\//i.test(url);

type Requester = Extract<ConstructorParameters<typeof RestClient>[0], { readonly request: unknown }>;
type Command = readonly [name: string, ...args: (string | number)[]];

/** What became of one command, as the REST protocol says it. */
type Outcome = { readonly result: unknown } | { readonly error: string };

/** One connection, made in the background and made again when it is lost. */
export class NativeRedis extends RestClient {
  readonly #connection: Connection;

  /** `deadlineMs`: what is not answered by then rejects. */
  constructor(url: string, deadlineMs: number) {
    const connection = new Connection(url, {
      commandTimeout: deadlineMs,
      connectTimeout: deadlineMs,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    });
    connection.on("error", () => undefined); // every command tells its own failure
    super(requesterOf(connection));
    this.opts = { automaticDeserialization: false };
    this.#connection = connection;
  }

  /** Lets go of the connection. */
  close(): void {
    this.#connection.disconnect();
  }
}

function requesterOf(connection: Connection): Requester {
  // upper case keeps the client from reshaping replies: its transformers go by lower-case names
  const send = async ([name, ...args]: Command): Promise<unknown> => await connection.call(name.toUpperCase(), ...args);
  const request = async ({ path, body }: Parameters<Requester["request"]>[0]): Promise<unknown> => {
    if (path?.[0] === "pipeline") return await outcomes((body as readonly Command[]).map(send));
    if (path?.[0] === "multi-exec") throw new Error("transactions are not carried");
    return (await outcomes([send(body as Command)]))[0];
  };
  return { request: request as Requester["request"] };
}

/** Refusals of the server as values; a server that does not answer rejects. */
async function outcomes(calls: readonly Promise<unknown>[]): Promise<readonly Outcome[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((outcome) => {
    if (outcome.status === "fulfilled") return { result: outcome.value };
    const reason: unknown = outcome.reason;
    if (reason instanceof Error && reason.name === "ReplyError") return { error: reason.message };
    throw reason;
  });
}
