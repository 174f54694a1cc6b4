import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Recipe } from "../../../shared/schema/recipe.ts";
import { startControl, type TestControl } from "../../../test/harness/control.ts";

const BUILTIN: Recipe = {
  id: randomUUID(),
  name: "vllm",
  description: "",
  author: "",
  body: { serving_port: 8000 },
  builtin: true,
  created_at: null,
  updated_at: null,
  rev: null,
};

let control: TestControl;

beforeAll(async () => {
  control = await startControl({ recipes: [BUILTIN] });
});
afterAll(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: object, status = 200): Promise<T> {
  const response = await control.request(method, `/api/v1/recipes${path}`, body);
  const text = await response.text();
  expect({ method, path, status: response.status, problem: response.status === status ? "" : text }).toEqual({
    method,
    path,
    status,
    problem: "",
  });
  return (text === "" ? null : JSON.parse(text)) as T;
}

it("are kept, changed and removed, and named in the audit log without their scripts", async () => {
  const body = { partition: "gpu", preamble: "export TOKEN=planted" };
  const made = await send<Recipe>("POST", "", { name: "ours", body });
  expect(made).toMatchObject({ name: "ours", author: "", builtin: false });
  expect(made.body).toEqual({ partition: "gpu", preamble: "export TOKEN=planted" });
  const changed = await send<Recipe>("PUT", `/${made.id}`, { author: "Platform", body: { nodes: 2 } });
  expect(changed).toMatchObject({ name: "ours", author: "Platform", body: { nodes: 2 } });
  await send("DELETE", `/${made.id}`, undefined, 204);
  await send("DELETE", `/${made.id}`, undefined, 404);
  const audit = await (await control.request("GET", "/api/v1/audit?entity_type=recipe")).json();
  expect((audit as { action: string }[]).map(({ action }) => action)).toEqual([
    "delete_recipe",
    "update_recipe",
    "create_recipe",
  ]);
  expect(JSON.stringify(audit)).not.toContain("planted");
});

it("hold each field of a body to the rules of a spec", async () => {
  const { error } = await send<{ error: { details: { path: string }[] } }>(
    "POST",
    "",
    { name: "odd", body: { serving_port: 0, script_body: "no interpreter", launch_command: "" } },
    400,
  );
  expect(error.details.map(({ path }) => path)).toEqual(["body.script_body", "body.serving_port"]);
});

it("have one name each, and the built-in ones do not change", async () => {
  const { id } = await send<Recipe>("POST", "", { name: "twin", body: {} });
  const other = await send<Recipe>("POST", "", { name: "other", body: {} });
  await send("POST", "", { name: "twin", body: {} }, 409);
  await send("POST", "", { name: "vllm", body: {} }, 409);
  await send("PUT", `/${other.id}`, { name: "twin" }, 409);
  await send("PUT", `/${other.id}`, { name: "vllm" }, 409);
  expect(await send("PUT", `/${id}`, { name: "twin", description: "d" })).toMatchObject({ description: "d" });
  for (const [method, body] of [["PUT", { name: "mine" }] as const, ["DELETE", undefined] as const])
    expect(await send(method, `/${BUILTIN.id}`, body, 403)).toMatchObject({ error: { code: "builtin_recipe" } });
});

it("are listed by name with the built-in ones among them, page by page", async () => {
  for (const name of ["aa", "Zz", "zz", "vlln", "vllk", "é"]) await send("POST", "", { name: `${name}`, body: {} });
  const names: string[] = [];
  let path: string | undefined = "/api/v1/recipes?limit=1";
  while (path !== undefined) {
    const response = await control.request("GET", path);
    names.push(...((await response.json()) as Recipe[]).map(({ name }) => name));
    path = /^<([^>]+)>/.exec(response.headers.get("link") ?? "")?.[1];
  }
  expect(names).toEqual(["Zz", "aa", "other", "twin", "vllk", "vllm", "vlln", "zz", "é"]);
  expect((await control.request("GET", "/api/v1/recipes?cursor=WyJhIl0")).status).toBe(400);
});
