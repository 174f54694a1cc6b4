import { expect, it } from "vitest";
import { firstAddressProblem } from "./address.ts";

const problemOf = (host: string, routes: readonly string[]): string | null =>
  firstAddressProblem(`https://${host}`, "gateway", routes);

it("takes an address of workers.dev without routes, and a host name of a route", () => {
  expect(problemOf("gateway.acme.workers.dev", [])).toBeNull();
  for (const route of [
    "api.example.com",
    "api.example.com/*",
    "https://api.example.com/v1/*",
    "*.example.com/*",
    "*example.com",
  ])
    expect(problemOf("api.example.com", [route])).toBeNull();
});

it.each([
  ["api.example.com", []],
  ["another.acme.workers.dev", []],
  ["gateway.acme.workers.dev", ["api.example.com"]],
  ["api.example.org", ["api.example.com", "*.example.net/*"]],
  ["badexample.com", ["*.example.com"]],
  ["example.com", ["*.example.com/*"]],
])("refuses %s where the routes are %j", (host, routes) => {
  expect(problemOf(host, routes)).toContain(`GATEWAY_PROXY_BASE_URL leads to ${host}`);
});
