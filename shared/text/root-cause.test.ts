import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { GatewayError } from "../errors.ts";
import { clickhouseCause, rootCause } from "./root-cause.ts";

const withFields = (message: string, fields: object, name = "Error"): Error =>
  Object.assign(new Error(message), { name, ...fields });

const refused = (address: string): Error =>
  withFields(`connect ECONNREFUSED ${address}`, { code: "ECONNREFUSED", syscall: "connect" });

const nothing = "no cause is given";

it.each([
  ["a refused connection", refused("127.0.0.1:5432"), "connect ECONNREFUSED 127.0.0.1:5432: nothing listens there"],
  [
    "a name without address",
    withFields("getaddrinfo ENOTFOUND db.example", { code: "ENOTFOUND" }),
    "getaddrinfo ENOTFOUND db.example: the name is not known to DNS",
  ],
  [
    "both addresses of a name",
    new AggregateError([refused("::1:5432"), refused("127.0.0.1:5432")]),
    "connect ECONNREFUSED ::1:5432: nothing listens there; connect ECONNREFUSED 127.0.0.1:5432: nothing listens there",
  ],
  [
    "a fetch",
    new TypeError("fetch failed", { cause: refused("10.0.0.7:80") }),
    "connect ECONNREFUSED 10.0.0.7:80: nothing listens there",
  ],
  [
    "a full disk",
    withFields("ENOSPC: no space left on device, write", { code: "ENOSPC" }),
    "ENOSPC: no space left on device, write: the disk is full",
  ],
  [
    "a database without room",
    withFields('could not extend file "base/5/16": No space left on device', { code: "53100" }),
    "SQLSTATE 53100: could not extend file ...: No space left on device: the disk of the database is full",
  ],
  [
    "an analytics store without room",
    withFields("Cannot reserve 1.00 MiB, not enough space", { code: "243", type: "NOT_ENOUGH_SPACE" }),
    "ClickHouse code 243 NOT_ENOUGH_SPACE: Cannot reserve 1.00 MiB, not enough space: its disk is full",
  ],
  [
    "an object without room",
    new Error("database or disk is full: SQLITE_FULL"),
    "database or disk is full: SQLITE_FULL",
  ],
  [
    "a key-value store without room on disk",
    new Error("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
  ],
  [
    "a key-value store without memory",
    new Error("OOM command not allowed when used memory > 'maxmemory'."),
    "OOM command not allowed when used memory > 'maxmemory'.",
  ],
  [
    "a file",
    withFields("EACCES: permission denied, open '/var/lib/gateway/wal'", { code: "EACCES" }),
    "EACCES: permission denied, open '/var/lib/gateway/wal'",
  ],
  [
    "undici",
    withFields("other side closed", { code: "UND_ERR_SOCKET" }, "SocketError"),
    "other side closed (UND_ERR_SOCKET)",
  ],
  [
    "a certificate",
    withFields("certificate has expired", { code: "CERT_HAS_EXPIRED" }),
    "certificate has expired (CERT_HAS_EXPIRED): its certificate has expired",
  ],
  [
    "a refusal of PostgreSQL within a query",
    new Error("Failed query: select 1\nparams: jobsched", {
      cause: withFields('password authentication failed for user "gateway"', { code: "28P01" }, "error"),
    }),
    'SQLSTATE 28P01: password authentication failed for user "gateway"',
  ],
  [
    "a value that PostgreSQL quotes",
    withFields('invalid input syntax for type uuid: "patient"', { code: "22P02" }, "error"),
    "SQLSTATE 22P02: invalid input syntax for type uuid: ...",
  ],
  ["a query without cause", new Error("Failed query: select $1\nparams: jobsched"), nothing],
  [
    "ClickHouse",
    withFields("Table gw.usage_raw does not exist. Maybe you meant gw.usage?. ", { code: "60", type: "UNKNOWN_TABLE" }),
    "ClickHouse code 60 UNKNOWN_TABLE: Table gw.usage_raw does not exist. Maybe you meant gw.usage?.",
  ],
  [
    "Redis",
    withFields("WRONGPASS invalid username-password pair or user is disabled.", {}, "ReplyError"),
    "WRONGPASS invalid username-password pair or user is disabled.",
  ],
  [
    "a command that the store repeats",
    withFields('READONLY no writes, command was: ["set","key:1","secret words"]', {}, "UpstashError"),
    "READONLY no writes",
  ],
  [
    "text that is no JSON",
    new SyntaxError('Unexpected token h, "hello {"a": 1}" is not valid JSON'),
    "a text is not valid JSON",
  ],
  ["a deadline", new DOMException("no answer within 250 ms", "TimeoutError"), "no answer within 250 ms"],
  [
    "an abort, by what wraps it",
    new Error("no answer within 30 s", { cause: new DOMException("aborted", "AbortError") }),
    "no answer within 30 s",
  ],
  [
    "an error of the gateway by its cause",
    new GatewayError("key_store_unavailable", {
      cause: new Error("Command timed out", { cause: refused("[::1]:6379") }),
    }),
    "connect ECONNREFUSED [::1]:6379: nothing listens there",
  ],
  [
    "an error of the gateway without cause",
    new GatewayError("analytics_unavailable"),
    "analytics store unavailable (analytics_unavailable)",
  ],
  [
    "a fault of the program",
    withFields(
      "Cannot read properties of undefined (reading 'rows')",
      { stack: "x\n    at rowsOf (/srv/x/rows.ts:12:7)" },
      "TypeError",
    ),
    "TypeError: Cannot read properties of undefined (reading 'rows') in rowsOf (rows.ts:12)",
  ],
  [
    "a fault that may quote anything, by its place",
    withFields("the text of a prompt", { stack: "x\n    at file:///srv/x/worker.js:120:7\n    at y" }, "RangeError"),
    "RangeError: a fault of the program in worker.js:120",
  ],
  [
    "an address, by its host",
    new Error("Fetch API cannot load: https://user:pass@models.example:8443/v1/chat?key=1"),
    "Fetch API cannot load: https://models.example:8443",
  ],
  [
    "an event of a socket",
    { type: "error", error: refused("10.0.0.9:443") },
    "connect ECONNREFUSED 10.0.0.9:443: nothing listens there",
  ],
  ["an error without words", new Error(""), nothing],
  ["nothing", undefined, nothing],
])("says the cause of %s", (_, error, words) => {
  expect(rootCause(error)).toBe(words);
});

it("names the fields of a value that has another form, without the value", () => {
  const read = z.object({ tenant: z.object({ weight: z.number() }) }).safeParse({ tenant: { weight: "patient" } });
  expect(rootCause(read.error)).toBe("not in the expected form: tenant.weight: invalid_type");
});

it("says what ClickHouse refused in its first line, without the values", () => {
  const answer =
    "Code: 469. DB::Exception: Constraint `tokens` for table gw.usage_raw is violated at row 1. Expression: (input_tokens >= 0). " +
    "Column values: model = 'patient'. (VIOLATED_CONSTRAINT) (version 25.4.1.1 (official build))\nstack";
  expect(clickhouseCause(answer, "469")).toBe(
    "ClickHouse code 469 VIOLATED_CONSTRAINT: Constraint `tokens` for table gw.usage_raw is violated at row 1. " +
      "Expression: (input_tokens >= 0)",
  );
});

it("repeats no value of a statement, a command, a row or a parsed text", () => {
  const value = fc.stringMatching(/^[a-z]{3} [a-z"{}':, ]{6,30}[a-z]{3}$/);
  fc.assert(
    fc.property(value, (text) => {
      const failures: readonly unknown[] = [
        new Error(`Failed query: select '${text}'\nparams: ${text}`),
        withFields(`invalid input syntax for type integer: "${text}"`, { code: "22P02" }),
        withFields(`syntax error at or near "${text}"`, { code: "42601" }),
        withFields(`Cannot parse input: expected '"' before: '${text}': (while reading the value of key model)`, {
          code: "27",
          type: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
        }),
        withFields(`ERR unknown command, with args beginning with: ${text}`, {}, "ReplyError"),
        withFields(`WRONGTYPE, command was: ["set","${text}"]`, {}, "UpstashError"),
        parseFailure(text),
        new TypeError(text),
        new Error(`https://models.example/${text.replaceAll(" ", "%20")}`),
      ];
      for (const failure of failures) expect(rootCause(failure)).not.toContain(text.slice(4));
    }),
  );
});

function parseFailure(text: string): unknown {
  try {
    return JSON.parse(`{"a": ${text}`) as unknown;
  } catch (error) {
    return error;
  }
}
