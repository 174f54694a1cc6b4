/** Finds the rule for a request below /api/live (docs/rules/console.md#live). */
import { LIVE_RULES, type LiveRule } from "./live-rules.ts";

/** A rule with the values of its path's parameters, in their order. */
export interface MatchedRule {
  readonly rule: LiveRule;
  readonly values: readonly string[];
}

const BY_LENGTH = Map.groupBy(LIVE_RULES, ({ path }) => path.split("/").length);

/**
 * The rule for a method and the path below /api/live as it stands in the address; null: there is none. A fixed part wins
 * over a parameter. A parameter is one whole segment that is not a step (`.`, `..`) and hides no slash.
 */
export function ruleFor(method: string, path: string): MatchedRule | null {
  const segments = path.split("/");
  let best: MatchedRule | null = null;
  for (const rule of BY_LENGTH.get(segments.length) ?? []) {
    if (rule.method !== method) continue;
    const values = valuesOf(rule.path.split("/"), segments);
    if (values !== null && (best === null || values.length < best.values.length)) best = { rule, values };
  }
  return best;
}

/** The path of the Management API. */
export function managementPath({ rule, values }: MatchedRule): string {
  const left = [...values];
  return `/api/v1${rule.path.replace(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ""))}`;
}

function valuesOf(wanted: readonly string[], given: readonly string[]): readonly string[] | null {
  const values: string[] = [];
  for (const [at, part] of wanted.entries()) {
    const segment = given[at] ?? "";
    if (!part.startsWith("{")) {
      if (part !== segment) return null;
      continue;
    }
    const value = decoded(segment);
    if (value === null || value === "" || value === "." || value === ".." || /[/\\]/.test(value)) return null;
    values.push(value);
  }
  return values;
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
