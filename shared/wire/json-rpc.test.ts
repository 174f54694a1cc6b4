/** How the gateway reads a tool server's messages, and its answers to the server's own requests. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { received, rpcNotification, rpcRequest } from "./json-rpc.ts";

const METHOD_NOT_FOUND = { code: -32_601, message: "Method not found" };
const of = (...messages: readonly unknown[]) =>
  received(JSON.stringify(messages.length === 1 ? messages[0] : messages), 7);
const answersTo = (...messages: readonly unknown[]) =>
  of(...messages).answers.map((text) => JSON.parse(text) as unknown);
const result = (value: unknown, id: unknown = 7) => ({ jsonrpc: "2.0", id, result: value });

describe("messages of a tool server", () => {
  it.each([
    ["a result", [result({ a: 1 })], { kind: "result", result: { a: 1 } }],
    ["a result among others", [result({}, 1), result({ a: 1 })], { kind: "result", result: { a: 1 } }],
    ["the first of two results", [result({ a: 1 }), result({ a: 2 })], { kind: "result", result: { a: 1 } }],
    [
      "an error",
      [{ id: 7, error: { code: -32_602, message: "bad" } }],
      { kind: "error", methodUnknown: false, message: "bad" },
    ],
    [
      "an error without words",
      [{ id: 7, error: { code: -32_601, message: 9 } }],
      { kind: "error", methodUnknown: true, message: "" },
    ],
    ["a result of a later message", [result(9), result({ a: 1 })], { kind: "result", result: { a: 1 } }],
    ["an id that is a text", [result({}, "7")], null],
    ["another id", [result({}, 8)], null],
    ["no id", [{ result: {} }], null],
    ["a request with our id", [{ id: 7, method: "ping", result: {} }], null],
    ["a result that is no object", [result("x")], null],
    ["no object", [7], null],
    ["an empty list", [], null],
  ])("are read for the reply: %s", (_, messages, expected) => {
    expect(of(...messages).reply).toEqual(expected);
  });

  it.each([
    ["a ping", { id: "a", method: "ping" }, [{ jsonrpc: "2.0", id: "a", result: {} }]],
    [
      "sampling",
      { id: 0, method: "sampling/createMessage", params: {} },
      [{ jsonrpc: "2.0", id: 0, error: METHOD_NOT_FOUND }],
    ],
    ["elicitation", { id: 1, method: "elicitation/create" }, [{ jsonrpc: "2.0", id: 1, error: METHOD_NOT_FOUND }]],
    ["roots", { id: 1, method: "roots/list" }, [{ jsonrpc: "2.0", id: 1, error: METHOD_NOT_FOUND }]],
    ["a method that is not a text", { id: 1, method: {} }, [{ jsonrpc: "2.0", id: 1, error: METHOD_NOT_FOUND }]],
    ["a notification", { method: "notifications/progress", params: {} }, []],
    ["an id that is null", { id: null, method: "ping" }, []],
    ["an id that is an object", { id: { a: 1 }, method: "ping" }, []],
    ["an id that is no whole number", { id: 1.5, method: "ping" }, []],
    ["an id that is too long", { id: "x".repeat(257), method: "ping" }, []],
  ])("are answered when they ask: %s", (_, message, expected) => {
    expect(answersTo(message)).toEqual(expected);
  });

  it("may come in one list: what asks is answered, and the reply counts", () => {
    const text = JSON.stringify([{ id: 1, method: "ping" }, { method: "notifications/message" }, result({ a: 1 })]);
    expect(received(text, 7)).toMatchObject({
      reply: { kind: "result" },
      answers: [expect.stringContaining('"id":1')],
    });
  });

  it("that are anything at all throw nothing, and answers are messages of their own", () => {
    const message = fc.oneof(
      fc.jsonValue(),
      fc.record({ id: fc.jsonValue(), method: fc.jsonValue() }, { requiredKeys: [] }),
      fc.record({ id: fc.constant(7), result: fc.jsonValue(), error: fc.jsonValue() }, { requiredKeys: [] }),
    );
    const text = fc.oneof(
      fc.string(),
      fc.oneof(message, fc.array(message)).map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(text, (given) => {
        for (const answer of received(given, 7).answers)
          expect(answer).toMatch(/^\{"jsonrpc":"2\.0","id":.+,"(result|error)":/);
      }),
    );
  });
});

describe("messages to a tool server", () => {
  it("are JSON-RPC 2.0", () => {
    expect(JSON.parse(rpcRequest(3, "tools/list", { cursor: "c" }))).toEqual({
      jsonrpc: "2.0",
      id: 3,
      method: "tools/list",
      params: { cursor: "c" },
    });
    expect(JSON.parse(rpcNotification("notifications/initialized"))).toEqual({
      jsonrpc: "2.0",
      method: "notifications/initialized",
    });
  });
});
