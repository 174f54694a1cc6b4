import { describe, expect, it } from "vitest";
import { type ErrorCode, errorBody } from "../../../shared/errors.ts";
import { errorDocument, errorEvent } from "./error-form.ts";

const requestId = "an-id";
const body = errorBody("api_key_disabled");

describe("the document of a refusal", () => {
  it.each(["/v1/messages", "/v1/messages/count_tokens", "/messages"])("is Anthropic's on %s", (path) => {
    expect(errorDocument(body, { path, requestId })).toEqual({
      type: "error",
      error: body.error,
      request_id: requestId,
    });
  });

  it.each(["/v1/chat/completions", "/v1/mymessages", "/mcp/tools/messages", "/v1/models/a/messages"])(
    "is the error body on %s",
    (path) => {
      expect(errorDocument(body, { path, requestId })).toEqual(body);
    },
  );

  it.each<[ErrorCode, string]>([
    ["validation_failed", "invalid_request_error"],
    ["request_blocked", "invalid_request_error"],
    ["missing_api_key", "authentication_error"],
    ["model_disabled", "permission_error"],
    ["tenant_budget_exhausted", "billing_error"],
    ["end_user_budget_exhausted", "billing_error"],
    ["model_not_found", "not_found_error"],
    ["request_timeout", "timeout_error"],
    ["request_too_large", "request_too_large"],
    ["unsupported_encoding", "invalid_request_error"],
    ["queue_full", "rate_limit_error"],
    ["internal_error", "api_error"],
    ["upstream_failed", "api_error"],
    ["gateway_stopping", "overloaded_error"],
    ["upstream_timeout", "timeout_error"],
  ])("has on /v1/messages for %s the type %s, and keeps its code", (code, type) => {
    expect(errorDocument(errorBody(code), { path: "/v1/messages", requestId })).toMatchObject({
      error: { type, code },
    });
  });

  it("keeps the type of an error that is an upstream's", () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    expect(errorDocument({ error }, { path: "/v1/messages", requestId })).toMatchObject({ error });
  });
});

describe("the in-band error", () => {
  const shown = (path: string) => new TextDecoder().decode(errorEvent(body, { path, requestId }, "\n\n"));
  const eventOf = (path: string) => {
    const [, event, data] = /^\n\nevent: (\w+)\ndata: (.+)\n\n$/.exec(shown(path)) ?? [];
    return { event, data: JSON.parse(data ?? "null") as unknown };
  };

  it("is the error body on routes without named events", () => {
    expect(shown("/v1/chat/completions")).toBe(`\n\ndata: ${JSON.stringify(body)}\n\n`);
  });

  it("is an event `error` with its fields also at the top on /v1/responses", () => {
    const { error } = body;
    expect(eventOf("/v1/responses")).toEqual({ event: "error", data: { ...error, type: "error", error } });
  });

  it("is an event `error` with the document of the refusal on /v1/messages", () => {
    const path = "/v1/messages";
    expect(eventOf(path)).toEqual({ event: "error", data: errorDocument(body, { path, requestId }) });
  });
});
