import { afterAll, beforeAll, expect, it } from "vitest";
import { usageLogsQuerySchema } from "../../shared/schema/usage.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

let control: TestControl;
let operations: readonly (readonly [method: string, path: string, operation: Operation])[];

beforeAll(async () => {
  control = await startControl();
  const document = (await (await control.app.request("/api/v1/openapi.json")).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method, path, operation] as const),
  );
});
afterAll(async () => {
  await control.close();
});

it("names every operation once, and every parameter of its path", () => {
  const ids = operations.map(([, , { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [method, path, { parameters = [] }] of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const documented = parameters.filter((parameter) => parameter.in === "path" && parameter.required);
    expect([method, path, documented.map(({ name }) => name)]).toEqual([method, path, inPath]);
  }
});

it("shows the headers of a write, and one kind of success", () => {
  for (const [method, path, { parameters = [], responses }] of operations) {
    const headers = parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
    const wanted = method === "get" ? [] : ["x-gateway-audit-actor", ...(method === "post" ? ["idempotency-key"] : [])];
    expect([method, path, headers]).toEqual([method, path, wanted]);
    const successes = Object.keys(responses).filter((status) => status.startsWith("2"));
    expect([method, path, successes]).toEqual([method, path, [method === "delete" ? "204" : "200"]]);
  }
});

it("clamps a limit of any size, and refuses what is none", async () => {
  for (const limit of ["1", "1000", "1001", "9".repeat(400)])
    expect([limit, (await control.request("GET", `/api/v1/tenants?limit=${limit}`)).status]).toEqual([limit, 200]);
  for (const limit of ["0", "-1", "1.5", "", "ten"])
    expect([limit, (await control.request("GET", `/api/v1/tenants?limit=${limit}`)).status]).toEqual([limit, 400]);
  expect(usageLogsQuerySchema.parse({ limit: "9".repeat(400) }).limit).toBe(200);
});
