/**
 * A row of the table: one kind of change of one record that the data plane goes by, and what the next request of each route
 * shows after it (decisions §2.6, §43.3).
 */
import type { UsageLog } from "../../../shared/schema/usage.ts";
import { type Route, type RouteKind, served } from "./routes.ts";
import type { Own, Scene, Upstream } from "./scene.ts";

/** What a request shows. */
export type Verdict = (route: Route, scene: Scene) => string;

/** A Management request: method, path, body. */
export type Write = readonly [method: string, path: string, body?: unknown];

/** A row of the table. */
export interface Change {
  readonly name: string;
  readonly own: Own;
  /** Before the first request. */
  readonly first?: (scene: Scene) => Write;
  /** Of the first requests; as served without it. */
  readonly before?: Verdict;
  readonly change: (scene: Scene) => Write;
  readonly after: Verdict;
  /** What the usage rows of two requests say, sent before and after the change; of routes that take a slot. */
  readonly rows?: (before: UsageLog, after: UsageLog) => void;
  /** What is to be seen of it besides, of routes that take a slot. */
  readonly live?: (scene: Scene) => Promise<void>;
}

/** Every route shows this. */
export const everywhere =
  (line: string): Verdict =>
  () =>
    line;

/** Routes of the kinds that are named show this, the others go on as served. */
export const only =
  (lines: Partial<Record<RouteKind, string | Verdict>>): Verdict =>
  (route, scene) => {
    const line = lines[route.kind] ?? served(route, scene);
    return typeof line === "string" ? line : line(route, scene);
  };

/** Nothing is stored yet, or what is stored is another upstream's. */
export const anew =
  (at: Partial<Upstream> = {}): Verdict =>
  (route, scene) => {
    if (route.kind !== "cached") return served(route, scene, at);
    return served({ ...route, kind: "admitted" }, scene, at).replace("200", "200, miss");
  };

/** Routes of a model show one line, the list another one. */
export const model = (line: string, list: string): Verdict => only({ admitted: line, cached: line, probe: line, list });

/** Nobody has registered the model. */
export const unregistered: Verdict = (route, scene) => {
  if (route.kind === "mcp") return served(route, scene);
  if (route.kind === "list") return "200, not listed";
  if (route.kind === "probe") return served(route, scene, { address: "default" }).replace(/with .*/, "with -");
  return route.name === "other path" ? "404 unknown_endpoint" : "404 model_not_found";
};

/** Routes of these kinds show that something changed upstream. */
const isOn = (...kinds: readonly RouteKind[]): ((at: Partial<Upstream>) => Verdict) => {
  return (at) => (route, scene) => (kinds.includes(route.kind) ? anew(at)(route, scene) : served(route, scene));
};

/** Where a model is found has changed, and with it what a stored answer is of. */
export const onModel = isOn("admitted", "cached", "probe");
/** How the same model is reached has changed: stored answers stay. */
export const onUpstream = isOn("admitted", "probe");
/** Where an MCP server is found has changed. */
export const onServer = isOn("mcp");
