/** Finds the route for a request below /api/live (docs/rules/console.md#live). */
import type { LiveRoute } from "../../api/access.ts";

const STEP = /(^|[/\\])\.{1,2}([/\\]|$)/;

/** A route with the values of its path's parameters, in their order. */
export interface MatchedRoute {
  readonly route: LiveRoute;
  readonly values: readonly string[];
}

/** The route for a method and the path below /api/live as it stands in the address; null if there is none. */
export type RouteFinder = (method: string, path: string) => MatchedRoute | null;

/**
 * Finds among these routes. A fixed part wins over a parameter. A parameter is one whole segment. A slash in it is a part of the
 * name (of a model), but no step (`.`, `..`) is: the name is encoded again, and who decodes it on the way would go elsewhere.
 */
export function routeFinder(routes: readonly LiveRoute[]): RouteFinder {
  const byLength = Map.groupBy(routes, ({ path }) => path.split("/").length);
  return (method, path) => {
    const segments = path.split("/");
    let best: MatchedRoute | null = null;
    for (const route of byLength.get(segments.length) ?? []) {
      if (route.method !== method) continue;
      const values = valuesOf(route.path.split("/"), segments);
      if (values !== null && (best === null || values.length < best.values.length)) best = { route, values };
    }
    return best;
  };
}

/** The path of the Management API. */
export function managementPath({ route, values }: MatchedRoute): string {
  const left = [...values];
  return `/api/v1${route.path.replace(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ""))}`;
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
    if (value === null || value === "" || STEP.test(value)) return null;
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
