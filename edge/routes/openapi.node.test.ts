import core, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { describe, expect, it } from "vitest";
import { type Operation, readDocument } from "../../test/harness/api-document.ts";
import { MODEL_ROUTES } from "../domain/request/route-class.ts";
import { openApiDocument } from "./openapi.ts";

const document = readDocument(openApiDocument());
const at = (method: string, path: string): Operation | undefined =>
  document.operations.find((operation) => operation.method === method && operation.path === path);

describe("the document of the data plane", () => {
  it("has nothing that the oas ruleset of spectral finds fault with", { tags: ["check"] }, async () => {
    const spectral = new core.Spectral();
    spectral.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
    const found = await spectral.run(JSON.parse(document.text) as Record<string, unknown>);
    // An upgrade is answered with 101 alone.
    const upgrades = ["/v1/realtime", "/v1/responses"].map((path) => `operation-success-response ${path}`);
    const faults = found.filter(({ code, path }) => !upgrades.includes(`${code} ${path[1]}`));
    expect(faults.map(({ code, path, message }) => `${code} ${path.join(".")} ${message}`)).toEqual([]);
  });

  it("has every route for models, with the fields that the gateway checks", () => {
    expect(MODEL_ROUTES.filter((path) => at("post", path) === undefined)).toEqual([]);
    const schema = at("post", "/v1/chat/completions")?.requestBody?.content["application/json"]?.schema ?? {};
    expect({
      good: document.complaints(schema, { model: "m", max_tokens: 5, top_k: 3 }),
      bad: document.complaints(schema, { n: 0 }),
    }).toEqual({ good: [], bad: ["body must have required property 'model'", "/n must be >= 1"] });
  });

  it("shows errors in the form of each route", () => {
    const errorOf = (path: string) => at("post", path)?.responses["404"]?.content?.["application/json"]?.example;
    expect([errorOf("/v1/chat/completions"), errorOf("/v1/messages/count_tokens")]).toMatchObject([
      { error: { code: "model_not_found" } },
      { type: "error", error: { type: "not_found_error", code: "model_not_found" } },
    ]);
  });

  it("asks for no key where none is needed", () => {
    const open = document.operations.filter(({ security }) => security?.length === 0).map(({ path }) => path);
    expect(open).toEqual(["/health", "/livez", "/ready", "/readyz", "/v1/openapi.json"]);
  });
});
