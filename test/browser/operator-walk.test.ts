/** A new operator's way through the console, by clicks and keys alone. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { useConsole } from "../harness/browser/use-console.ts";
import { Walk } from "./walks/walk.ts";
import { walkAsOperator } from "./walks/walk-operator.ts";

const fixture = useConsole();

it("from nothing to a tenant that calls a model takes less than twenty clicks", async () => {
  await fixture.withoutModels();
  const { page, context, problems } = await fixture.open();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/sign-in");
  const id = randomUUID();
  const walk = new Walk(async () => undefined);
  const answer = await walkAsOperator({
    walk,
    gateway: fixture.gateway,
    page,
    access: fixture.admin,
    model: { name: `0-first-${id}`, address: fixture.upstream.url, upstreamModel: "plain" },
    tenantName: `first tenant ${id}`,
  });
  expect(answer).toContain("hello world");
  expect(walk.clicks).toBeLessThan(20);
  expect(problems()).toEqual([]);
});
