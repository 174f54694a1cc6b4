import { describe, expect, it } from "vitest";
import { ERROR_TABLE, type ErrorCode, errorBody, errorStatus, errorType, GatewayError } from "./errors.ts";

describe("errors", () => {
  it.each(Object.keys(ERROR_TABLE) as ErrorCode[])("%s has one body shape and a type that fits its status", (code) => {
    const { error } = errorBody(code, { value: "x" });
    expect(Object.keys(error)).toEqual(["message", "type", "code", "param"]);
    expect(error.code).toBe(code);
    expect(error.message).not.toContain("<x>");
    expect(error.type).toBe(errorType(errorStatus(code)));
  });

  it("puts the client's value into the message unchanged", () => {
    expect(errorBody("model_not_found", { value: "a$&b" }).error).toMatchObject({
      message: "model 'a$&b' is not registered",
      param: "model",
    });
  });

  it("names the first invalid field", () => {
    const details = [
      { path: "weekly_windows.0.start_min", message: "must be at least 0" },
      { path: "name", message: "is required" },
    ];
    const error = new GatewayError("validation_failed", { details });
    expect(error.status).toBe(400);
    expect(error.body.error).toMatchObject({ param: "weekly_windows.0.start_min", details });
  });

  it("requests a bearer credential with every 401", () => {
    expect(new GatewayError("invalid_api_key").headers).toEqual({ "www-authenticate": "Bearer" });
    expect(new GatewayError("unauthorized", { headers: { "x-a": "1" } }).headers).toEqual({
      "www-authenticate": "Bearer",
      "x-a": "1",
    });
    expect(new GatewayError("not_found").headers).toEqual({});
  });
});
