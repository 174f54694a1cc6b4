/**
 * What a proposed write would do, in words that the model has no part in (docs/rules/assistant.md#proposals). Pure. Names and values
 * are data of other people: they are shown as JSON, with every character escaped that shows nothing or changes what is around it.
 */
import { createHash } from "node:crypto";
import { visibleJson } from "../../shared/text/printable.ts";
import type { AssistantChange, AssistantProposal } from "../../shared/wire/assistant.ts";
import { withoutNulls } from "../kernel/json-schema.ts";
import type { ApiCall } from "./model-tools.ts";
import type { AssistantOperation } from "./operations.ts";
import { LINKS, type StoredRecord } from "./record-reads.ts";
import { AT_RUN, storedValues } from "./stored-values.ts";
import { defaultFields, withDefaults } from "./with-defaults.ts";

/** Of a value that is shown; of two that are longer, it is the part in which they differ first. */
const VALUE_MAX_CHARACTERS = 1000;
const BEFORE_DIFFERENCE_CHARACTERS = 100;
const NAME_MAX_CHARACTERS = 400;
/** The fields that may name a record, the best first: a person chooses the own name, and an email is of one person. */
const NAMES = [
  "model_name",
  "email",
  "name",
  "group_name",
  "key_prefix",
  "job_id",
  "batch_id",
  "model",
  "key",
  "agent",
];
/** Writes by POST that change a record there is, instead of making one. */
const CHANGES_BY_POST: readonly string[] = ["POST /models/{id}/autotune/apply", "POST /batches/{id}/cancel"];

/** Fields of bodies that have another name in the record. */
const STORED_AS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "PATCH /tenants/{id}/guardrails": { policy: "guardrails_policy" },
  "PATCH /tenants/{id}/compression": { policy: "compression_policy" },
};

/** Writes that have no way back, other than deletions: an old secret, rows or leases are gone after them. */
const FINAL: readonly string[] = [
  "POST /batches/{id}/cancel",
  "POST /keys/{id}/rotate",
  "POST /models/{id}/replicas/clear-lost",
  "POST /usage/compact",
  "PUT /settings/usage-retention",
];

/** Fields with a secret, which nobody can read: what replaces or removes one takes it away for good. */
const SECRETS: ReadonlySet<string> = new Set(["api_key", "auth_header", "token", "slack_webhook_url", "smtp_password"]);
/** Its `url` is a secret too. */
const CHANNEL = "/alert-channels/{id}";

/** What was read to show an effect; null: not known, or nothing. */
export interface Records {
  readonly own: StoredRecord | null;
  readonly parent: StoredRecord | null;
  /** The records behind the ids in `own` and in the body (record-reads.ts). */
  readonly linked: ReadonlyMap<string, StoredRecord | null>;
}

/** The effect of a proposal. `records`: as they are now (record-reads.ts). */
export function effectOf(
  operation: AssistantOperation,
  call: ApiCall,
  records: Records,
): Pick<AssistantProposal, "summary" | "object" | "object_id" | "parent" | "parent_id" | "changes" | "isFinal"> {
  const { summary, method, path } = operation;
  const { own } = records;
  const parent = parentOf(records);
  const changes = fieldsSet(operation, call, records).map(
    ({ field, from, to, isDefault, follows }): AssistantChange => {
      const [shownFrom, shownTo] = shownPair(from, to);
      return {
        field,
        from: from === undefined ? null : shownFrom,
        from_name: linkedName(field, from, records),
        to: shownTo,
        to_name: linkedName(field, to, records),
        isDefault,
        follows,
      };
    },
  );
  return {
    summary,
    object: nameOf(own),
    object_id: idOf(own) ?? lastParameter(operation, call, own !== null),
    parent: nameOf(parent),
    parent_id: idOf(parent),
    changes,
    isFinal:
      method === "DELETE" ||
      FINAL.includes(`${method} ${path}`) ||
      (isUpdate(operation) && takesSecret(bodyOf(call), path === CHANNEL)),
  };
}

/**
 * What the effect of a call rests on, as a short text: the same as long as a person would be shown the same, to the last
 * character of every value.
 */
export function basisOf(operation: AssistantOperation, call: ApiCall, records: Records): string {
  const { own } = records;
  const parent = parentOf(records);
  const fields = fieldsSet(operation, call, records).map(({ field, from, to, ...rest }) => [
    field,
    from,
    to === AT_RUN ? null : to,
    rest,
    linkedName(field, from, records),
    linkedName(field, to, records),
  ]);
  const seen = [own === null, nameOf(own), idOf(own), nameOf(parent), idOf(parent), fields];
  return createHash("sha256").update(JSON.stringify(seen)).digest("base64url");
}

interface FieldSet {
  readonly field: string;
  /** Undefined: it is not known, or there is none yet. */
  readonly from: unknown;
  readonly to: unknown;
  readonly isDefault: boolean;
  readonly follows: boolean;
}

/**
 * Every field that a call sets: those that it names, those that it resets because it leaves them out, and those that follow
 * from others.
 */
