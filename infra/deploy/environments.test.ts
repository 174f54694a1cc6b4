/**
 * The environments of wrangler.toml itself (docs/platform.md#environments). wrangler takes a second to load.
 *
 * @module-tag long
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { driftOf, readWorkerConfig } from "./worker-config.ts";
import { WORKER_RULES } from "./worker-rules.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONFIG = join(ROOT, "wrangler.toml");

const top = await readWorkerConfig(CONFIG, null);
const environments = await Promise.all(
  top.environments.map(async (name) => ({ name, config: await readWorkerConfig(CONFIG, name) })),
);

it("are staging and production", () => {
  expect(top.environments).toEqual(["staging", "production"]);
});

it("have everything that the top level has, which is what the tests run", () => {
  expect(environments.map(({ name, config }) => [name, driftOf(top, config)])).toEqual([
    ["staging", []],
    ["production", []],
  ]);
});

it("bind every object that the Worker uses, and each class has its migration", () => {
  const source = readFileSync(join(ROOT, "edge/bindings.ts"), "utf8");
  const used = [...source.matchAll(/readonly (\w+): DurableObjectNamespace;/g)].map(([, name]) => name);
  const worker = readFileSync(join(ROOT, "edge/durable-objects.ts"), "utf8");
  const classes = [...worker.matchAll(/^export class (\w+)/gm)].map(([, name]) => name);
  for (const { config } of [{ config: top }, ...environments]) {
    const bound = config.shared["durable_objects"] as readonly { name: string; class_name: string }[];
    expect(bound.map(({ name }) => name).toSorted()).toEqual(used.toSorted());
    expect(bound.map(({ class_name }) => class_name).toSorted()).toEqual(classes.toSorted());
    const migrations = config.shared["migrations"] as readonly { new_sqlite_classes?: string[] }[];
    expect(migrations.flatMap((each) => each.new_sqlite_classes ?? []).toSorted()).toEqual(classes.toSorted());
    expect(config.shared["preview_urls"]).toBe(false);
  }
});

it("are Workers of their own, whose variables and secrets the Worker reads", async () => {
  const { names } = WORKER_RULES;
  expect(new Set([top, ...environments.map(({ config }) => config)].map(({ worker }) => worker)).size).toBe(3);
  for (const { config } of environments)
    expect([...Object.keys(config.vars), ...config.secrets].filter((name) => !names.includes(name))).toEqual([]);
});
