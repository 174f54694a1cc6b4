/**
 * The key-value store interface that the Upstash REST bridge needs. Two stores implement it: the embedded one
 * (memory-backend.ts) and a real Redis (real-backend.ts). One conformance suite requires the same answers of both.
 */

/** A reply of Redis. A status such as `OK` is a string here, as in the REST protocol. */
export type Reply = string | number | null | Reply[];

/** One command: its name, then its arguments. */
export type Command = readonly [name: string, ...args: string[]];

/** An error reply of the store; the message starts with its kind (`ERR`, `WRONGTYPE`, `OOM`, `EXECABORT`). */
export class RedisError extends Error {
  override readonly name = "RedisError";
}

/** The store cannot be reached; it is unknown whether the command had an effect. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
}

/** A key-value store. Commands given in one call of the event loop run in that order. */
export interface Backend {
  /** Runs one command. Throws RedisError or RedisUnavailable. */
  call(command: Command): Promise<Reply>;
  /**
   * Runs all commands with no other command in between; the result of a command that fails is its error. Throws when no
   * command was run.
   */
  transaction(commands: readonly Command[]): Promise<(Reply | RedisError)[]>;
  /**
   * Calls `onMessage` with every message of the channels from the moment the promise resolves. Returns a function that
   * stops this.
   */
  subscribe(channels: readonly string[], onMessage: (channel: string, message: string) => void): Promise<() => void>;
  /** Closes every connection. */
  close(): Promise<void>;
}
