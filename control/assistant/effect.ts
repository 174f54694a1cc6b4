/**
 * What a proposed write would do, in words that the model has no part in (docs/rules/assistant.md#proposals). Pure. Values are
 * data of other people: they are shown as JSON and cut.
 */
import { createHash } from "node:crypto";
import type { AssistantChange, AssistantProposal } from "../../shared/assistant.ts";
import { printableJson, terminalText } from "../../shared/printable.ts";
import type { ApiCall } from "./model-tools.ts";
import type { AssistantOperation } from "./operations.ts";
import type { StoredRecord } from "./record-reads.ts";
import { defaultFields, withDefaults } from "./with-defaults.ts";

const CHANGES_MAX = 60;
const VALUE_MAX_CHARACTERS = 400;
/** The fields that may name a record, the best first. */
const NAMES = ["model_name", "name", "email", "key_prefix", "job_id"];

/** Fields of bodies that have another name in the record. */
const STORED_AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "PATCH /tenants/{id}/guardrails": { policy: "guardrails_policy" },
  "PATCH /tenants/{id}/compression": { policy: "compression_policy" },
};

/** Writes that have no way back, besides deletions: an old secret, rows or leases are gone after them. */
const FINAL: readonly string[] = [
  "POST /keys/{id}/rotate",
  "POST /models/{id}/replicas/clear-lost",
  "POST /usage/compact",
  "PUT /settings/usage-retention",
];

/** What was read to show an effect; null: not known, or nothing. */
export interface Records {
  readonly own: StoredRecord | null;
  readonly parent: StoredRecord | null;
}

/** The effect of a proposal. `records`: as they are now (record-reads.ts). */
export function effectOf(
  operation: AssistantOperation,
  call: ApiCall,
  records: Records,
): Pick<AssistantProposal, "summary" | "object" | "parent" | "changes" | "isFinal"> {
  const { summary, method, path } = operation;
  const changes = fieldsSet(operation, call, records)
    .slice(0, CHANGES_MAX)
    .map(({ field, from, to, isDefault }): AssistantChange => {
      return { field: cut(field), from: from === undefined ? null : shown(from), to: shown(to), isDefault };
    });
  const { own, parent } = records;
  const isFinal = method === "DELETE" || FINAL.includes(`${method} ${path}`);
  return { summary, object: nameOf(own), parent: nameOf(parent), changes, isFinal };
}

/**
 * What the effect of a call rests on, as a short text: the same as long as a person would be shown the same, to the last
 * character of every value.
 */
export function basisOf(operation: AssistantOperation, call: ApiCall, records: Records): string {
  const { own, parent } = records;
  const seen = [own === null, nameOf(own), nameOf(parent), fieldsSet(operation, call, records)];
  return createHash("sha256").update(JSON.stringify(seen)).digest("base64url");
}

interface FieldSet {
  readonly field: string;
  /** Undefined: it is not known, or there is none yet. */
  readonly from: unknown;
  readonly to: unknown;
  readonly isDefault: boolean;
}

/** Every field that a call sets: those that it names, then those that it resets because it leaves them out. */
function fieldsSet(
  { method, path, body: schema }: AssistantOperation,
  { body }: ApiCall,
  { own }: Records,
): readonly FieldSet[] {
  const given = (body === null ? {} : JSON.parse(body)) as StoredRecord;
  const isCreation = method === "POST";
  // What a creation sets is not what the record has that it is created in.
  const before = isCreation ? null : own;
  const fieldSet = (field: string, to: unknown, isDefault: boolean): FieldSet => {
    const stored = STORED_AS[`${method} ${path}`]?.[field] ?? field;
    return {
      field,
      from: before !== null && Object.hasOwn(before, stored) ? before[stored] : undefined,
      to,
      isDefault,
    };
  };
  const whole = (schema === null ? given : withDefaults(schema, given)) as StoredRecord;
  const named = Object.keys(given).map((field) => fieldSet(field, whole[field], false));
  const left = defaultFields(schema, given)
    .map(([field, to]) => fieldSet(field, to, true))
    .filter(({ from, to }) => (isCreation ? !isNothing(to) : JSON.stringify(from) !== JSON.stringify(to)));
  return [...named, ...left];
}

/** A default of something new that nobody would call a setting. */
function isNothing(value: unknown): boolean {
  return value === null || value === false || value === "" || ["[]", "{}"].includes(JSON.stringify(value));
}

function nameOf(record: StoredRecord | null): string | null {
  const names = NAMES.map((field) => record?.[field]).filter((value) => typeof value === "string");
  const name = names.find((value) => value !== "");
  return name === undefined ? null : cut(terminalText(name));
}

function shown(value: unknown): string {
  return cut(printableJson(JSON.stringify(value) ?? "null"));
}

function cut(text: string): string {
  const whole = text.toWellFormed();
  return whole.length <= VALUE_MAX_CHARACTERS ? whole : `${whole.slice(0, VALUE_MAX_CHARACTERS).toWellFormed()}…`;
}
