/**
 * The form of an error that the gateway itself answers with, alone or as the last event of a stream. The route of the request
 * decides it, here and nowhere else (docs/rules/errors.md#form-by-route): the clients of each API know an error only by that API's own
 * form.
 */
import { type ErrorBody, type ErrorCode, errorStatus, errorType, isErrorCode } from "../../../shared/errors.ts";
import type { JsonObject } from "./json/document.ts";

/** The request that is answered. */
interface Asked {
  readonly path: string;
  readonly requestId: string;
}

type AnyError = ErrorBody["error"] | JsonObject;

/** Without the part after the name of an MCP server or of a model. */
const MESSAGES = /^(?!\/mcp\/|\/v1\/models\/).*\/messages(?:\/|$)/;
/** Streams are made there, and stored ones are read below it. */
const RESPONSES = /\/responses(?:\/[\w.:=-]+)?$/;

/** The document of a refusal. */
export function errorDocument({ error }: { readonly error: AnyError }, { path, requestId }: Asked): object {
  return MESSAGES.test(path) ? { type: "error", error: ofMessages(error), request_id: requestId } : { error };
}

/**
 * The in-band end of a stream (docs/rules/streams.md#broken-streams), also of one whose upstream has reported an error;
 * `before` ends an unfinished event.
 */
export function errorEvent(body: { readonly error: AnyError }, asked: Asked, before = ""): Uint8Array {
  const isResponses = RESPONSES.test(asked.path);
  const data = isResponses ? { ...body.error, type: "error", error: body.error } : errorDocument(body, asked);
  const name = isResponses || MESSAGES.test(asked.path) ? "event: error\n" : "";
  return new TextEncoder().encode(`${before}${name}data: ${JSON.stringify(data)}\n\n`);
}

/** The error with Anthropic's type in place of ours; an upstream's error stays unchanged. */
function ofMessages(error: AnyError): object {
  const { code } = error;
  return isErrorCode(code) ? { ...error, type: typeOfMessages(code) } : error;
}

function typeOfMessages(code: ErrorCode): string {
  if (code.endsWith("_budget_exhausted")) return "billing_error";
  const status = errorStatus(code);
  switch (status) {
    case 401:
    case 403:
    case 404:
    case 429:
      return errorType(status);
    case 413:
      return "request_too_large";
    case 408:
    case 504:
      return "timeout_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}
