/** docs/reference/error-codes.md, limits.md, log-events.md and usage-row.md, from their catalogues. Pure. */
import * as z from "zod";
import { errorTexts } from "../../browser/messages/en/errors.ts";
import { DASHBOARD_ERRORS } from "../../control/dashboard/dashboard-error.ts";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { ERROR_TABLE, type ErrorCode, errorType } from "../../shared/errors.ts";
import { USAGE_ROW_FIELDS } from "../../shared/usage/usage-row.ts";
import { EVENTS_OF_PARTS } from "../local/event-meanings.ts";
import { LIMIT_TEXTS } from "./limit-texts.ts";
import { pageHead, table } from "./markdown.ts";
import { variableFacts } from "./variables.ts";

const ERRORS =
  'Both planes answer `{"error":{"message":...,"type":...,"code":...,"param":...}}`, and every code is in this closed table ([rules](docs/rules/errors.md)). `<x>` in a message stands for the name in the request. An upstream\'s own error body is passed through and can look different.';

/** What each code says, means, and what to do. */
export function errorCodesPage(): string {
  const codes = (Object.keys(ERROR_TABLE) as ErrorCode[]).toSorted(
    (one, two) => ERROR_TABLE[one].status - ERROR_TABLE[two].status,
  );
  const rows = codes.map((code) => {
    const { status, message } = ERROR_TABLE[code];
    return [
      `\`${code}\``,
      String(status),
      `\`${errorType(status)}\``,
      message,
      errorTexts[code],
      errorTexts[`${code}_fix`],
    ];
  });
  const ofConsole = Object.entries(DASHBOARD_ERRORS).map(([code, { status, message }]) => [
    `\`${code}\``,
    String(status),
    `\`${errorType(status)}\``,
    message,
  ]);
  return [
    pageHead("Error codes", ERRORS, [
      "shared/errors.ts",
      "browser/messages/en/errors.ts",
      "control/dashboard/dashboard-error.ts",
    ]),
    table(["code", "status", "type", "message", "what it means", "what to do"], rows),
    "\n## The console\n",
    "Further errors of the console's server, in the same form.\n",
    table(["code", "status", "type", "message"], ofConsole),
    "",
  ].join("\n");
}

/** Bounds that a variable sets, and the bounded values. */
const BY_VARIABLE: readonly (readonly [variable: string, limit: string, more: string])[] = [
  ["GATEWAY_GLOBAL_MAX_IN_FLIGHT", "slots of a cell", "; while running: `PUT /api/v1/capacity`"],
  ["GATEWAY_CELL_HEADROOM", "fraction of a cell's slots kept free for tenants below their share", ""],
  ["GATEWAY_MAX_QUEUED_PER_TENANT", "waiting requests of one tenant in a cell", ""],
  ["GATEWAY_STORED_OBJECTS_PER_TENANT", "ids of stored answers, their items and containers that a tenant has", ""],
  ["GATEWAY_RESPONSES_SOCKETS_PER_TENANT", "WebSockets of Responses of one tenant that a Worker holds", ""],
  ["GATEWAY_MAX_BODY_BYTES", "size of a request body, in bytes", ""],
  [
    "GATEWAY_UPSTREAM_TIMEOUT_SECS",
    "timeout of an upstream attempt, or of the silence of a stream, in seconds",
    "; `request_timeout_secs` of a model",
  ],
  ["GATEWAY_STALLED_READER_SECS", "how long a client can stop reading its response, in seconds", ""],
  [
    "GATEWAY_USAGE_RETENTION_DAYS",
    "days that raw usage rows are kept (daily sums are kept forever)",
    "; `settings/usage-retention`",
  ],
];

const LIMITS_INTRO =
  "Every limit of the gateway, and what changes it. Limits of a tenant, key or model are fields of that record ([management](docs/management.md)).";

/** Every bound with its value. */
export function limitsPage(): string {
  const facts = new Map(variableFacts().map((each) => [each.name, each]));
  const byVariable = BY_VARIABLE.map(([name, limit, more]) => [
    limit,
    facts.get(name)?.default ?? "",
    `\`${name}\`${more}`,
  ]);
  const names = Object.keys(LIMITS) as (keyof typeof LIMITS)[];
  const fixed = names.map((name) => {
    const { limit, unit, changedBy } = LIMIT_TEXTS[name];
    return [limit, amountText(LIMITS[name], unit), changedBy ?? "fixed"];
  });
  return `${pageHead("Limits", LIMITS_INTRO, ["shared/catalogues/limits.ts", "infra/reference/limit-texts.ts", "edge/env.ts"])}\n${table(
    ["limit", "value", "changed by"],
    [...byVariable, ...fixed],
  )}\n`;
}

function amountText(value: number, unit: "bytes" | "ms" | "count"): string {
  if (unit === "ms") return `${value / 1000} s`;
  if (unit === "count") return value.toLocaleString("en-US");
  return value < 1024 * 1024 ? `${value / 1024} KiB` : `${value / (1024 * 1024)} MiB`;
}

const EVENTS =
  "Every part logs JSON lines with `level` (30 info, 40 warning, 50 error), `time` and `event`. A line about a failure has `reason`, its root cause in words: host, port, system error, SQLSTATE, or ClickHouse code; never a secret or a statement. Some lines also have `fix` (what to do). A line that a part writes outside its log, such as a crash of the Worker runtime, has the event `output` and the line as `message`. On a terminal, `npm start` prints these meanings. [Logs](docs/watch.md#logs) lists the fields of a request's log line. The control service also logs `auth_failed` and `alert_lost`.";

/** What each event means, by the part that logs it. */
export function logEventsPage(): string {
  const parts = Object.entries(EVENTS_OF_PARTS).map(([part, events]) => {
    const rows = Object.entries(events).map(([event, meaning]) => [`\`${event}\``, meaning]);
    return `## ${part}\n\n${table(["event", "what it means"], rows)}\n`;
  });
  return `${pageHead("Log events", EVENTS, ["infra/local/event-meanings.ts"])}\n${parts.join("\n")}`;
}

const USAGE_ROW =
  "Every request is stored as one row of `usage_raw` ([rules](docs/rules/settlement-and-rows.md#rows)). `GET /usage/logs` returns it with the names of tenant and key. A sub-call is a call that the gateway makes to serve a request ([sub-calls](docs/rules/settlement-and-rows.md#sub-calls)). The rules say which tokens are [billed](docs/rules/settlement-and-rows.md#tokens-owed). An unknown text is empty and an unknown number is 0, also in rows older than the field.";

/** The meaning of each field of a usage row, its column, and who sees it. */
export function usageRowPage(): string {
  const rows = Object.entries(USAGE_ROW_FIELDS).map(([field, { value, column, user, about }]) => {
    const { type, enum: values } = z.toJSONSchema(value);
    const valueText = values === undefined ? String(type) : `\`${values.join("`, `")}\``;
    return [`\`${field}\``, valueText, about, `\`${column}\``, user ? "everyone" : "admins"];
  });
  return `${pageHead("Usage row", USAGE_ROW, ["shared/usage/usage-row.ts"])}\n${table(
    ["field", "value", "meaning", "column", "seen in the console by"],
    rows,
  )}\n`;
}
