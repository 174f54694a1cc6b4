/** What pages of managed models say follows from the records alone, whatever the scheduler and people have written into them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blankRow, blankSpec } from "../../../test/harness/replica-records.ts";
import type { Records } from "../../data/api.ts";
import { deploymentSearch, deploymentsSearch } from "./deployments-search.ts";
import { matchingSpecs } from "./matching-specs.ts";
import { portText } from "./port-text.ts";
import { offeredResources, resourceWarnings } from "./resource-warnings.ts";
import { windowOf, writtenOf } from "./script-parts.ts";
import { isActive, provisionerState, SPEC_STATES, specState } from "./spec-state.ts";

const AT = "2026-11-23T00:00:00Z";
const spec = (name: string, fields: Partial<Records["ManagedModel"]> = {}): Records["ManagedModel"] => ({
  ...blankSpec(name, name, AT),
  ...fields,
});

describe("the state of a managed model", () => {
  it.each([
    ["off", { enabled: false, provision_error: "no such partition" }],
    ["off", { target_replicas: 0 }],
    ["blocked", { provision_error: "no such partition", replicas: { healthy: 2 } }],
    ["short", { replicas: { healthy: 0, starting: 2 } }],
    ["starting", { replicas: { healthy: 1, starting: 1 } }],
    ["passing", { replicas: { healthy: 2 } }],
    ["passing", { min_replicas: 5, replicas: { healthy: 2 } }],
  ] as const)("is %s for %o", (state, fields) => {
    expect(specState(spec("m", fields))).toBe(state);
  });
});

describe("the provisioner", () => {
  const well = { enabled: true, url: "http://slurm", provisioner_running: true, last_outcome: "ok" } as const;
  it.each([
    ["well", {}],
    ["unset", { enabled: false, url: "" }],
    ["off", { enabled: false }],
    ["silent", { provisioner_running: false, last_outcome: "error" }],
    ["held", { last_outcome: "error" }],
    ["idle", { last_outcome: "idle" }],
    ["begins", { last_outcome: null }],
  ] as const)("is %s for %o", (state, fields) => {
    expect(provisionerState({ ...well, ...fields })).toBe(state);
  });
});

describe("the list", () => {
  const specs = [spec("b", { target_replicas: 1 }), spec("A", { partition: "cpu" }), spec("c", { enabled: false })];
  const names = (wanted: Partial<Parameters<typeof matchingSpecs>[1]>): string[] =>
    matchingSpecs(specs, { q: "", state: undefined, ...wanted }).map(({ model_name }) => model_name);

  it("finds names and partitions in any case, and states", () => {
    expect(names({ q: "CPU" })).toEqual(["A"]);
    expect(names({ q: "B" })).toEqual(["b"]);
    expect(names({ state: "off" })).toEqual(["c"]);
  });

  it("is never longer than what there is, and never another", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(...SPEC_STATES), (q, state) => {
        expect(
          names({ q })
            .concat(names({ state }))
            .every((name) => "Abc".includes(name)),
        ).toBe(true);
      }),
    );
  });
});

describe("what a form asks of the scheduler", () => {
  const resources = {
    partitions: [
      { name: "gpu", nodes: 4, state: "UP" },
      { name: "cpu", nodes: 16, state: "UP" },
    ],
    nodes: [
      { name: "n1", gres: "gpu:a100:4(S:0-1),shard:8", cpus: 64, memory_mb: 512_000, state: "IDLE" },
      { name: "n2", gres: "(null)", cpus: 16, memory_mb: 64_000, state: "IDLE" },
    ],
    accounts: ["research"],
    qos: [],
  };

  it("is refused with a reason if it exceeds what there is, or is unknown", () => {
    const asked = { partition: "gpu", nodes: 4, cpus_per_task: 64, mem: 512_000, gres: "gpu:2", account: "research" };
    expect(resourceWarnings(asked, resources)).toEqual([]);
    expect(resourceWarnings({ ...asked, partition: "cpu,gpu", nodes: 9 }, resources)).toEqual([]);
    expect(
      resourceWarnings(
        { partition: "gpus", cpus_per_task: 65, mem: 512_001, gres: "gres/tpu:1,gpu:a[1,2]", account: "x", qos: "y" },
        resources,
      ),
    ).toEqual([
      "The scheduler has no partition gpus.",
      "No node has more than 64 cores.",
      "No node has more than 512,000 MB of memory.",
      "No node has the resource tpu.",
      "The scheduler has no account x.",
    ]);
    expect(resourceWarnings({ partition: "gpu", nodes: 5 }, resources)).toEqual(["The partition gpu has 4 nodes."]);
  });

  it("is not checked against what the scheduler did not report, nor before it is typed", () => {
    const nothing = { partitions: [], nodes: [], accounts: [], qos: [] };
    expect(resourceWarnings({ partition: "x", cpus_per_task: 9, gres: "gpu:1", account: "y" }, nothing)).toEqual([]);
    expect(resourceWarnings({ partition: "", gres: "", account: null, nodes: "many" }, resources)).toEqual([]);
  });

  it("is offered without what the scheduler says of sockets", () => {
    expect(offeredResources(resources)).toEqual({
      partition: ["gpu", "cpu"],
      gres: ["gpu:a100:4", "shard:8"],
      account: ["research"],
      qos: [],
    });
  });

  it("may be anything", () => {
    const names = ["partition", "nodes", "cpus_per_task", "mem", "gres", "account", "qos"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.anything()), (asked) => {
        expect(resourceWarnings(asked, resources).every((said) => typeof said === "string")).toBe(true);
      }),
    );
  });

  it("takes a time that grows with its length", () => {
    const { gres } = offeredResources({
      ...resources,
      nodes: [{ name: "n", gres: "(,".repeat(500_000), cpus: 1, memory_mb: 1, state: "" }],
    });
    expect(gres?.length).toBeLessThanOrEqual(1);
  });
});

describe("the script of a form", () => {
  it("is made of texts, whatever the form says", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("script_body", "image", "launch_command"), fc.anything()), (values) => {
        expect(Object.values(writtenOf(values)).every((part) => typeof part === "string")).toBe(true);
      }),
    );
  });

  it.each([
    [8000, { first: 8000, last: 8007 }],
    [65_535, { first: 65_535, last: 65_535 }],
    [0, null],
    [65_536, null],
    [1.5, null],
    [Number.NaN, null],
    ["8000", null],
    [undefined, null],
  ])("has the first window of %s", (port, ports) => {
    expect(windowOf(port)).toEqual(ports);
  });
});

describe("a replica", () => {
  const row = blankRow("r", AT);
  const endpoint = { enabled: true, health_status: "healthy", consecutive_failures: 0, last_checked_at: null };
  it.each([
    ["–", {}],
    ["8000 …", { port_base: 8000 }],
    ["8003", { port_base: 8000, endpoint: { ...endpoint, api_base: "http://n01:8003/v1" } }],
    ["8000 …", { port_base: 8000, endpoint: { ...endpoint, api_base: "no address" } }],
    ["8000 …", { port_base: 8000, endpoint: { ...endpoint, api_base: "https://n01/v1" } }],
  ])("has the port %s", (port, fields) => {
    expect(portText({ ...row, ...fields })).toBe(port);
  });

  it("can be restarted until somebody asked for it, or it ends", () => {
    expect(["pending", "starting", "healthy"].every((state) => isActive({ ...row, state: state as "pending" }))).toBe(
      true,
    );
    expect(isActive({ ...row, cancel_requested: true })).toBe(false);
    expect(isActive({ ...row, state: "lost" })).toBe(false);
  });
});

it("addresses say what the pages know, or nothing", () => {
  expect(deploymentsSearch({ tab: "recipes", sort: "-lost", columns: "name", state: "off", q: 1 })).toEqual({
    tab: "recipes",
    sort: "-lost",
    columns: "name",
    state: "off",
    q: "1",
  });
  expect(deploymentsSearch({ tab: "x", sort: "", state: "on" })).toEqual({});
  expect(deploymentSearch({ tab: "spec", replica: "r" })).toEqual({ tab: "spec", replica: "r" });
});
