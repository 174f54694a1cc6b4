/** Errors of both dialects: types by status, and one document in the form of the other. */
import { errorType } from "../../../shared/errors.ts";
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";
import { listed, textOf } from "./values.ts";

/** Anthropic's types by status. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  ...Object.fromEntries(Object.entries(TYPES).map(([status, type]) => [type, Number(status)])),
};

/** An error of a chat completions server as Anthropic's. A stream's error has its status in `code`, if at all. */
export function messagesError(status: number, body: unknown): JsonObject {
  const type = TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return { type: "error", error: { type, message: messageOf(status, body) } };
}

/** An error of Anthropic as one of chat completions; its own type is the code. */
export function chatError(status: number, body: unknown): JsonObject {
  const error = isJsonObject(body) ? body["error"] : null;
  const code = isJsonObject(error) && textOf(error["type"]) !== "" ? error["type"] : null;
  return { error: { message: messageOf(status, body), type: errorType(status), param: null, code } };
}

/** The status of an error event, which carries none itself. */
export function statusOfEvent(event: JsonObject): number {
  const { error } = event;
  const { type, code } = isJsonObject(error) ? error : event;
  const status = Number(code ?? Number.NaN);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : (listed(STATUSES, type) ?? 500);
}

/** Servers write `{error: {message}}`, `{error: "..."}` or `{message}`. */
function messageOf(status: number, body: unknown): string {
  const { error = null, message = null, detail = null } = isJsonObject(body) ? body : {};
  const told = [isJsonObject(error) ? error["message"] : error, message, detail]
    .map(textOf)
    .find((text) => text !== "");
  return told ?? `the upstream answered with status ${String(status)}`;
}
