/**
 * A client's JSON Schema in a form in which a validation cannot take longer than it may. The schema comes from a client and
 * the value from a model: references that branch, lists that are compared pair by pair and patterns without an end would
 * block the isolate (docs/rules/boons.md#work-of-a-validation). The copy has only known keywords of the right types, and
 * every visit of one of its nodes is counted.
 */
import { type JsonObject, jsonObjectOf } from "../wire/json/document.ts";
import { patternSteps } from "./pattern-work.ts";

/** Largest schema, in UTF-16 units of its compact JSON; a larger one is not compiled. */
export const SCHEMA_MAX_CHARS = 64 * 1024;

/** Most nodes, deepest nesting and longest pointer to a node. */
const NODES_MAX = 5000;
const DEPTH_MAX = 64;
const POINTER_MAX_CHARS = 1000;

/** Work that one validation may take, in units of about a tenth of a microsecond. */
const WORK_MAX = 100_000;
const VISIT_WORK = 10;
/** A member that is examined separately: its name is written as a part of a pointer. */
const MEMBER_WORK = 8;
/** Steps of simple loops, such as those over characters, that take one unit. */
const STEPS_PER_UNIT = 32;
/** A pattern is dropped when one test of it may take more work than this. */
const PATTERN_WORK_MAX = WORK_MAX / 8;

/** The formats that are checked: others are hints, and their expressions have no bound. */
const FORMATS = new Set(["date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]);
const TYPES = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

const SCHEMA_KEYWORDS = new Set([
  "additionalProperties",
  "contains",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const SCHEMA_LIST_KEYWORDS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMA_MAP_KEYWORDS = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]);

/** Keywords that look at each character of a string, each member of an object, each entry of a list. */
const TEXT_KEYWORDS = ["format", "maxLength", "minLength"];
const MEMBER_KEYWORDS = ["additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"];
const LIST_KEYWORDS = ["contains", "items", "unevaluatedItems"];

const isText = (value: unknown): value is string => typeof value === "string" && value.isWellFormed();
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** The other keywords, and the values that they may have. */
const VALUE_KEYWORDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["$anchor", isText],
  // A remote reference is refused: nothing is fetched for a client's schema.
  ["$ref", (value: unknown) => isText(value) && value.startsWith("#")],
  ["const", () => true],
  [
    "dependentRequired",
    (value: unknown) => jsonObjectOf(value) !== null && Object.values(jsonObjectOf(value) ?? {}).every(isTexts),
  ],
  ["enum", (value: unknown) => Array.isArray(value)],
  ["exclusiveMaximum", isNumber],
  ["exclusiveMinimum", isNumber],
  ["format", isText],
  ["maxContains", isCount],
  ["maxItems", isCount],
  ["maxLength", isCount],
  ["maxProperties", isCount],
  ["maximum", isNumber],
  ["minContains", isCount],
  ["minItems", isCount],
  ["minLength", isCount],
  ["minProperties", isCount],
  ["minimum", isNumber],
  ["multipleOf", (value: unknown) => isNumber(value) && Number(value) > 0],
  ["pattern", isText],
  ["required", isTexts],
  ["type", (value: unknown) => (typeof value === "string" ? [value] : isTexts(value) ? value : [""]).every(isType)],
  ["uniqueItems", (value: unknown) => typeof value === "boolean"],
]);

function isType(name: string): boolean {
  return TYPES.has(name);
}

/** The size of a value, in every way that makes the visit of a node longer. */
export interface ValueSize {
  /** UTF-16 units of the longest string. */
  readonly text: number;
  /** Entries of the longest list. */
  readonly list: number;
  /** Members of the largest object, and the most UTF-16 units that the names of one object have. */
  readonly members: number;
  readonly nameChars: number;
  /** Values in all. */
  readonly nodes: number;
}

/** A schema that counts its visits: a validator that reads its nodes throws {@link WorkExceeded} when it works too long. */
export type BoundedSchema = JsonObject | boolean;

/** A validation took more work than it may. */
class WorkExceeded extends Error {
  override readonly name = "WorkExceeded";
}

/** A schema that cannot be compiled. Its message says why, in the gateway's own words. */
class NotCompilable extends Error {}

/**
 * The schema for one validation of a value of this size; null: it cannot be compiled. `schema` is JSON, and is not changed. The
 * parts that the copy omits (unknown keywords, patterns whose work has no bound, formats that are not checked) make it accept
 * more values, never fewer.
 */
export function boundedSchema(schema: unknown, size: ValueSize): BoundedSchema | null {
  try {
    return new Copy(size).root(schema);
  } catch (error) {
    if (error instanceof NotCompilable) return null;
    throw error;
  }
}

class Copy {
  readonly #size: ValueSize;
  #nodes = 0;
  #work = 0;

  constructor(size: ValueSize) {
    this.#size = size;
  }

  root(schema: unknown): BoundedSchema {
    const root = jsonObjectOf(schema);
    if (root === null) throw new NotCompilable("a schema is an object");
    // The name of the whole schema is not needed: every reference starts with #.
    const { $id: _, ...unnamed } = root;
    return this.#schema(unnamed, 0, 0);
  }

