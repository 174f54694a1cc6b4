/**
 * The common suite of every Management route (docs/rules/tests.md#every-operation): it reads the API document and calls
 * each operation with valid, missing, wrong-typed, oversize, unknown and hostile input, without a token, and for
 * records that do not exist. On a stack of its own, because settings and capacity are shared.
 *
 * @module-tag check
 */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildDocument } from "../../control/api/document.ts";
import { type AppDeps, createApp } from "../../control/app.ts";
import type { Stack } from "../../infra/local/stack.ts";
import { type Operation, readDocument } from "../harness/api-document.ts";
import { type Send, targetOf, unique } from "../harness/route-targets.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { fillIn, hostileValues, wrongBodies } from "../harness/wrong-values.ts";

const document = readDocument(JSON.stringify(buildDocument(createApp({ adminToken: "" } as unknown as AppDeps), "")));
const guarded = document.operations.filter(({ security }) => security?.length !== 0);
const MEBIBYTE = 1024 * 1024;

/**
 * Operations that may refuse even valid input because of the configuration, or because no request was served yet, with the
 * code that says why.
 */
const MAY_BE_REFUSED: Readonly<Record<string, string>> = {
  "get /api/v1/usage/logs/{request_id}": "not_found",
  "get /api/v1/usage/logs/{request_id}/capture": "not_found",
  // the model of the example is not there
  "post /api/v1/benchmarks": "validation_failed",
  "get /api/v1/benchmarks/{id}": "not_found",
  "post /api/v1/benchmarks/{id}/stop": "not_found",
  // no client has made a batch
  "get /api/v1/batches/{id}": "not_found",
  "post /api/v1/batches/{id}/cancel": "not_found",
  // nobody has signed in
  "get /api/v1/users/{id}": "not_found",
  "patch /api/v1/users/{id}": "not_found",
  "delete /api/v1/users/{id}": "not_found",
  "get /api/v1/users/{id}/sessions": "not_found",
  "delete /api/v1/users/{id}/sessions": "not_found",
  "delete /api/v1/users/{id}/sessions/{session_id}": "not_found",
  // the tenant of the example is not there
  "post /api/v1/group-grants": "validation_failed",
  "post /api/v1/settings/alerts/test": "no_alert_channel",
  // a channel with the name of the example may be there
  "post /api/v1/alert-channels": "validation_failed",
  "post /api/v1/settings/energy/test": "energy_test_failed",
  "post /api/v1/settings/jobsched/test": "jobsched_not_configured",
  "get /api/v1/jobsched/resources": "jobsched_not_configured",
};

let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(async () => {
  await stack.stop();
});

