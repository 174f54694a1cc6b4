/**
 * The commands of the embedded store: exactly those that the gateway uses, with Redis' own answers and error texts. A
 * command either throws RedisError and changes nothing, or takes effect completely. The backend implements PUBLISH,
 * SUBSCRIBE and MULTI.
 */
import { type Command, RedisError, type Reply } from "./backend.ts";
import { SortedSet, type Store, type Value } from "./store.ts";

type Handler = (store: Store, args: readonly string[], now: number) => Reply;

const wrongType = () => new RedisError("WRONGTYPE Operation against a key holding the wrong kind of value");
const syntax = () => new RedisError("ERR syntax error");

function whole(text: string | undefined): number {
  const value = text !== undefined && /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new RedisError("ERR value is not an integer or out of range");
  return value;
}

function ttl(text: string | undefined, unitMs: number, command: string): number {
  const value = whole(text);
  if (value <= 0) throw new RedisError(`ERR invalid expire time in '${command}' command`);
  return value * unitMs;
}

function text(value: Value | undefined): string | null {
  if (value === undefined) return null;
  if (typeof value !== "string") throw wrongType();
  return value;
}

function members(value: Value | undefined): Set<string> {
  if (value === undefined) return new Set();
  if (!(value instanceof Set)) throw wrongType();
  return value;
}

function fields(value: Value | undefined): Map<string, string> {
  if (value === undefined) return new Map();
  if (!(value instanceof Map)) throw wrongType();
  return value;
}

function sorted(value: Value | undefined): SortedSet {
  if (value === undefined) return new SortedSet();
  if (!(value instanceof SortedSet)) throw wrongType();
  return value;
}

/** Stores a set or hash again after a change: an empty one is removed, and the expiry stays. */
function keep(store: Store, key: string, value: Exclude<Value, string>, now: number): void {
  if (value.size === 0) store.delete(key);
  else store.set(key, value, store.deadline(key, now) ?? undefined, now);
}

/** Converts a glob of SCAN's MATCH to a regular expression: `*`, `?`, `[a-z]`, `[^a]` and `\x`. */
function glob(pattern: string): RegExp {
  const source = pattern.replace(
    /\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]|[*?]|[$()+./\\^{|}[\]]/gs,
    (found, escaped, not, set) => {
      if (escaped !== undefined) return `\\u{${escaped.codePointAt(0).toString(16)}}`;
      if (set !== undefined) return set === "" ? "(?!)" : `[${not}${set.replace(/[[\]&]/g, "\\$&")}]`;
      if (found === "*") return ".*";
      return found === "?" ? "." : `\\${found}`;
    },
  );
  return new RegExp(`^${source}$`, "su");
}

const set: Handler = (store, [key = "", value = "", ...options], now) => {
  const before = store.deadline(key, now);
  let expiresAtMs: number | undefined;
  let condition: "NX" | "XX" | undefined;
  let timed = false;
  for (let index = 0; index < options.length; index += 1) {
    const option = options[index]?.toUpperCase();
    if ((option === "NX" || option === "XX") && condition === undefined) condition = option;
    else if (option === "KEEPTTL" && !timed) [timed, expiresAtMs] = [true, before ?? undefined];
    else if ((option === "EX" || option === "PX") && !timed && index + 1 < options.length) {
      index += 1;
      [timed, expiresAtMs] = [true, now + ttl(options[index], option === "EX" ? 1000 : 1, "set")];
    } else throw syntax();
  }
  if (condition !== undefined && (condition === "NX") === (before !== null)) return null;
  store.set(key, value, expiresAtMs, now);
  return "OK";
};

const expire =
  (unitMs: number, command: string): Handler =>
  (store, [key = "", amount, ...rest], now) => {
    const value = whole(amount);
    if (rest.length > 0) throw new RedisError(`ERR Unsupported option ${rest[0]}`);
    if (!Number.isSafeInteger(now + value * unitMs))
      throw new RedisError(`ERR invalid expire time in '${command}' command`);
    const held = store.get(key, now);
    if (held === undefined) return 0;
    if (value <= 0) store.delete(key);
    else store.set(key, held, now + value * unitMs, now);
    return 1;
  };

