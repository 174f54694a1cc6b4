import { expect, it } from "vitest";
import { refusedCaller } from "./refused-caller.ts";

const SECRET = `sk_${"0123456789abcdef".repeat(3)}`;

const request = (headers: Record<string, string>, cf?: object): Request =>
  Object.defineProperty(new Request("http://gateway.test/v1/models", { headers }), "cf", { value: cf });

it.each([
  ["a key of the gateway", { authorization: `Bearer ${SECRET}` }, "sk_0123456789abcde"],
  ["a key in x-api-key", { "x-api-key": SECRET }, "sk_0123456789abcde"],
  ["another provider's key", { authorization: "Bearer sk-proj-AbCdEfGhIjKlMnOpQrStUvWx" }, "sk-proj-"],
  ["a short text", { authorization: "Bearer secret" }, "s"],
  ["no bearer token", { authorization: "Basic dXNlcjpwYXNz" }, ""],
  ["no credential", {}, null],
])("tells at most the prefix of %s", (_, headers, prefix) => {
  expect(refusedCaller(request(headers)).key_prefix).toBe(prefix);
});

it("has the address that the platform gives", () => {
  const headers = { "cf-connecting-ip": "203.0.113.7", "x-forwarded-for": "198.51.100.1" };
  expect(refusedCaller(request(headers, { colo: "FRA" }))).toEqual({ address: "203.0.113.7", key_prefix: null });
});

it("elsewhere has the connection, and believes no header of the client", () => {
  const headers = { "cf-connecting-ip": "203.0.113.7", "x-forwarded-for": `${"9".repeat(500)}, 198.51.100.1` };
  const { forwarded_for: forwarded, ...rest } = refusedCaller(request(headers, { clientIp: "127.0.0.1:4000" }));
  expect(rest).toEqual({ peer: "127.0.0.1:4000", key_prefix: null });
  expect(forwarded).toHaveLength(400);
  expect(forwarded?.endsWith(", 198.51.100.1")).toBe(true);
});
