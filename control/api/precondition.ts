/**
 * Against lost updates (docs/rules/management-api.md#lost-updates): answers have the revision of their record as ETag, and a write
 * with `If-Match` is done only on a record of that revision, with `If-None-Match: *` only where there is none.
 */
import { z } from "zod";
import { GatewayError } from "../../shared/errors.ts";
import { fieldError } from "../kernel/parse.ts";
import type { Api } from "./types.ts";

const HEADER = "if-match";
const CREATION_HEADER = "if-none-match";

export type RecordCheck = (record: object) => void;

interface WriteRoute {
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly answer?: z.ZodType;
  readonly mayCreate?: true;
  readonly changesRecord?: true;
}

/** The ETag of an answer; null: it has no revision. */
export function etagOf(answer: unknown): string | null {
  const rev = revOf(answer);
  return rev === undefined ? null : `"${rev}"`;
}

/** Which preconditions a route takes. */
export interface Takes {
  readonly isWrite: boolean;
  readonly hasRevision: boolean;
  readonly mayCreate: boolean;
}

export function takenBy(app: Api, route: WriteRoute): Takes {
  const { kind, mayCreate = false } = route;
  return { isWrite: kind === "write" || kind === "create", hasRevision: writesRevision(app, route), mayCreate };
}

/** Whether a route writes a record with a revision. Of a deletion, the other routes of its path say so. */
function writesRevision(app: Api, { kind, method, path, answer, changesRecord }: WriteRoute): boolean {
  if (kind !== "write") return changesRecord === true;
  return method === "delete" ? siblingsOf(app, path).some(hasRevision) : hasRevision(answer);
}

/** What a route with a revision says in the document. */
export const PRECONDITION = {
  parameter: {
    name: HEADER,
    in: "header" as const,
    required: false,
    description:
      "The `rev` of the record that you read, in quotes. If the record has changed since, the response is 412.",
    schema: { type: "string" as const },
    example: '"42"',
  },
  creation: {
    name: CREATION_HEADER,
    in: "header" as const,
    required: false,
    description: "`*`: only create; a record that exists is 412.",
    schema: { type: "string" as const, enum: ["*"] },
    example: "*",
  },
  refusal:
    "The record has changed since it was read; `error.present` is the record as it is. It is `{}` if there is none.",
};

/**
 * Checks a record by the headers of a request; a record that does not exist has no `rev`. Throws 400 for a header that names
 * no revision, or is not taken.
 */
export function preconditionOf(header: (name: string) => string | undefined, takes: Takes): RecordCheck | undefined {
  if (!takes.isWrite) return undefined;
  return allOf([revisionCheck(header(HEADER), takes), absenceCheck(header(CREATION_HEADER), takes)]);
}

/** Checks as each of them does; undefined if there is none. */
export function allOf(given: readonly (RecordCheck | undefined)[]): RecordCheck | undefined {
  const checks = given.filter((check) => check !== undefined);
  if (checks.length === 0) return undefined;
  return (record) => {
    for (const check of checks) check(record);
  };
}

function absenceCheck(header: string | undefined, { mayCreate }: Takes): RecordCheck | undefined {
  if (header === undefined) return undefined;
  if (!mayCreate)
    throw fieldError(CREATION_HEADER, "is not supported here: this request creates no record of a given name");
  if (header.trim() !== "*") throw fieldError(CREATION_HEADER, "must be *");
  return (record) => {
    if (revOf(record) !== undefined) throw changedMeanwhile(record);
  };
}

function revisionCheck(header: string | undefined, { hasRevision: isTaken }: Takes): RecordCheck | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === "*" && !isTaken) return undefined;
  if (header.trim() === "*")
    return (record) => {
      if (revOf(record) === undefined) throw changedMeanwhile(record);
    };
  if (!isTaken) throw fieldError(HEADER, "is not supported here: this request changes no record that has a rev");
  const wanted = header.split(",").map((each) => /^(W\/)?"?(\d{1,15})"?$/.exec(each.trim()));
  if (wanted.some((match) => match === null)) throw fieldError(HEADER, "must be the rev of the record in quotes, or *");
  // A weak one equals none (RFC 9110, 13.1.1).
  const revs = wanted.flatMap((match) => (match?.[1] === undefined ? [Number(match?.[2])] : []));
  return (record) => {
    if (!revs.includes(revOf(record) ?? Number.NaN)) throw changedMeanwhile(record);
  };
}

/** The 412 with the record as it is. */
export function changedMeanwhile(present: object): GatewayError {
  return new GatewayError("changed_meanwhile", { param: null, present });
}

/** The schema of the body of that 412. */
export const presentSchema = z
  .record(z.string(), z.unknown())
  .optional()
  .meta({ description: "With `changed_meanwhile`: the current record" });

function revOf(value: unknown): number | undefined {
  const rev = typeof value === "object" && value !== null && "rev" in value ? value.rev : undefined;
  return typeof rev === "number" ? rev : undefined;
}

const hasRevision = (answer: unknown): boolean => answer instanceof z.ZodObject && "rev" in answer.shape;

/** The answers of the routes of a path that were declared before. */
function siblingsOf(app: Api, path: string): readonly unknown[] {
  return app.openAPIRegistry.definitions.flatMap((definition) => {
    if (definition.type !== "route" || definition.route.path !== path) return [];
    const answer = definition.route.responses[200] as
      | { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> }
      | undefined;
    return [answer?.content?.["application/json"]?.schema];
  });
}
