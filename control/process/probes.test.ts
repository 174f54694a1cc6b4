import { createServer } from "node:http";
import { afterEach, expect, it, vi } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";
import { type Needs, withProbes } from "./probes.ts";

const own = (): Response => new Response("own", { status: 404 });
const away = async (): Promise<never> => await Promise.reject(new Error("no database"));

afterEach(() => void vi.useRealTimers());

async function asked(path: string, needs: Partial<Needs> = {}, method = "GET"): Promise<readonly [number, string]> {
  const serve = withProbes(own, { database: async () => undefined, runtimeReadyUrl: "", ...needs });
  const response = await serve(new Request(`http://listener${path}`, { method }));
  return [response.status, await response.text()];
}

it("is ready while the database answers", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const silent = async () => await Promise.withResolvers<never>().promise;
  const asking = [{}, { database: away }, { database: silent }].flatMap((needs) => [
    asked("/ready", needs),
    asked("/readyz", needs),
  ]);
  await vi.advanceTimersByTimeAsync(1000);
  const gone = [503, "the database does not answer"];
  expect(await Promise.all(asking)).toEqual([[200, "ready"], [200, "ready"], gone, gone, gone, gone]);
});

it("is ready while the runtime of its machine serves, and says what does not", async () => {
  const runtime = createServer((request, response) => {
    response.statusCode = request.url === "/ready" ? 200 : 503;
    response.end();
  });
  const at = await listen(runtime, "127.0.0.1", 0);
  const answers = [];
  for (const needs of [
    { runtimeReadyUrl: `${at.url}/ready` },
    { runtimeReadyUrl: `${at.url}/leaving` },
    { runtimeReadyUrl: "http://127.0.0.1:9/ready" },
    { runtimeReadyUrl: `${at.url}/leaving`, database: away },
  ])
    answers.push(await asked("/ready", needs));
  await at.close();
  const gone = [503, "the Worker's runtime does not answer"];
  expect(answers).toEqual([[200, "ready"], gone, gone, [503, "the database and the Worker's runtime do not answer"]]);
});

it("is asked of the database once for all who ask meanwhile, and again later", async () => {
  let statements = 0;
  const database = async (): Promise<void> => {
    statements += 1;
    await Promise.resolve();
  };
  const serve = withProbes(own, { database, runtimeReadyUrl: "" });
  const ready = async () => await (await serve(new Request("http://listener/readyz"))).text();
  const answers = await Promise.all(Array.from({ length: 32 }, ready));
  const atOnce = statements;
  await ready();
  expect({ answers: new Set(answers), atOnce, statements }).toEqual({
    answers: new Set(["ready"]),
    atOnce: 1,
    statements: 2,
  });
});

it("lives whatever is away, and leaves every other path and method to its listener", async () => {
  expect({
    live: await asked("/livez", { database: away }),
    head: await asked("/livez", {}, "HEAD"),
    post: await asked("/livez", {}, "POST"),
    below: await asked("/ready/x"),
  }).toEqual({ live: [200, "ok"], head: [200, "ok"], post: [404, "own"], below: [404, "own"] });
});
