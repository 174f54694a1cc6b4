/**
 * Bodies are strict (docs/rules/management-api.md#bodies): a name that is no field is refused with the nearest one that is. A
 * field of the record that the route does not set is accepted with its present value, so that a client can send back what it
 * has read.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { type Fields, isFields, type JsonSchema, propertiesOf, withoutNulls } from "../kernel/json-schema.ts";
import { nearestName } from "../kernel/nearest-name.ts";
import { refuseIfAny } from "../kernel/parse.ts";
import { unknownFields } from "../kernel/unknown-field.ts";
import { changedMeanwhile, type Judge } from "./precondition.ts";
import type { Api } from "./types.ts";

/** As many as a person reads, and as cost little to find. */
const NAMED_MAX = 20;
const NAME_MAX_CHARACTERS = 200;

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
  readonly judge?: Judge;
}

/** Judges a body of one route. Throws 400. */
export type StrictBodies = (input: unknown) => StrictBody;

/** Judges the bodies of a route. */
export function strictBodies(app: Api, route: BodyRoute): StrictBodies {
  const ofRecord = recordFieldsOf(route);
  const routeOf = (field: string): string | null => routeThatSets(app, route, field);
  let known: JsonSchema | undefined;
  return (input) => {
    if (route.body === undefined || !isFields(input)) return { body: input };
    known ??= jsonSchemaOf(route.body);
    const own = propertiesOf(known);
    const [given, repeated] = split(input, (name) => Object.hasOwn(own, name) || !ofRecord.includes(name));
    refuseUnknown(known, given, ofRecord);
    const names = Object.keys(repeated);
    if (route.kind === "create") {
      const [, set] = split(repeated, (name) => repeated[name] === null);
      refuseIfAny(Object.keys(set).map((path) => ({ path, message: otherwise(routeOf(path), "set by the gateway") })));
      return { body: withoutNulls(known, given) };
    }
    if (names.length === 0) return { body: given };
    return {
      body: given,
      judge: (record) => {
        const present = record as Fields;
        if (Object.hasOwn(repeated, "rev") && repeated["rev"] !== present["rev"]) throw changedMeanwhile(record);
        const changed = names.filter((name) => !isDeepStrictEqual(repeated[name], present[name]));
        refuseIfAny(changed.map((path) => ({ path, message: otherwise(routeOf(path), "set by the gateway") })));
      },
    };
  };
}

const otherwise = (route: string | null, reason: string): string =>
  route === null ? `cannot be changed: it is ${reason}` : `is not changed here: use ${route}`;

/** The fields of the record that a route writes. */
function recordFieldsOf({ method, kind, answer }: BodyRoute): readonly string[] {
  const isRecord = kind === "create" || (kind === "write" && method !== "post");
  return isRecord && answer instanceof z.ZodObject ? Object.keys(answer.shape) : [];
}

/** Throws 400 `unknown_field` that names every field which the schema does not know, up to a number of them. */
function refuseUnknown(schema: JsonSchema, body: Fields, ofRecord: readonly string[]): void {
  const details = new Map<string, string>();
  let count = 0;
  for (const { path, known } of unknownFields(schema, body)) {
    if (count === NAMED_MAX) break;
    count += 1;
    const name = String(path.at(-1)).slice(0, NAME_MAX_CHARACTERS);
    const nearest = nearestName(name, path.length === 1 ? [...known, ...ofRecord] : known);
    const at = [...path.slice(0, -1), name].join(".");
    details.set(at, nearest === null ? "" : `; did you mean '${nearest}'?`);
  }
  const [first] = details;
  if (first === undefined) return;
  throw new GatewayError("unknown_field", {
    value: `'${first[0]}'${first[1]}`,
    details: [...details].map(([path, hint]) => ({ path, message: `is not a field${hint}` })),
  });
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

/** Without the names of components, which would make references of what is needed here as a whole. */
function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any", metadata: z.registry() });
}
