/**
 * The one list of values that no log line may contain, in either plane: fields by their names, and texts that are credentials
 * anywhere. Callers of the log pass plain facts anyway; this list catches mistakes.
 */

/** Fields whose values are never written: credentials, and the bodies that clients and upstreams send. */
export const SECRET_FIELDS = [
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "api_key",
  "auth_header",
  "secret",
  "password",
  "token",
  "key_hash",
  "previous_key_hash",
  "prompt",
  "messages",
  "input",
  "body",
  "query",
  "url",
] as const;

export const CENSORED = "[redacted]";

/**
 * Keys of the gateway beyond their display prefix, keys of upstreams, bearer and basic credentials, sealed secrets, and the
 * user part of a URL. None of these contains a character that JSON escapes, so that a line stays valid JSON. Plain
 * alternatives only: this runs over every line, and look-behind makes it six times as slow.
 */
const SECRET_TEXT =
  /sk_[0-9a-f]{16,}|sk-[\w-]{16,}|[Bb]earer [\w.~+/=-]{8,}|[Bb]asic [\w.~+/=-]{8,}|enc:v1:[\w+/=-]+|:\/\/[^\s"\\/@]+@/g;

/**
 * These and identity tokens. A text that only starts like a token is matched whole: to look behind each "eyJ" in it takes quadratic
 * time.
 */
const SECRET_OR_TOKEN = new RegExp(`eyJ[\\w-]{8,}(?:\\.[\\w-]+\\.[\\w-]*)?|${SECRET_TEXT.source}`, "g");

/** A line with every credential in it replaced, in linear time. */
export function censored(line: string): string {
  let isIncomplete = false;
  const text = line.replace(SECRET_OR_TOKEN, (found, at: number) => {
    if (!found.startsWith("eyJ")) return replacement(found, line[at - 1]);
    if (found.includes(".")) return CENSORED;
    isIncomplete = true;
    return found;
  });
  // it may contain another credential
  return isIncomplete ? text.replace(SECRET_TEXT, (found, at: number) => replacement(found, text[at - 1])) : text;
}

function replacement(found: string, before = ""): string {
  if (found.startsWith("://")) return `://${CENSORED}@`;
  // words such as "task-..."
  return found.startsWith("sk-") && /\w/.test(before) ? found : CENSORED;
}

const SECRET_NAMES: ReadonlySet<string> = new Set(SECRET_FIELDS);

/** The fields with the values of secret fields replaced. */
export function loggable<T extends object>(fields: T): T | Record<string, unknown> {
  for (const name in fields) if (SECRET_NAMES.has(name)) return without(fields);
  return fields;
}

function without(fields: object): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, value]) => [name, SECRET_NAMES.has(name) ? CENSORED : value]));
}
