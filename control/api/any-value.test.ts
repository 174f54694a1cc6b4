/**
 * Every field that an admin can set, given any value that JSON and IEEE 754 have: the value is refused by the field's name,
 * or stored, and a stored number reads back as the same number. No value causes an internal error.
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiDocument, type Operation, readDocument } from "../../test/harness/api-document.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { anyJsonNumber, anyJsonText, anyJsonValue, jsonText } from "../../test/harness/hostile-json.ts";
import { type Send, targetOf, unique } from "../../test/harness/route-targets.ts";
import { type AppDeps, createApp } from "../app.ts";
import { buildDocument } from "./document.ts";

const document: ApiDocument = readDocument(
  JSON.stringify(buildDocument(createApp({ adminToken: "" } as unknown as AppDeps), "")),
);
let control: TestControl;

beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const send: Send = async (method, path, body, headers = {}) =>
  await control.request(method.toUpperCase(), path, body, { ...headers });

type Schema = Readonly<Record<string, unknown>>;
type Body = Readonly<Record<string, unknown>>;

/** Routes that call another service, need a file or a person who signed in: other tests hold their bodies to the same schemas. */
const ELSEWHERE = ["/backup/restore", "/autotune", "/validate", "/test", "/capacity", "/users/{id}"];

const bodyOf = ({ requestBody }: Operation) => requestBody?.content["application/json"];
const operations = document.operations.filter(
  (operation) => bodyOf(operation) !== undefined && !ELSEWHERE.some((end) => operation.path.endsWith(end)),
);

/** Fields whose number may be stored as another one: 0 keeps the stored number, or a bound takes its place. */
const CHANGED =
  /_timeout_ms$|^compression_|^vision_max_images$|_attempts$|_turns$|^poll_interval_secs$|^check_interval_secs$|^failure_threshold$/;

/** The properties of a body; those of objects in it by dotted names. */
function fieldsOf(schema: Schema, prefix = ""): readonly (readonly [path: string, schema: Schema])[] {
  const { properties = {} } = document.resolved(schema) as { properties?: Readonly<Record<string, Schema>> };
  return Object.entries(properties).flatMap(([name, property]) => {
    const options = [property, ...((property["anyOf"] ?? []) as Schema[])];
    const within = options.flatMap((option) => fieldsOf(option, `${prefix}${name}.`));
    return [[`${prefix}${name}`, property] as const, ...within];
  });
}

function withField(body: Body, path: string, value: unknown): Body {
  const [name = "", ...rest] = path.split(".");
  if (rest.length === 0) return { ...body, [name]: value };
  const inner = body[name];
  const object = typeof inner === "object" && inner !== null ? (inner as Body) : {};
  return { ...body, [name]: withField(object, rest.join("."), value) };
}

const fieldAt = (body: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, step) => (at as Body | null | undefined)?.[step], body);

/**
 * Fields whose text may be stored as another one, other than trimmed blanks; a blank text may keep or clear the stored one.
 */
const READ_OTHERWISE =
  /^api_base$|^upstream_url$|url$|_at$|_from$|_until$|^status$|_period$|^timezone$|^api_version$|_key$|^token$|^auth_header$|^preamble$|^launch_command$|^script_body$|^log_output_dir$/;

/** Values for a field: mostly of its own type. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const types = [schema, ...((schema["anyOf"] ?? []) as Schema[])].flatMap((option) => option["type"] ?? []);
  const own = [
    ...(types.includes("number") || types.includes("integer") ? [anyJsonNumber] : []),
    ...(types.includes("string") ? [anyJsonText] : []),
    ...(types.includes("boolean") ? [fc.boolean()] : []),
  ];
  return fc.oneof(...own.map((arbitrary) => ({ arbitrary, weight: 4 })), { arbitrary: anyJsonValue, weight: 1 });
}

/** The path that reads the record which a route changes; null when there is none. */
function readPath(path: string): string | null {
  if (path.startsWith("/api/v1/settings/")) return path;
  return /^\/api\/v1\/(tenants|models|mcp-servers)\/[0-9a-f-]{36}/.exec(path)?.[0] ?? null;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly details?: readonly { readonly path: string }[];
}

/** Whatever else a benchmark says, the model of its example is not there. */
const OF_A_BENCHMARK = ["concurrency", "duration_secs", "max_requests", "prompt_tokens", "max_tokens"];

