/** docs/reference and the dashboard match the catalogues, and the catalogues are complete. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ALERT_TEXTS } from "../../shared/catalogues/alert-texts.ts";
import { writtenFiles } from "./pages.ts";
import { ATTENTION_ACTIONS, RULE_ACTIONS } from "./rule-texts.ts";
import { variableFacts } from "./variables.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Read by other programs, set for jobs, or not a variable. */
const ELSEWHERE = new Set([
  "DASHBOARD_ERRORS",
  "GATEWAY_API_KEY",
  "GATEWAY_CLICKHOUSE_FOLDER",
  "GATEWAY_CLICKHOUSE_PORT",
  "GATEWAY_PORT_BASE",
  "GATEWAY_SERVING_PORT",
  "GATEWAY_VERSION",
]);

describe("a written file", () => {
  it.each(writtenFiles())("%s is what the catalogues say (npm run reference)", (path, text) => {
    expect(read(path)).toBe(text);
  });
});

describe("the variables", () => {
  const facts = variableFacts();

  it("are described once each", () => {
    expect(facts.filter(({ descriptions }) => descriptions.length !== 1).map(({ name }) => name)).toEqual([]);
  });

  it("are all that the sources name", () => {
    const files = globSync("{edge,control,shared,infra}/**/*.{ts,mjs}", { cwd: ROOT });
    const sources = files.filter((file) => !file.endsWith(".test.ts")).map(read);
    const named = sources.flatMap(
      (text) => text.match(/\b(?:(?:GATEWAY|DASHBOARD)_[A-Z_]*[A-Z]|TRUSTED_ORIGINS|OIDC_PROVIDERS)\b/g) ?? [],
    );
    const known = new Set(facts.map(({ name }) => name));
    // a part of a name, or the file with its value
    const isPart = (name: string): boolean =>
      facts.some((fact) => fact.name.startsWith(`${name}_`) || `${fact.name}_FILE` === name);
    const unknown = [...new Set(named)].filter((name) => !known.has(name) && !ELSEWHERE.has(name) && !isPart(name));
    expect(unknown).toEqual([]);
  });
});

describe("what to do", () => {
  it("is told of every rule of Prometheus, and of no other", () => {
    const rules = [...read("infra/grafana/alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    expect(Object.keys(RULE_ACTIONS).toSorted()).toEqual(rules.toSorted());
  });

  it("never leads back to itself, nor to a place that only leads on in a circle", () => {
    const actions = new Map(
      [
        ...Object.entries(ALERT_TEXTS).map(([name, { action }]) => [name, action] as const),
        ...Object.entries(RULE_ACTIONS),
        ...Object.entries(ATTENTION_ACTIONS).filter(([kind]) => !(kind in ALERT_TEXTS)),
      ].map(([name, action]) => [name.toLowerCase(), action]),
    );
    const next = (name: string): string | undefined => /^As \[[^\]]+\]\(#(\w+)\)/.exec(actions.get(name) ?? "")?.[1];
    const circles = [...actions.keys()].filter((name) => {
      let at: string | undefined = name;
      for (let steps = 0; at !== undefined && steps <= actions.size; steps += 1) at = next(at);
      return at !== undefined;
    });
    expect(circles).toEqual([]);
  });
});
