import { describe, expect, it } from "vitest";
import { deployedProblem, planOf, rollbackOf } from "./plan.ts";
import type { Deployed } from "./wrangler.ts";

const one = { exists: true, versions: [{ id: "old", percentage: 100 }], migrationTag: "v1", tag: "v9.0.0" };
/** The tag of the last release that does not understand today's messages; no literal, which a test of the version would find. */
const NOT_UNDERSTOOD = `v${[0, 1, 0].join(".")}`;

describe("the way of a deployment", () => {
  it("is to try the version first when nothing but code changes, and back is the version before", () => {
    const plan = planOf(one, ["v1"]);
    expect(plan).toEqual({ way: "tried first", previous: "old" });
    expect(rollbackOf(plan, "production")).toBe("npx wrangler versions deploy old@100% --env production --yes");
  });

  it("is all at once for the first version, and back is to delete the Worker", () => {
    const plan = planOf({ exists: false, versions: [], migrationTag: null, tag: null }, ["v1"]);
    expect(plan).toMatchObject({ way: "whole", isFirst: true });
    expect(rollbackOf(plan, "staging")).toBe("npx wrangler delete --env staging");
  });

  it.each([
    [NOT_UNDERSTOOD, `is tagged ${NOT_UNDERSTOOD}`],
    [null, "has no tag"],
  ])("is untried after a version that does not understand its messages (%s), and back is that", (tag, serving) => {
    const plan = planOf({ ...one, tag }, ["v1"]);
    const reason = `the version that serves ${serving}, and does not understand the messages of this one`;
    expect(plan).toEqual({ way: "untried", reason, previous: "old" });
    expect(rollbackOf(plan, "production")).toBe("npx wrangler versions deploy old@100% --env production --yes");
  });

  it("is all at once, with no way back, for an object migration or an unknown earlier one", () => {
    for (const changed of [{ migrationTag: "v1" }, { migrationTag: null }, { tag: NOT_UNDERSTOOD }]) {
      const plan = planOf({ ...one, ...changed }, ["v1", "v2"]);
      expect(plan).toEqual({ way: "whole", reason: "the object migration v2 is applied with it", isFirst: false });
      expect(rollbackOf(plan, "production")).toMatch(/^none: /);
    }
  });
});

it("passes over a version without traffic, which is left of a trial that did not end", () => {
  const versions = [{ id: "tried", percentage: 0 }, ...one.versions];
  expect(planOf({ ...one, versions }, ["v1"])).toEqual({ way: "tried first", previous: "old" });
  const options = { environment: "production", isFirst: false, percentage: 100 };
  expect(deployedProblem({ ...one, versions }, { worker: "gateway", migrationTags: ["v1"], options })).toBeNull();
});

describe("what is deployed", () => {
  const problemOf = (deployed: Partial<Deployed>, options: { isFirst?: boolean; percentage?: number } = {}) =>
    deployedProblem(
      { ...one, ...deployed },
      {
        worker: "gateway",
        migrationTags: ["v1", "v2"],
        options: { environment: "production", isFirst: false, percentage: 100, ...options },
      },
    );
  const nothing = { exists: false, versions: [], migrationTag: null, tag: null };

  it("is one version whose objects this checkout knows, or nothing where it is to be the first", () => {
    expect(problemOf({})).toBeNull();
    expect(problemOf({ migrationTag: "v2" }, { percentage: 10 })).toBeNull();
    expect(problemOf({ migrationTag: "v2", tag: null })).toBeNull();
    expect(problemOf(nothing, { isFirst: true })).toBeNull();
    // Made by the first secret that was set.
    expect({
      existing: problemOf({ ...nothing, exists: true }),
      asFirst: problemOf({ ...nothing, exists: true }, { isFirst: true }),
    }).toEqual({ existing: null, asFirst: null });
  });

  it.each([
    [
      "two versions share the traffic",
      { versions: [...one.versions, { id: "new", percentage: 10 }] },
      {},
      "version old 100%, version new 10%",
    ],
    ["the account has no such Worker", nothing, {}, "no Worker gateway"],
    ["the Worker is there, and is to be made", {}, { isFirst: true }, "leave --first out"],
    ["its objects are newer than the checkout", { migrationTag: "v3" }, {}, "migration v3"],
    ["an object migration is to have a part of the traffic", {}, { percentage: 10 }, "--gradual is not possible"],
    [
      "a version is to share the traffic with one that does not understand it",
      { migrationTag: "v2", tag: NOT_UNDERSTOOD },
      { percentage: 10 },
      `--gradual is not possible: the version that serves is tagged ${NOT_UNDERSTOOD}, and does not understand the messages of this one, so the two cannot share the traffic`,
    ],
    ["the first version is to have a part", nothing, { isFirst: true, percentage: 10 }, "--gradual is not possible"],
  ])("is refused when %s", (_case, deployed, options, problem) => {
    expect(problemOf(deployed, options)).toContain(problem);
  });
});