  /** One node and everything below it. `pointer`: length of the pointer to it. */
  #schema(given: unknown, depth: number, pointer: number): BoundedSchema {
    if (typeof given === "boolean") return given;
    const from = jsonObjectOf(given);
    this.#nodes += 1;
    if (from === null || this.#nodes > NODES_MAX || depth > DEPTH_MAX || pointer > POINTER_MAX_CHARS) {
      throw new NotCompilable("not a schema, or one that is too large");
    }
    if (from["$id"] !== undefined) throw new NotCompilable("a schema within a schema has a name of its own");
    const node: Record<string, unknown> = Object.create(null);
    let work = this.#visitWork(from);
    for (const [keyword, value] of Object.entries(from)) {
      const below = (inner: unknown, name = ""): BoundedSchema =>
        this.#schema(inner, depth + 1, pointer + keyword.length + 2 + name.length);
      if (SCHEMA_KEYWORDS.has(keyword)) node[keyword] = below(value);
      else if (SCHEMA_LIST_KEYWORDS.has(keyword)) node[keyword] = listOf(value).map((entry) => below(entry, "0000"));
      else if (SCHEMA_MAP_KEYWORDS.has(keyword)) node[keyword] = this.#map(value, below);
      else if (VALUE_KEYWORDS.has(keyword)) {
        if (VALUE_KEYWORDS.get(keyword)?.(value) !== true) throw new NotCompilable("a keyword has another type");
        work += this.#valueWork(keyword, value);
        node[keyword] = value;
      }
    }
    work += this.#withoutPatterns(node);
    if (!FORMATS.has(String(node["format"]))) delete node["format"];
    return this.#counted(node, work);
  }

  /** The cost of a visit of a node, without the nodes below it, its patterns and its values. */
  #visitWork(node: JsonObject): number {
    const { text, list, members, nameChars } = this.#size;
    const has = (keywords: readonly string[]): boolean => keywords.some((keyword) => node[keyword] !== undefined);
    const perText = has(TEXT_KEYWORDS) ? text / STEPS_PER_UNIT : 0;
    const perMember = has(MEMBER_KEYWORDS) ? Math.max(members * MEMBER_WORK, nameChars / 2) : members / 4;
    const perEntry = has(LIST_KEYWORDS) ? list / 4 : 0;
    return VISIT_WORK + Math.max(perText, perMember, perEntry);
  }

  #map(value: unknown, below: (inner: unknown, name: string) => BoundedSchema): JsonObject {
    const map = jsonObjectOf(value);
    if (map === null) throw new NotCompilable("a keyword has another type");
    const copy: Record<string, unknown> = Object.create(null);
    for (const [name, inner] of Object.entries(map)) {
      if (!isText(name)) throw new NotCompilable("a name is not well-formed Unicode");
      copy[name] = below(inner, name);
    }
    return copy;
  }

  /** The cost that a keyword adds to each visit of its node. */
  #valueWork(keyword: string, value: unknown): number {
    if (keyword === "uniqueItems" && value === true) {
      return (this.#size.list * this.#size.nodes) / STEPS_PER_UNIT;
    }
    if (typeof value !== "object") return 0;
    // Each missing name becomes a separate error; the values of an enumeration are compared, and reported in one.
    const chars = JSON.stringify(value).length;
    return keyword === "required" || keyword === "dependentRequired" ? chars : chars / 16;
  }

  /**
   * Drops the patterns of a node that may take too long; returns the work that the others add to each visit. If a dropped
   * pattern may have matched a property, unlisted properties are not reported.
   */
  #withoutPatterns(node: Record<string, unknown>): number {
    let work = 0;
    const { text, members, nameChars } = this.#size;
    if (typeof node["pattern"] === "string") {
      const own = patternSteps(node["pattern"], text) / STEPS_PER_UNIT;
      if (own <= PATTERN_WORK_MAX) work += own;
      else delete node["pattern"];
    }
    const byPattern = node["patternProperties"] as Record<string, unknown> | undefined;
    for (const pattern of Object.keys(byPattern ?? {})) {
      const own = (patternSteps(pattern, nameChars) * members) / STEPS_PER_UNIT;
      if (own <= PATTERN_WORK_MAX) work += own;
      else {
        delete byPattern?.[pattern];
        delete node["additionalProperties"];
        delete node["unevaluatedProperties"];
      }
    }
    return work;
  }

  /** A node whose visits are counted: a validator reads each keyword of a node once in a visit, this one among them. */
  #counted(node: Record<string, unknown>, work: number): JsonObject {
    Object.defineProperty(node, "$recursiveAnchor", {
      configurable: true,
      enumerable: false,
      get: () => {
        this.#work += work;
        if (this.#work > WORK_MAX) throw new WorkExceeded();
        return undefined;
      },
    });
    return node;
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new NotCompilable("a keyword has another type");
  return value;
}
