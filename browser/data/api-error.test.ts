/** Whatever answers in place of the console's server, a page gets an error that it can show. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError, errorOf } from "./api-error.ts";

const refusal = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers });

describe("errorOf", () => {
  it("reads the error body", () => {
    const body = { error: { message: "name is taken", type: "conflict_error", code: "name_taken", param: "name" } };
    const { status, code, message, param, retryAfterSecs } = errorOf(refusal(409, { "retry-after": "7" }), body);
    expect({ status, code, message, param, retryAfterSecs }).toEqual({
      status: 409,
      code: "name_taken",
      message: "name is taken",
      param: "name",
      retryAfterSecs: 7,
    });
  });

  it("reports what a refused field has to be", () => {
    const details = [
      { path: "other", message: "must not be blank" },
      { path: "name", message: "must be short" },
    ];
    const body = { error: { message: "validation failed", code: "validation_failed", param: "name", details } };
    expect(errorOf(refusal(400), body)).toMatchObject({ message: "must be short", param: "name" });
  });

  it("reports the status for any other body", () => {
    fc.assert(
      fc.property(fc.anything(), (body) => {
        const error = errorOf(refusal(502, { "retry-after": "soon" }), body);
        expect(error).toBeInstanceOf(ApiError);
        expect({
          status: error.status,
          codeType: typeof error.code,
          messageType: typeof error.message,
          retryAfterSecs: error.retryAfterSecs,
        }).toEqual({ status: 502, codeType: "string", messageType: "string", retryAfterSecs: null });
      }),
    );
  });

  it.each([
    [400, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])("knows whether a %s may pass", (status, isPassing) => {
    expect(errorOf(refusal(status), null).isPassing).toBe(isPassing);
  });
});
