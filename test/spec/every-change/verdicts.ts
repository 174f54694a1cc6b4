/**
 * A row of the table: one kind of change of one record that the data plane reads, and what the next request of each
 * route shows after it (docs/rules/freshness.md#write-path, docs/rules/freshness.md#every-use-compares).
 */
import type { UsageLog } from "../../../shared/schema/usage.ts";
import { type Route, type RouteKind, served } from "./routes.ts";
import type { Own, Scene, Upstream } from "./scene.ts";

export type Verdict = (route: Route, scene: Scene) => string;

/** A Management request: method, path, body. */
export type Write = readonly [method: string, path: string, body?: unknown];

export interface Change {
  readonly name: string;
  readonly own: Own;
  readonly first?: (scene: Scene) => Write;
  /** What the first requests show; absent: that they are served. */
  readonly before?: Verdict;
  readonly change: (scene: Scene) => Write;
  readonly after: Verdict;
  /** What the usage rows of two requests say that are sent before and after the change; for routes that take a slot. */
  readonly rows?: (before: UsageLog, after: UsageLog) => void;
  /** A further check after the change; for routes that take a slot. */
  readonly live?: (scene: Scene) => Promise<void>;
}

/** A row: its name, what it changes, the write, what requests show after it, and the parts that few rows have. */
export const changeOf = (
  name: string,
  own: Own,
  change: Change["change"],
  after: Verdict,
  more: Partial<Change> = {},
): Change => ({ name, own, change, after, ...more });

export const everywhere =
  (line: string): Verdict =>
  () =>
    line;

/** Routes of the named kinds show this; the others are still served. */
export const only =
  (lines: Partial<Record<RouteKind, string | Verdict>>): Verdict =>
  (route, scene) => {
    const line = lines[route.kind] ?? served(route, scene);
    return typeof line === "string" ? line : line(route, scene);
  };

/** There is no stored answer yet, or the stored answer belongs to another upstream. */
export const withoutStoredAnswer =
  (at: Partial<Upstream> = {}): Verdict =>
  (route, scene) => {
    if (route.kind !== "cached") return served(route, scene, at);
    return served({ ...route, kind: "admitted" }, scene, at).replace("200", "200, miss");
  };

/** Routes of a model show one line, the list of models another. */
export const model = (line: string, list: string): Verdict =>
  only({ admitted: line, cached: line, probe: line, described: line, list });

export const unregistered: Verdict = (route, scene) => {
  if (route.kind === "mcp") return served(route, scene);
  if (route.kind === "list") return "200, not listed";
  if (route.kind === "probe") return served(route, scene, { address: "default" }).replace(/with .*/, "with -");
  return route.name === "other path" ? "404 unknown_endpoint" : "404 model_not_found";
};

/** Routes of these kinds show that the upstream has changed. */
const isOn = (...kinds: readonly RouteKind[]): ((at: Partial<Upstream>) => Verdict) => {
  return (at) => (route, scene) =>
    kinds.includes(route.kind) ? withoutStoredAnswer(at)(route, scene) : served(route, scene);
};

/** The address of a model has changed, so that a stored answer belongs to another upstream. */
export const onModel = isOn("admitted", "cached", "probe");
/** The credential or name for the same model has changed: stored answers stay. */
export const onUpstream = isOn("admitted", "probe");
export const onServer = isOn("mcp");
