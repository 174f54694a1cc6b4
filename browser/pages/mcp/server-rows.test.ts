import { expect, it } from "vitest";
import { matchingServers, modelsOf } from "./server-rows.ts";
import { trialError } from "./trial-error.ts";

const server = (name: string, upstream_url: string) => ({ name, upstream_url });
const SERVERS = [
  server("docs", "http://one.example/mcp"),
  server("Code", "http://two.example/mcp"),
  server("admin", "http://docs.example/mcp"),
];
const names = (q: string | undefined): readonly string[] => matchingServers(SERVERS, q).map(({ name }) => name);

it("finds servers by a part of name or address, in any case", () => {
  expect(names("DOCS")).toEqual(["docs", "admin"]);
  expect(names("example/mcp")).toHaveLength(3);
  expect(names(undefined)).toHaveLength(3);
  expect(names("(")).toEqual([]);
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
  expect(trialError("connect failed")).toMatch(/could not connect/);
  expect(trialError("http 401")).toMatch(/rejects the credential/);
  expect(trialError("http 500")).toBe("http 500");
  expect(trialError("constructor")).toBe("constructor");
  expect(trialError(null)).toBe("");
});
