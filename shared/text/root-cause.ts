/**
 * The cause of a failure, in words for a log line: the innermost error that has a message, with its host, port, errno, SQLSTATE
 * or ClickHouse code. Never a bare class name, a stack, a statement with its values, a text that was parsed, or a credential.
 * Knows the errors of Node, workerd, undici, pg, ClickHouse, the Redis clients, zod and drizzle by their shape, because both
 * runtimes use it and a class does not survive RPC.
 */
import { censored } from "./redaction.ts";

const WORDS_MAX = 240;
const DEPTH_MAX = 8;
/** Of the errors within an AggregateError, and of the issues of a schema. */
const LISTED_MAX = 3;
const UNKNOWN = "no cause is given";

/** What the codes of connections mean, for those whose own text does not say it. */
export const CONNECTION_CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the name is not known to DNS",
  EAI_AGAIN: "DNS does not answer",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the network",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its authority is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate chain is incomplete",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its authority is not trusted",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not use TLS there",
  EPROTO: "it does not use TLS there",
};

/** What the codes of stores mean that have no room. */
const NO_ROOM: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  /** SQLSTATE disk_full */
  "53100": "the disk of the database is full",
  /** ClickHouse NOT_ENOUGH_SPACE */
  "243": "its disk is full",
};

const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Their messages quote values (class 22) or the statement (42601). */
const QUOTING_SQLSTATE = /^(22|42601)/;
const SYSTEM_CODE = /^E[A-Z0-9_]+$/;
/** Errors of the language: their messages may quote what the program worked on, such as a prompt. */
const LANGUAGE_ERRORS = new Set(["TypeError", "RangeError", "ReferenceError"]);
/** Errors whose messages quote only names of the program, and errors of the runtime. */
const HARMLESS =
  /^(?:Cannot read properties of (?:undefined|null) \(reading '[\w$#]+'\)|[\w.$#]+ is not (?:a function|a constructor|iterable|defined)|Maximum call stack size exceeded|Invalid array length|Invalid time value|fetch failed|Fetch API cannot load: \S+|The RPC receiver does not implement the method "\w+"\.)$/;
/** From here on, servers and clients repeat what they were given. */
const REPEATED =
  /, command was:|,? with args|[.,:]? ?Column values:|:? before:|,?:? [Ii]n scope |:? \(?[Ww]hile |: ?failed at position|\nparams:/;
const QUOTED = /"[^"]*"?|`[^`]*`?|(?<!\w)'[^']*'?(?!\w)/g;
/** A quoted name of a table, a column, a user or a field. */
const NAME = /^.[\w.:-]{1,63}.$/;

/** The cause of a failure, in one line. */
export function rootCause(error: unknown): string {
  return censored(wordsOf(error, 0) ?? UNKNOWN);
}

/** What ClickHouse answered: its code with its name, and the first line without values. */
export function clickhouseCause(answer: string, code: string): string {
  const said = /Exception: ([^\n]*)/.exec(answer)?.[1] ?? answer;
  const name = /\(([A-Z][A-Z0-9_]{2,})\)/.exec(answer)?.[1];
  const words = plainWords(said.replace(/\(version [^)]*\)/, "").replace(`(${name})`, ""));
  const cause = `ClickHouse code ${code}${name === undefined ? "" : ` ${name}`}${words === "" ? "" : `: ${words}`}`;
  return censored(withMeaning(cause, code));
}

/** Null: it has no message of its own. The cause is tried first. */
function wordsOf(error: unknown, depth: number): string | null {
  if (typeof error === "string") return plainWords(error) || null;
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return null;
  const { cause, errors, error: inner } = error as { cause?: unknown; errors?: unknown; error?: unknown };
  // an AggregateError, and the event of a WebSocket that failed
  const within = Array.isArray(errors) ? listed(errors.map((one) => wordsOf(one, depth + 1))) : null;
  return wordsOf(cause, depth + 1) ?? within ?? wordsOf(inner, depth + 1) ?? ownWords(error as Failure);
}

interface Failure {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly type?: unknown;
  readonly issues?: unknown;
  readonly stack?: unknown;
}

function ownWords({ name, message, code, type, issues, stack }: Failure): string | null {
  if (Array.isArray(issues)) return `not in the expected form: ${listed(issues.map(issueWords))}`;
  if (name === "SyntaxError") return "a text is not valid JSON";
  if (name === "AbortError" || typeof message !== "string") return null;
  if (message.startsWith("Failed query:")) return null;
  if (typeof code !== "string" && typeof name === "string" && LANGUAGE_ERRORS.has(name))
    return `${name}: ${HARMLESS.test(message) ? plainWords(message) : "a fault of the program"}${placeOf(stack)}`;
  if (typeof code !== "string") return message === name ? null : plainWords(message) || null;
  if (SQLSTATE.test(code))
    return withMeaning(`SQLSTATE ${code}: ${plainWords(message, QUOTING_SQLSTATE.test(code))}`, code);
  if (/^\d{1,4}$/.test(code) && typeof type === "string") return clickhouseCause(`${message} (${type})`, code);
  const said = SYSTEM_CODE.test(code) ? firstLine(message) : plainWords(message);
  const withCode = said.includes(code) ? said : `${said} (${code})`.trimStart();
  return withMeaning(withCode, code, { ...CONNECTION_CODES, ...NO_ROOM });
}

function withMeaning(words: string, code: string, meanings = NO_ROOM): string {
  return Object.hasOwn(meanings, code) ? `${words}: ${meanings[code]}` : words;
}

/** The function and the line that threw an error, without the folder. */
function placeOf(stack: unknown): string {
  const frame = typeof stack === "string" ? /\n\s+at ([^\n]*)/.exec(stack)?.[1] : undefined;
  const [, name, line] =
    /^(?:async |new )?(?:([\w$.#<>]{1,80}) \()?(?:[^()]*[\\/])?([\w.-]{1,60}:\d+):\d+\)?$/.exec(frame ?? "") ?? [];
  return line === undefined ? "" : ` in ${name === undefined ? line : `${name} (${line})`}`;
}

function issueWords(issue: unknown): string | null {
  const { path, code } = issue as { path?: unknown; code?: unknown };
  return `${Array.isArray(path) ? path.map(String).join(".") : ""}: ${String(code)}`;
}

function listed(words: readonly (string | null)[]): string | null {
  const said = [...new Set(words)].filter((one) => one !== null);
  if (said.length === 0) return null;
  const more = said.length > LISTED_MAX ? ` and ${said.length - LISTED_MAX} more` : "";
  return `${said.slice(0, LISTED_MAX).join("; ")}${more}`;
}

/** The first line, without repeated parts: addresses keep their host, quoted texts stay if they are names. */
function plainWords(message: string, quotesValues = false): string {
  const [told = ""] = message.split(REPEATED, 1);
  const line = firstLine(told);
  return (quotesValues ? line.replace(/".*/, "...") : line)
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#@]*@)?([\w.:[\]-]*)\S*/gi, "$1$2")
    .replace(QUOTED, (quoted) => (NAME.test(quoted) ? quoted : "..."))
    .slice(0, WORDS_MAX);
}

function firstLine(text: string): string {
  return (text.trim().split("\n", 1)[0] ?? "").slice(0, WORDS_MAX).trimEnd();
}
