/**
 * What the Upstash REST bridge needs from a key-value store. Two stores implement it: the embedded one (memory-backend.ts)
 * and a real Redis (real-backend.ts). One conformance suite holds both to the same answers.
 */

/** A reply as Redis gives it. A status such as `OK` is a string here, as it is in the REST protocol. */
export type Reply = string | number | null | Reply[];

/** One command: its name, then its arguments. */
export type Command = readonly [name: string, ...args: string[]];

/** An error reply of the store; the message starts with its kind (`ERR`, `WRONGTYPE`, `OOM`, `EXECABORT`). */
export class RedisError extends Error {
  override readonly name = "RedisError";
}

/** The store cannot be reached; nothing is known about the command's effect. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
}

/** A key-value store. Commands given in one call of the event loop run in that order. */
export interface Backend {
  /** Runs one command. Throws RedisError or RedisUnavailable. */
  call(command: Command): Promise<Reply>;
  /** Runs all commands with nothing in between; an item that fails is its error. Throws when none was run. */
  transaction(commands: readonly Command[]): Promise<(Reply | RedisError)[]>;
  /** Hands every message of the channels to `onMessage` from the moment the promise resolves. Returns the way to stop. */
  subscribe(channels: readonly string[], onMessage: (channel: string, message: string) => void): Promise<() => void>;
  /** Lets go of every connection. */
  close(): Promise<void>;
}
