/**
 * Every route of the Management API that a page names with its method, or calls with curl, is in the API document.
 * @module-tag check
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readDocument } from "../harness/api-document.ts";
import { startControl, type TestControl } from "../harness/control.ts";

const ROOT = join(import.meta.dirname, "../..");
/** `GET /api/v1/...` */
const NAMED = /`(GET|POST|PUT|PATCH|DELETE) \/api\/v1(\/[^`?\s,]*)`/g;
const CALLED = /\bcurl (?:[^\n`]|\\\n)*/g;
const URL_OF_CALL = /(?:127\.0\.0\.1:9180\/api\/v1|\$API)(\/[^"'?\s]*)/;

let control: TestControl;
let known: ReadonlySet<string>;
beforeAll(async () => {
  control = await startControl();
  const { operations } = readDocument(await (await control.app.request("/api/v1/openapi.json")).text());
  known = new Set(
    operations.map(({ method, path }) => `${method.toUpperCase()} ${shapeOf(path.replace(/^\/api\/v1/, ""))}`),
  );
});
afterAll(async () => {
  await control.close();
});

/** A path with its variable parts left open. */
function shapeOf(path: string): string {
  return path.replace(/\{[^}]*\}|\$\w+/g, "{}");
}

function calledIn(text: string): readonly string[] {
  return Array.from(text.matchAll(CALLED), ([call]) => call).flatMap((call) => {
    const [, path] = URL_OF_CALL.exec(call) ?? [];
    if (path === undefined) return [];
    const [, method = / -d /.test(call) ? "POST" : "GET"] = / -X (\w+)/.exec(call) ?? [];
    return [`${method} ${shapeOf(path)}`];
  });
}

it("finds every documented route", () => {
  const named = globSync("{README.md,SECURITY.md,docs/**/*.md}", { cwd: ROOT }).flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const inText = Array.from(text.matchAll(NAMED), ([, method, path = ""]) => `${method} ${shapeOf(path)}`);
    return [...inText, ...calledIn(text)].map((route) => ({ page, route }));
  });
  expect(named.length).toBeGreaterThan(50);
  // "..." stands for several routes
  expect(named.filter(({ route }) => !known.has(route) && !route.includes("..."))).toEqual([]);
});