function fieldsSet(
  { method, path, body: schema }: AssistantOperation,
  call: ApiCall,
  { own }: Records,
): readonly FieldSet[] {
  const route = `${method} ${path}`;
  const isCreation = !isUpdate({ method, path });
  const sent = bodyOf(call);
  const given = isCreation && schema !== null ? (withoutNulls(schema, sent) as StoredRecord) : sent;
  // What a creation sets is not what the record has that it is created in.
  const before = isCreation ? null : own;
  const valueBefore = (field: string): unknown => {
    const stored = STORED_AS[route]?.[field] ?? field;
    return before !== null && Object.hasOwn(before, stored) ? before[stored] : undefined;
  };
  const whole = (schema === null ? given : withDefaults(schema, given)) as StoredRecord;
  const { named, following } = storedValues(route, whole, before);
  const value = (field: string): unknown =>
    Object.hasOwn(following, field) ? following[field] : Object.hasOwn(named, field) ? named[field] : given[field];
  const fieldSet = (field: string, kind: { isDefault: boolean; follows: boolean }): FieldSet => {
    return { field, from: valueBefore(field), to: value(field), ...kind };
  };
  const isSame = ({ from, to }: FieldSet): boolean => JSON.stringify(from) === JSON.stringify(to);
  const isNamed = (field: string): boolean => Object.hasOwn(given, field);
  const left = defaultFields(schema, given).map(([field]) => fieldSet(field, { isDefault: true, follows: false }));
  const besides = Object.keys(following)
    .filter((field) => !isNamed(field) && !left.some((one) => one.field === field))
    .map((field) => fieldSet(field, { isDefault: false, follows: true }));
  return [
    ...Object.keys(given).map((field) => fieldSet(field, { isDefault: false, follows: false })),
    ...left.filter((one) => (isCreation ? !isNothing(one.to) : !isSame(one))),
    ...besides.filter((one) => (isCreation ? !isNothing(one.to) : !isSame(one))),
  ];
}

/** Whether there is a record already that a call changes. */
function isUpdate({ method, path }: Pick<AssistantOperation, "method" | "path">): boolean {
  return method !== "POST" || CHANGES_BY_POST.includes(`${method} ${path}`);
}

function bodyOf({ body }: ApiCall): StoredRecord {
  return (body === null ? {} : JSON.parse(body)) as StoredRecord;
}

/** Whether a body, or a part of it, sets or clears a secret. Null leaves one as it is. */
function takesSecret(body: object, isUrlSecret = false): boolean {
  return Object.entries(body).some(([field, value]) => {
    if (typeof value === "object") return value !== null && takesSecret(value);
    return SECRETS.has(field) || (isUrlSecret && field === "url") || (field.startsWith("clear_") && value === true);
  });
}

/** A default of something new that nobody would call a setting. */
function isNothing(value: unknown): boolean {
  return value === null || value === false || value === "" || ["[]", "{}"].includes(JSON.stringify(value));
}

function nameOf(record: StoredRecord | null): string | null {
  const names = NAMES.map((field) => record?.[field]).filter((value) => typeof value === "string");
  const name = names.find((value) => value !== "");
  return name === undefined ? null : cut(json(name), 0, NAME_MAX_CHARACTERS);
}

function idOf(record: StoredRecord | null): string | null {
  const id = record?.["id"];
  return typeof id === "string" ? json(id).slice(1, -1) : null;
}

/** The parameter of the path that names an object which has no id in its record, or may be gone; null if there is none. */
function lastParameter({ path }: AssistantOperation, call: ApiCall, isThere: boolean): string | null {
  const parts = path.split("/");
  const at = parts.findLastIndex((part) => part.startsWith("{"));
  // What is to be made has none yet: the last parameter is that of what it is made in.
  if (at === -1 || (!isThere && at !== parts.length - 1)) return null;
  return json(decodeURIComponent(call.path.split("?")[0]?.split("/")[at] ?? "")).slice(1, -1);
}

/** What an object belongs to: by its path, or by an id that it has. */
function parentOf({ own, parent, linked }: Records): StoredRecord | null {
  if (parent !== null) return parent;
  const id = Object.keys(LINKS)
    .map((field) => own?.[field])
    .find((one) => typeof one === "string");
  return id === undefined ? null : (linked.get(id as string) ?? null);
}

/** The name of the object whose id is the value of a field; null: it is no id, or the object is not there. */
function linkedName(field: string, value: unknown, { linked }: Records): string | null {
  return Object.hasOwn(LINKS, field) && typeof value === "string" ? nameOf(linked.get(value) ?? null) : null;
}

/** Two values as JSON; at least their first difference is shown. */
function shownPair(from: unknown, to: unknown): readonly [string, string] {
  const [before, after] = [shown(from), shown(to)];
  if (Math.max(before.length, after.length) <= VALUE_MAX_CHARACTERS) return [before, after];
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const at = from === undefined ? 0 : Math.max(0, same - BEFORE_DIFFERENCE_CHARACTERS);
  return [cut(before, at, VALUE_MAX_CHARACTERS), cut(after, at, VALUE_MAX_CHARACTERS)];
}

function shown(value: unknown): string {
  return value === AT_RUN ? "when it is run" : json(value);
}

function json(value: unknown): string {
  return visibleJson(JSON.stringify(value) ?? "null");
}

/** So many characters of a text from a place on. */
function cut(text: string, at: number, characters: number): string {
  const whole = text.toWellFormed();
  const end = at + characters;
  return `${at > 0 ? "…" : ""}${whole.slice(at, end).toWellFormed()}${end < whole.length ? "…" : ""}`;
}
