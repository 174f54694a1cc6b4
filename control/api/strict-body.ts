/**
 * Bodies are strict (docs/rules/management-api.md#bodies): a name that is no field is refused with the nearest one that is. A
 * field of the record that the route does not set is accepted with its present value, and one that the gateway observes with
 * any, so that a client can send back what it has read.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  type Fields,
  isFields,
  type JsonSchema,
  jsonSchemaOf,
  propertiesOf,
  withoutNulls,
} from "../kernel/json-schema.ts";
import { fieldError, refuseIfAny } from "../kernel/parse.ts";
import { refuseUnknown, unknownFields } from "../kernel/unknown-field.ts";
import { changedMeanwhile, type RecordCheck } from "./precondition.ts";
import type { Api } from "./types.ts";

/**
 * By the name of the record in the document: the fields that the gateway writes without a new `rev`. A record that was read a
 * moment ago can already differ in them, so a body can repeat them with any value, which is ignored.
 */
export const OBSERVED: Readonly<Record<string, readonly string[]>> = {
  ApiKey: ["previous_secret_until"],
  Energy: ["last_reading"],
  Jobsched: ["provisioner_running", "provisioner_last_seen_secs", "last_outcome", "last_error"],
  ManagedModel: ["provision_error", "replicas", "updated_at"],
  ModelEndpoint: [
    "health_status",
    "consecutive_failures",
    "alert_state",
    "last_checked_at",
    "last_latency_ms",
    "last_http_status",
    "last_message",
  ],
  ModelHealthSummary: [
    "status",
    "consecutive_failures",
    "alert_state",
    "next_check_at",
    "last_checked_at",
    "last_latency_ms",
    "last_http_status",
    "last_message",
    "updated_at",
  ],
  ModelReplica: ["endpoint"],
  User: ["last_login_at"],
};
/** Only the answer to a write has them. */
const OF_ANSWERS = ["warnings"];

type Path = readonly (string | number)[];

interface BodyRoute {
  readonly method: string;
  readonly path: string;
  readonly kind: string;
  readonly body?: z.ZodType;
  readonly answer?: z.ZodType;
}

interface StrictBody {
  /** The body for the verb. Without nulls in a creation, where null means the default. */
  readonly body: unknown;
  /** Refuses the fields that differ from the record as it is. Undefined if the body repeats none. */
  readonly check?: RecordCheck;
}

/** Checks a body of one route. Throws 400. */
export type StrictBodies = (input: unknown) => StrictBody;

/** Checks the bodies of a route. */
export function strictBodies(app: Api, route: BodyRoute): StrictBodies {
  const ofRecord = recordFieldsOf(route);
  const ignored = [...OF_ANSWERS, ...(OBSERVED[route.answer?.meta()?.id ?? ""] ?? [])];
  const routeOf = (field: string): string | null => routeThatSets(app, route, field);
  let known: JsonSchema | undefined;
  let knownOfRecord: JsonSchema | undefined;
  let settable: readonly string[] | undefined;
  return (input) => {
    if (route.body === undefined || !isFields(input)) return { body: input };
    known ??= jsonSchemaOf(route.body);
    const own = propertiesOf(known);
    const [given, repeated] = split(input, (name) => Object.hasOwn(own, name) || !ofRecord.includes(name));
    const isCreate = route.kind === "create";
    if (!isCreate && ofRecord.length > 0 && route.answer !== undefined) knownOfRecord ??= jsonSchemaOf(route.answer);
    const within: Path[] = [];
    settable ??= ofRecord.filter((name) => routeOf(name) !== null);
    refuseUnknown(withoutRepeated(unknownFields(known, given), knownOfRecord ?? {}, within), settable);
    const names = Object.keys(repeated).filter((name) => isCreate || !ignored.includes(name));
    if (isCreate) {
      const [, set] = split(repeated, (name) => repeated[name] === null);
      refuseIfAny(Object.keys(set).map((path) => ({ path, message: otherwise(routeOf(path), "set by the gateway") })));
      return { body: withoutNulls(known, given) };
    }
    const paths: readonly Path[] = [...names.map((name) => [name]), ...within];
    if (paths.length === 0) return { body: given };
    if (Object.hasOwn(repeated, "rev") && !Number.isSafeInteger(repeated["rev"]))
      throw fieldError("rev", "must be the whole number that was read, without quotes");
    return {
      body: given,
      check: (record) => {
        const present = record as Fields;
        if (Object.hasOwn(repeated, "rev") && repeated["rev"] !== present["rev"]) throw changedMeanwhile(record);
        const changed = paths.filter((path) => !isDeepStrictEqual(valueAt(input, path), valueAt(present, path)));
        refuseIfAny(
          changed.map((path) => ({
            path: path.join("."),
            message: otherwise(path.length === 1 ? routeOf(path.join(".")) : null, "set by the gateway"),
          })),
        );
      },
    };
  };
}

const otherwise = (route: string | null, reason: string): string =>
  route === null ? `cannot be changed: it is ${reason}` : `cannot be changed here: use ${route}`;

/** The fields of the record that a route writes. */
function recordFieldsOf({ method, kind, answer }: BodyRoute): readonly string[] {
  const isRecord = kind === "create" || (kind === "write" && method !== "post");
  return isRecord && answer instanceof z.ZodObject ? Object.keys(answer.shape) : [];
}

/** The fields that the record does not have either; the paths of the others, deeper in the body, go to `repeated`. */
function* withoutRepeated<Field extends { readonly path: Path }>(
  fields: Iterable<Field>,
  ofRecord: JsonSchema,
  repeated: Path[],
): Generator<Field> {
  for (const field of fields)
    if (field.path.length > 1 && hasField(ofRecord, field.path)) repeated.push(field.path);
    else yield field;
}

/** Whether objects within objects have this field by its name. */
function hasField(schema: unknown, [name, ...rest]: Path): boolean {
  const own = isFields(schema) ? propertiesOf(schema) : {};
  return name !== undefined && Object.hasOwn(own, name) && (rest.length === 0 || hasField(own[name], rest));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, name) => (isFields(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

/** The fields that are to be kept, and the others. */
function split(fields: Fields, isKept: (name: string) => boolean): readonly [Fields, Fields] {
  const entries = Object.entries(fields);
  const kept = entries.filter(([name]) => isKept(name));
  return [Object.fromEntries(kept), Object.fromEntries(entries.filter(([name]) => !isKept(name)))];
}

/** The route that sets a field of the same record; of several the one with the shortest path. */
function routeThatSets(app: Api, { answer }: BodyRoute, field: string): string | null {
  const routes = app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== "route") return [];
    const { method, path, request, responses } = definition.route;
    if (method !== "put" && method !== "patch") return [];
    const body = schemaIn(request?.body?.content);
    const isOfRecord = answer !== undefined && schemaIn(contentOf(responses[200])) === answer;
    if (!isOfRecord || body === undefined || !Object.hasOwn(propertiesOf(jsonSchemaOf(body)), field)) return [];
    return [`${method.toUpperCase()} ${path}`];
  });
  return routes.toSorted((a, b) => a.length - b.length)[0] ?? null;
}

function contentOf(answer: unknown): unknown {
  return isFields(answer) ? answer["content"] : undefined;
}

function schemaIn(content: unknown): z.ZodType | undefined {
  const json = isFields(content) ? content["application/json"] : undefined;
  const schema = isFields(json) ? json["schema"] : undefined;
  return schema instanceof z.ZodType ? schema : undefined;
}