/** A model may have been made by a name that is drawn again: a benchmark of it would run on after the test. */
const isBenchmarked = ({ path }: Operation, field: string) => path.endsWith("/benchmarks") && field === "model";
const absent = (drawn: unknown): unknown => (typeof drawn === "string" ? `${drawn} of nobody` : drawn);

/** Fields whose value may make another field wrong. */
const PARTNERS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(OF_A_BENCHMARK.map((field) => [field, ["model"]])),
  cache_enabled: ["cache_ttl_secs"],
  adaptive_min: ["adaptive_max"],
  active_from: ["active_until"],
  enabled: ["prometheus_url", "power_query", "url", "user"],
};

/** Checks what happened to a value at a place of a body. */
async function checkAnswer(path: string, value: unknown, response: Response): Promise<Body | null> {
  const answer = (await response.json()) as { readonly error?: Refusal } & Body;
  const about = `${path} = ${jsonText(value).slice(0, 100)}: ${response.status}`;
  expect({ about, isHandled: response.status < 500 }).toEqual({ about, isHandled: true });
  const steps = path.split(".");
  const [top = ""] = steps;
  const last = steps.at(-1) ?? "";
  if (response.status !== 200) {
    const { param = null, details = [] } = answer.error ?? {};
    const named = [param, ...details.map((detail) => detail.path)].map((place) => (place ?? "").split(".")[0] ?? "");
    const mine = named.includes(top) || named.some((name) => PARTNERS[path]?.includes(name));
    expect({ about, mine }).toEqual({ about, mine: true });
    return null;
  }
  const shown = fieldAt(answer, path) ?? fieldAt(answer["key"], path);
  if (typeof value === "number" && !CHANGED.test(last) && shown !== undefined)
    expect({ about, shown }).toEqual({ about, shown: value === 0 ? 0 : value });
  if (typeof value === "string" && value.trim() !== "" && !READ_OTHERWISE.test(last) && typeof shown === "string")
    expect({ about, shown }).toEqual({ about, shown: value.trim() });
  return answer;
}

describe.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  "%s",
  (_, operation) => {
    const content = bodyOf(operation);
    const field = fc
      .constantFrom(...fieldsOf(content?.schema ?? {}))
      .chain(([path, schema]) => fc.tuple(fc.constant(path), valuesOf(schema)));

    const holds = async (runsOfEachField: number): Promise<void> => {
      const target = await targetOf(send, operation.path);
      const example = { ...(content?.example as Body) };
      const names = (): Body =>
        Object.fromEntries(
          Object.entries({
            name: unique("name"),
            model_name: unique("model"),
            job_id: unique("job"),
            email: `${unique("person")}@example.org`,
            group_name: unique("group"),
            intent_id: randomUUID(),
          })
            .filter(([name]) => typeof example[name] === "string")
            .map(([name, fresh]) => [name, target.record?.[name] ?? fresh]),
        );
      const at = operation.method === "post" ? null : readPath(target.path);
      await fc.assert(
        fc.asyncProperty(field, async ([path, drawn]) => {
          const value = isBenchmarked(operation, path) ? absent(drawn) : drawn;
          const text = jsonText(withField({ ...example, ...names() }, path, value));
          const answer = await checkAnswer(path, value, await send(operation.method, target.path, text));
          // of some records there may only be a few
          if (operation.method === "post" && answer !== null)
            await send("delete", `${target.path}/${encodeURIComponent(String(answer["id"] ?? answer["name"]))}`);
          if (operation.path.endsWith("/{name}") && answer !== null) {
            const path = target.path.replace(/[^/]+$/, encodeURIComponent(String(answer["name"])));
            const name = decodeURIComponent(target.path.split("/").at(-1) ?? "");
            await send(operation.method, path, jsonText({ name }));
          }
          if (answer === null || at === null || "model_id" in answer) return;
          const { warnings: _warnings, ...record } = answer;
          expect(await (await send("get", at)).json()).toEqual(record);
        }),
        { numRuns: runsOfEachField * fieldsOf(content?.schema ?? {}).length },
      );
    };
    it("refuses any value of a field by its name, or stores it", async () => await holds(1));
    it("does so at length", { tags: ["long"] }, async () => await holds(4));
  },
);