const remaining =
  (unitMs: number): Handler =>
  (store, [key = ""], now) => {
    const deadline = store.deadline(key, now);
    if (deadline === null) return -2;
    return deadline === undefined ? -1 : Math.floor((deadline - now + unitMs / 2) / unitMs);
  };

const scan: Handler = (store, [cursor, ...options], now) => {
  whole(cursor);
  let match = /^/;
  for (let index = 0; index < options.length; index += 2) {
    const [option, value] = [options[index]?.toUpperCase(), options[index + 1]];
    if (option === "MATCH" && value !== undefined) match = glob(value);
    else if (option !== "COUNT" || value === undefined || whole(value) < 1) throw syntax();
  }
  // COUNT is only a hint: everything fits into one page here, so a scan never misses a key.
  return ["0", cursor === "0" ? store.keys(now).filter((key) => match.test(key)) : []];
};

const zadd: Handler = (store, [key = "", ...pairs], now) => {
  const value = sorted(store.get(key, now));
  if (pairs.length % 2 !== 0) throw syntax();
  const added: [member: string, score: number][] = [];
  for (let index = 0; index < pairs.length; index += 2) added.push([pairs[index + 1] ?? "", whole(pairs[index])]);
  const count = added.filter(([member, score]) => value.set(member, score)).length;
  keep(store, key, value, now);
  return count;
};

const zrange: Handler = (store, [key = "", first, last, option], now) => {
  const value = sorted(store.get(key, now));
  if (option !== undefined && option.toUpperCase() !== "WITHSCORES") throw syntax();
  const rank = (text: string | undefined) => (whole(text) < 0 ? whole(text) + value.size : whole(text));
  const found = value.range(Math.max(0, rank(first)), rank(last) + 1);
  return option === undefined
    ? found.map(([member]) => member)
    : found.flatMap(([member, score]) => [member, `${score}`]);
};

