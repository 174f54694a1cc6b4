/**
 * Who may call a route from a browser, and what a `user` sees of its answer: stated where the route is defined, and kept here
 * (docs/rules/console.md#live). A route that states nothing is for admins. A request for a user names the user's tenant beside
 * the token (guard.ts): it is bound to this tenant before the handler runs, whatever its query says.
 */
import type { Context } from "hono";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { isForOperators, withoutOperatorFields } from "../../shared/fields/operator-fields.ts";
import type { Page, UserList, Written } from "../kernel/context.ts";
import { refuseIfAny } from "../kernel/parse.ts";
import { tenantOfKey } from "../kernel/tenant-of-key.ts";
import type { Api, ApiTypes } from "./types.ts";

/** How a call for a `user` is bound to the user's tenant. */
type Binding =
  /** The first parameter of the path is the tenant. */
  | "tenant in path"
  /** The first parameter of the path is a key of the tenant. */
  | "key in path"
  /** The parameter `tenant_id` is set to the tenant. */
  | "tenant in query"
  /** The answer's `tenant_id` is the tenant. Only for reads. */
  | "tenant in answer";

/** What browsers may do with a route. */
interface BrowserAccess {
  /** Absent: users may not call the route. */
  readonly user?: Binding | UserList;
  /** The fields that a user sees of each record, in the order of a CSV file. Absent: all that are not for operators only. */
  readonly fields?: readonly string[];
  /** The switches that a user must not turn on in a body. */
  readonly refused?: readonly string[];
  /** The first parameter of the path is a person, who may call it too, whatever the role: it is about the own account. */
  readonly isOwn?: true;
  /** The answer has secrets, even if sealed: of those who see every tenant, only admins get it. */
  readonly hasSecrets?: true;
  /** Every open page reads it again and again: the requests of one second share an answer. */
  readonly shared?: true;
}

/** `token`: no browser calls the route, only somebody with the admin token. */
export type Access = BrowserAccess | "token";

/** A route that browsers may call. */
export interface LiveRoute extends BrowserAccess {
  readonly method: string;
  /** Below /api/v1, with `{name}` for parameters. */
  readonly path: string;
  readonly answer?: z.ZodType | undefined;
}

interface Declared {
  readonly method: string;
  readonly path: string;
  readonly access?: Access | undefined;
  readonly answer?: z.ZodType | undefined;
}

const LIVE_ROUTES = new WeakMap<Api, LiveRoute[]>();

/** Adds a route to those that browsers may call, unless it is only for the token. */
export function declareAccess(app: Api, { method, path, access = {}, answer }: Declared): void {
  if (access === "token") return;
  const routes = LIVE_ROUTES.get(app) ?? [];
  routes.push({ ...access, method: method.toUpperCase(), path: path.replace("/api/v1", ""), answer });
  LIVE_ROUTES.set(app, routes);
}

/** The routes of an application that browsers may call. */
export function liveRoutesOf(app: Api): readonly LiveRoute[] {
  return LIVE_ROUTES.get(app) ?? [];
}

/** What the caller of a route may ask, and sees. */
interface Scope {
  readonly query: Readonly<Record<string, string>>;
  /** All values that the query gives a parameter. */
  readonly valuesOf: (name: string) => readonly string[];
  /** Those of the columns of a CSV file that the caller sees. */
  readonly columns: (names: readonly string[]) => readonly string[];
  /** What the caller sees of a handler's result. Throws 404 for a record of another tenant. */
  readonly shown: (result: unknown) => unknown;
  /** Throws 400 for a body that sets what only admins set. */
  readonly checkBody: (body: unknown) => void;
  /** Answers in place of the handler. */
  readonly list?: () => Promise<readonly object[]>;
}

/** What a user's query cannot ask. By a filter of what a user does not see of a record, one could guess at it. */
const NOT_ASKED = ["cell"];
/** A list that is made for the tenant has no pages. */
const NOT_ASKED_OF_LIST = [...NOT_ASKED, "cursor"];

/** The scope of a request. Throws 404 for what is another tenant's, as if it did not exist. */
export async function scopeOf(c: Context<ApiTypes>, route: Declared & { readonly kind: string }): Promise<Scope> {
  const { ctx, tenantId } = c.var;
  if (tenantId === null)
    return {
      query: c.req.query(),
      valuesOf: (name) => c.req.queries(name) ?? [],
      columns: (names) => names,
      shown: (result) => result,
      checkBody: () => undefined,
    };
  const { user, fields, refused = [] } = route.access === "token" ? {} : (route.access ?? {});
  const id = (Object.values(c.req.param())[0] ?? "").toLowerCase();
  const isOthers =
    user === undefined ||
    (user === "tenant in path" && id !== tenantId) ||
    (user === "key in path" && (await tenantOfKey(ctx, id)) !== tenantId);
  if (isOthers) throw new GatewayError("not_found");
  const dropped = typeof user === "function" ? NOT_ASKED_OF_LIST : NOT_ASKED;
  const asked = Object.entries(c.req.queries()).filter(([name]) => !dropped.includes(name));
  const values: Readonly<Record<string, readonly string[]>> = {
    ...Object.fromEntries(asked),
    // As often as it was given, so that a repeated one is refused like any other.
    ...(user === "tenant in query" ? { tenant_id: (c.req.queries("tenant_id") ?? [""]).map(() => tenantId) } : {}),
  };
  const query = Object.fromEntries(Object.entries(values).map(([name, [value = ""]]) => [name, value]));
  const record = route.answer instanceof z.ZodArray ? route.answer.element : route.answer;
  const isShown = (name: string): boolean =>
    (fields?.includes(name) ?? true) && !(record instanceof z.ZodObject && isForOperators(record.shape[name]));
  const shown = (value: unknown): unknown => {
    if (user === "tenant in answer" && (value as { tenant_id?: unknown }).tenant_id !== tenantId)
      throw new GatewayError("not_found");
    const whole = withoutOperatorFields(record, value);
    if (fields === undefined) return whole;
    return Object.fromEntries(Object.entries(whole as object).filter(([name]) => isShown(name)));
  };
  return {
    query,
    valuesOf: (name) => values[name] ?? [],
    columns: (names) => (fields ?? names).filter(isShown),
    shown: (result) => shownIn(route.kind, result, shown),
    checkBody: (body) => {
      // What a form sends of a switch that is off changes nothing.
      const set = refused.filter((name) => ((Object(body) as Record<string, unknown>)[name] ?? false) !== false);
      refuseIfAny(set.map((path) => ({ path, message: "is set by admins only: leave it out or send false" })));
    },
    ...(typeof user === "function"
      ? { list: async () => (await user(ctx, tenantId, query)).map((row) => shown(row) as object) }
      : {}),
  };
}

/** The result of a handler of this kind with what `shown` makes of its records. */
function shownIn(kind: string, result: unknown, shown: (record: unknown) => unknown): unknown {
  if (kind === "page") return { ...(result as Page<unknown>), rows: (result as Page<unknown>).rows.map(shown) };
  if (kind === "write" || kind === "create")
    return { ...(result as Written<unknown>), record: shown((result as Written<unknown>).record) };
  return Array.isArray(result) ? result.map(shown) : shown(result);
}