const send: Send = async (method, path, body, headers = {}) =>
  await fetch(`${stack.adminUrl}${path}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${stack.adminToken}`, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

const title = ({ method, path }: Operation): string => `${method} ${path}`;

/** Checks that the document describes an answer; returns its body. */
async function documented(operation: Operation, response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  const answer = operation.responses[response.status];
  expect({
    title: title(operation),
    status: response.status,
    answer: answer === undefined ? text : "documented",
  }).toEqual({ title: title(operation), status: response.status, answer: "documented" });
  if (response.status >= 500)
    expect({ title: title(operation), status: response.status }).toEqual({ title: title(operation), status: 502 });
  const [type, content] = Object.entries(answer?.content ?? {})[0] ?? [];
  expect(response.headers.get("content-type")?.split(";")[0] ?? undefined).toBe(type);
  if (content === undefined) return {};
  const value: unknown = type === "application/json" ? JSON.parse(text) : text;
  expect({ title: title(operation), complaints: document.complaints(content.schema, value) }).toEqual({
    title: title(operation),
    complaints: [],
  });
  return value as Record<string, unknown>;
}

interface ErrorBody {
  readonly code: string;
  readonly param: string | null;
  readonly details?: readonly { readonly path: string }[];
}

async function refusal(operation: Operation, response: Response): Promise<ErrorBody> {
  return (await documented(operation, response))["error"] as ErrorBody;
}

const bodyOf = ({ requestBody }: Operation) => requestBody?.content["application/json"];

/** A body that the route accepts: its example, with names that are not used yet. */
function validBody(operation: Operation, record: Readonly<Record<string, unknown>> | null): Record<string, unknown> {
  const example = { ...(bodyOf(operation)?.example as Record<string, unknown>) };
  if ("intent_id" in example) example["intent_id"] = randomUUID();
  for (const field of ["name", "model_name", "job_id"])
    if (field in example) example[field] = record?.[field] ?? unique(field);
  if (typeof example["email"] === "string") example["email"] = `${unique("ada")}@example.org`;
  return example;
}

/** Calls an operation with records that only this call uses. */
async function call(operation: Operation, body?: unknown): Promise<Response> {
  const target = await targetOf(send, operation.path);
  return await send(operation.method, target.path, body ?? (bodyOf(operation) && validBody(operation, target.record)));
}

describe("every operation", () => {
  it.each(document.operations.map((operation) => [title(operation), operation] as const))(
    "%s takes its example",
    async (name, operation) => {
      const response = await call(operation);
      const answer = await documented(operation, response);
      if (response.status >= 400)
        expect({ name, error: answer["error"] }).toMatchObject({
          name,
          error: { code: MAY_BE_REFUSED[name] ?? "none" },
        });
    },
  );

  // a refusal of a wrong token takes its time, in which others can be waited for
  it.concurrent.each(guarded.map((operation) => [title(operation), operation] as const))(
    "%s needs the token",
    async (_, operation) => {
      const path = fillIn(operation.path, { id: randomUUID(), endpoint_id: randomUUID(), name: "x", request_id: "x" });
      const wrong = ["", "Bearer wrong", stack.adminToken, `bearer ${stack.adminToken}`];
      const responses = wrong.map((authorization) =>
        send(operation.method, path, bodyOf(operation) && {}, { authorization }),
      );
      for (const response of await Promise.all(responses))
        expect({ status: response.status, refusal: await refusal(operation, response) }).toMatchObject({
          status: 401,
          refusal: { code: "unauthorized" },
        });
    },
  );

  const named = guarded.filter(({ path }) => /\{(?!request_id\}\/spans)/.test(path));
  it.each(named.map((operation) => [title(operation), operation] as const))(
    "%s says what does not exist",
    async (_, operation) => {
      const body = bodyOf(operation) && validBody(operation, null);
      for (const id of [randomUUID(), "no-id", "%00", "..%2f"]) {
        const path = operation.path.replace(/\{\w+\}/g, id);
        const response = await send(operation.method, path, body);
        expect({ path, status: response.status, refusal: await refusal(operation, response) }).toMatchObject({
          path,
          status: 404,
          refusal: { code: "not_found" },
        });
      }
    },
  );
});

const bodied = guarded.filter((operation) => bodyOf(operation) !== undefined);

const propertiesOf = (operation: Operation): Readonly<Record<string, object>> =>
  (document.resolved(bodyOf(operation)?.schema ?? {}) as { properties?: Record<string, object> }).properties ?? {};

/** The fields of an operation that no earlier operation has with the same schema. */
const newFields = new Map<Operation, ReadonlySet<string>>();
const seenFields = new Set<string>();
for (const operation of bodied) {
  const own = Object.entries(propertiesOf(operation)).filter((entry) => !seenFields.has(JSON.stringify(entry)));
  newFields.set(operation, new Set(own.map(([field]) => field)));
  for (const entry of own) seenFields.add(JSON.stringify(entry));
}
const isNew = (operation: Operation, field: string): boolean => newFields.get(operation)?.has(field) === true;

describe.each(bodied.map((operation) => [title(operation), operation] as const))("%s", (_, operation) => {
  it("refuses what is no object, and what is too large", async () => {
    const target = await targetOf(send, operation.path);
    for (const text of [...(operation.requestBody?.required === false ? [] : [""]), "{", "undefined"]) {
      const response = await send(operation.method, target.path, text);
      expect({ text, status: response.status, refusal: await refusal(operation, response) }).toMatchObject({
        text,
        status: 400,
        refusal: { code: "invalid_json" },
      });
    }
    for (const text of ["[]", "null", '"text"', "5"]) {
      const error = await refusal(operation, await send(operation.method, target.path, text));
      expect({ text, isRefusal: ["validation_failed", "backup_format"].includes(error.code) }).toEqual({
        text,
        isRefusal: true,
      });
    }
    const limit = operation.path.endsWith("/restore") ? 64 * MEBIBYTE : 2 * MEBIBYTE;
    const oversize = await send(operation.method, target.path, { padding: "x".repeat(limit) });
    expect({ status: oversize.status, refusal: await refusal(operation, oversize) }).toMatchObject({
      status: 413,
      refusal: { code: "request_too_large" },
    });
  });

  const example = async (): Promise<readonly [path: string, body: Record<string, unknown>]> => {
    const target = await targetOf(send, operation.path);
    return [target.path, validBody(operation, target.record)];
  };

  /** `all`: every wrong value of every field; else only the first one of fields that an operation before has too. */
  const namesWrongFields = async (all: boolean): Promise<void> => {
    const [path, body] = await example();
    const isCreation = operation.parameters.some(({ name }) => name === "idempotency-key");
    const { required = [] } = document.resolved(bodyOf(operation)?.schema ?? {}) as { required?: readonly string[] };
    // In a creation, null is the default of a field that has one.
    const wrong = wrongBodies(document, bodyOf(operation)?.schema ?? {}, body).filter(
      ({ what, field }) => !isCreation || what !== "is null" || required.includes(field),
    );
    const firsts = new Set(new Map(wrong.toReversed().map((one) => [one.field, one])).values());
    const chosen = wrong.filter((one) => all || isNew(operation, one.field) || firsts.has(one));
    for (const { what, field, body: wrongBody } of chosen) {
      const response = await send(operation.method, path, wrongBody);
      const error = await refusal(operation, response);
      const paths = [error.param ?? "", ...(error.details ?? []).map(({ path }) => path)];
      const about = `${field} ${what}`;
      expect({
        about,
        status: response.status,
        namesField: error.code === "backup_format" || paths.some((path) => path.split(".")[0] === field),
      }).toEqual({ about, status: 400, namesField: true });
    }
  };

  /** `all`: in every field; else only in fields that no operation before has. */
  const takesHostileValues = async (all: boolean): Promise<void> => {
    const target = await targetOf(send, operation.path);
    const chosen = Object.entries(propertiesOf(operation)).filter(([field]) => all || isNew(operation, field));
    for (const [field, property] of chosen) {
      for (const value of hostileValues(property as Record<string, unknown>)) {
        const body = { ...validBody(operation, target.record), [field]: value };
        await documented(operation, await send(operation.method, target.path, body));
      }
    }
  };

  it("names a missing, mistyped or out-of-bounds field, and does not fail on hostile values", async () => {
    await namesWrongFields(false);
    await takesHostileValues(false);
  });

  it("does the same in fields that an operation before it has too", { tags: ["long"] }, async () => {
    await namesWrongFields(true);
    await takesHostileValues(true);
  });

  it("refuses an unknown field", async () => {
    const [path, body] = await example();
    const response = await send(operation.method, path, { ...body, no_such_field: [{}] });
    expect({ status: response.status, refusal: await refusal(operation, response) }).toMatchObject({
      status: 400,
      refusal: { code: "unknown_field", param: "no_such_field" },
    });
  });
});

const queried = guarded.filter(({ parameters }) => parameters.some((parameter) => parameter.in === "query"));

it.each(queried.map((operation) => [title(operation), operation] as const))(
  "%s names the query parameter it refuses",
  async (_, operation) => {
    const { path, record } = await targetOf(send, operation.path);
    const body = bodyOf(operation) && validBody(operation, record);
    for (const { name, schema, in: place } of operation.parameters) {
      if (place !== "query") continue;
      for (const value of ["no-such-value", "-1", "1.5", "\0", "x".repeat(4000)]) {
        const response = await send(
          operation.method,
          `${path}?${new URLSearchParams({ [name]: value }).toString()}`,
          body,
        );
        const answer = await documented(operation, response);
        const about = `${name}=${value.slice(0, 20)}`;
        const mustRefuse = name === "cursor" || document.complaints(schema, value).length > 0;
        if (mustRefuse)
          expect({ about, status: response.status }).toEqual({ about, status: name === "cell" ? 404 : 400 });
        if (response.status === 400)
          expect({ about, param: (answer["error"] as ErrorBody).param }).toEqual({ about, param: name });
      }
    }
  },
);