/** Name -> least number of arguments, whether the arguments after `fewest - 2` come in pairs, and the command itself. */
const COMMANDS: Readonly<Record<string, readonly [fewest: number, most: number, run: Handler]>> = {
  PING: [0, 1, (_store, [message]) => message ?? "PONG"],
  GET: [1, 1, (store, [key = ""], now) => text(store.get(key, now))],
  SET: [2, 9, set],
  SETEX: [
    3,
    3,
    (store, [key = "", seconds, value = ""], now) => {
      store.set(key, value, now + ttl(seconds, 1000, "setex"), now);
      return "OK";
    },
  ],
  DEL: [
    1,
    Infinity,
    (store, keys, now) => keys.filter((key) => store.get(key, now) !== undefined && store.delete(key)).length,
  ],
  EXISTS: [1, Infinity, (store, keys, now) => keys.filter((key) => store.get(key, now) !== undefined).length],
  MGET: [
    1,
    Infinity,
    (store, keys, now) =>
      keys.map((key) => {
        const value = store.get(key, now);
        return typeof value === "string" ? value : null;
      }),
  ],
  MSET: [
    2,
    Infinity,
    (store, args, now) => {
      if (args.length % 2 !== 0) throw new RedisError("ERR wrong number of arguments for 'mset' command");
      for (let index = 0; index < args.length; index += 2) {
        store.set(args[index] ?? "", args[index + 1] ?? "", undefined, now);
      }
      return "OK";
    },
  ],
  INCR: [
    1,
    1,
    (store, [key = ""], now) => {
      const next = whole(text(store.get(key, now)) ?? "0") + 1;
      store.set(key, String(next), store.deadline(key, now) ?? undefined, now);
      return next;
    },
  ],
  EXPIRE: [2, 3, expire(1000, "expire")],
  PEXPIRE: [2, 3, expire(1, "pexpire")],
  TTL: [1, 1, remaining(1000)],
  PTTL: [1, 1, remaining(1)],
  SADD: [
    2,
    Infinity,
    (store, [key = "", ...added], now) => {
      const value = members(store.get(key, now));
      const before = value.size;
      for (const member of added) value.add(member);
      keep(store, key, value, now);
      return value.size - before;
    },
  ],
  SREM: [
    2,
    Infinity,
    (store, [key = "", ...removed], now) => {
      const value = members(store.get(key, now));
      const count = removed.filter((member) => value.delete(member)).length;
      keep(store, key, value, now);
      return count;
    },
  ],
  SMEMBERS: [1, 1, (store, [key = ""], now) => [...members(store.get(key, now))]],
  SISMEMBER: [2, 2, (store, [key = "", member = ""], now) => (members(store.get(key, now)).has(member) ? 1 : 0)],
  HSET: [
    3,
    Infinity,
    (store, [key = "", ...pairs], now) => {
      const value = fields(store.get(key, now));
      if (pairs.length % 2 !== 0) throw new RedisError("ERR wrong number of arguments for 'hset' command");
      const before = value.size;
      for (let index = 0; index < pairs.length; index += 2) value.set(pairs[index] ?? "", pairs[index + 1] ?? "");
      keep(store, key, value, now);
      return value.size - before;
    },
  ],
  HSETNX: [
    3,
    3,
    (store, [key = "", field = "", added = ""], now) => {
      const value = fields(store.get(key, now));
      if (value.has(field)) return 0;
      value.set(field, added);
      keep(store, key, value, now);
      return 1;
    },
  ],
  HGET: [2, 2, (store, [key = "", field = ""], now) => fields(store.get(key, now)).get(field) ?? null],
  HINCRBY: [
    3,
    3,
    (store, [key = "", field = "", by = ""], now) => {
      const value = fields(store.get(key, now));
      const next = whole(value.get(field) ?? "0") + whole(by);
      value.set(field, String(next));
      keep(store, key, value, now);
      return next;
    },
  ],
  HKEYS: [1, 1, (store, [key = ""], now) => [...fields(store.get(key, now)).keys()]],
  HGETALL: [1, 1, (store, [key = ""], now) => [...fields(store.get(key, now))].flat()],
  HDEL: [
    2,
    Infinity,
    (store, [key = "", ...removed], now) => {
      const value = fields(store.get(key, now));
      const count = removed.filter((field) => value.delete(field)).length;
      keep(store, key, value, now);
      return count;
    },
  ],
  ZADD: [3, Infinity, zadd],
  ZREM: [
    2,
    Infinity,
    (store, [key = "", ...removed], now) => {
      const value = sorted(store.get(key, now));
      const count = removed.filter((member) => value.delete(member)).length;
      keep(store, key, value, now);
      return count;
    },
  ],
  ZRANGE: [3, 4, zrange],
  ZCARD: [1, 1, (store, [key = ""], now) => sorted(store.get(key, now)).size],
  SCAN: [1, 5, scan],
  FLUSHDB: [
    0,
    1,
    (store) => {
      store.clear();
      return "OK";
    },
  ],
};

/** Throws the RedisError that `command` would get before it runs: for an unknown name or a wrong number of arguments. */
export function checkCommand([name, ...args]: Command): Handler {
  const found = Object.hasOwn(COMMANDS, name.toUpperCase()) ? COMMANDS[name.toUpperCase()] : undefined;
  if (found === undefined) throw new RedisError(`ERR unknown command '${name.slice(0, 128)}'`);
  const [fewest, most, run] = found;
  if (args.length < fewest || args.length > most) {
    throw new RedisError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
  }
  return run;
}

/** Runs one command on the store at the time `now` (ms). Throws RedisError. */
export function runCommand(store: Store, command: Command, now: number): Reply {
  return checkCommand(command)(store, command.slice(1), now);
}
