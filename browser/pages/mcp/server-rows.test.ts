import { expect, it } from "vitest";
import { modelsOf, serverRows } from "./server-rows.ts";
import { trialError } from "./trial-error.ts";

const server = (name: string, upstream_url: string, created_at: string) => ({ name, upstream_url, created_at });
const SERVERS = [
  server("docs", "http://one.example/mcp", "2026-11-02T00:00:00.000Z"),
  server("Code", "http://two.example/mcp", "2026-11-01T00:00:00.000Z"),
  server("admin", "http://docs.example/mcp", "2026-11-03T00:00:00.000Z"),
];
const names = (search: Parameters<typeof serverRows>[1]): readonly string[] =>
  serverRows(SERVERS, search).map(({ name }) => name);

it("finds servers by a part of name or address, in any case", () => {
  expect(names({ q: "DOCS" })).toEqual(["admin", "docs"]);
  expect(names({ q: "example/mcp" })).toHaveLength(3);
  expect(names({ q: "(" })).toEqual([]);
});

it("puts them in the order of the address of the page, and changes no list", () => {
  expect(names({})).toEqual(["Code", "admin", "docs"]);
  expect(names({ descending: "true" })).toEqual(["docs", "admin", "Code"]);
  expect(names({ order: "created" })).toEqual(["Code", "docs", "admin"]);
  expect(SERVERS[0]?.name).toBe("docs");
});

it("names the models that run the tools of a server", () => {
  const models = [
    { model_name: "b", tool_servers: ["docs"] },
    { model_name: "a", tool_servers: ["other", "docs"] },
    { model_name: "c", tool_servers: ["docs-2"] },
  ];
  expect(modelsOf(models, "docs")).toEqual(["a", "b"]);
});

it("says in words why a test failed, and leaves what nobody has words for", () => {
  expect(trialError("connect failed")).toMatch(/no connection/);
  expect(trialError("http 401")).toMatch(/refuses the credential/);
  expect(trialError("http 500")).toBe("http 500");
  expect(trialError("constructor")).toBe("constructor");
  expect(trialError(null)).toBe("");
});
