/**
 * A real Redis behind the same interface, through one shared connection (and one for each subscription). Replies are passed
 * on as Redis sent them. A transaction is written in one turn of the event loop, so that no other command comes between
 * MULTI and EXEC on the shared connection.
 */
import { Redis } from "ioredis";
import { rootCause } from "../../../shared/text/root-cause.ts";
import { type Backend, type Command, RedisError, RedisUnavailable, type Reply } from "./backend.ts";

const COMMAND_TIMEOUT_MS = 5_000;

const isReplyError = (error: unknown): error is Error => error instanceof Error && error.name === "ReplyError";

/**
 * Connects to `url` (redis://, rediss:// or the path of a socket) in the background; a command that is sent before waits,
 * then fails as unavailable.
 */
export function realBackend(url: string): Backend {
  const place = URL.parse(url)?.host || "its socket";
  /** What went wrong with a connection last: the failure of a command says only that it was given up. */
  let lastError: Error | undefined;
  const failure = (error: unknown): Error => {
    if (isReplyError(error)) return new RedisError(error.message);
    const isLost = error instanceof Error && error.name === "MaxRetriesPerRequestError";
    return new RedisUnavailable(
      `the store of GATEWAY_REDIS_URL at ${place} is not available: ${rootCause(isLost ? lastError : error)}`,
    );
  };
  const connect = () => {
    const client = new Redis(url, {
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_TIMEOUT_MS,
      enableAutoPipelining: false,
    });
    client.on("error", (error) => {
      lastError = error;
    });
    return client;
  };
  const shared = connect();
  const subscribers = new Set<Redis>();

  // In upper case the command name does not match ioredis' reply transformers (HGETALL as an object), which are found by
  // lower-case name.
  const send = async ([name, ...args]: Command): Promise<Reply> =>
    (await shared.call(name.toUpperCase(), ...args)) as Reply;

  return {
    call: async (command) => {
      try {
        return await send(command);
      } catch (error) {
        throw failure(error);
      }
    },
    transaction: async (commands) => {
      const queued = [["MULTI"] as const, ...commands, ["EXEC"] as const].map((command) => send(command));
      const results = await Promise.allSettled(queued);
      const executed = results.at(-1);
      if (executed?.status !== "fulfilled") throw failure(executed?.reason);
      return (executed.value as unknown[]).map((item) =>
        item instanceof Error ? new RedisError(item.message) : (item as Reply),
      );
    },
    subscribe: async (channels, onMessage) => {
      const client = connect();
      subscribers.add(client);
      const stop = () => {
        subscribers.delete(client);
        client.disconnect();
      };
      client.on("message", onMessage);
      try {
        await client.subscribe(...channels);
      } catch (error) {
        stop();
        throw failure(error);
      }
      return stop;
    },
    close: async () => {
      for (const client of subscribers) client.disconnect();
      shared.disconnect();
    },
  };
}
