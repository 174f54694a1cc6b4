/**
 * Whether the records of a request are current: they are copies, and the Cell knows of every change that was confirmed
 * (docs/rules/freshness.md#revisions). A copy is read again once when the Cell knows a newer one; when it is still older then,
 * no request is served or refused by it (docs/rules/freshness.md#revisions, docs/rules/freshness.md#every-use-compares).
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord, ResolvedKey } from "../../../shared/records.ts";
import type { RevItem } from "../../../shared/wire/internal.ts";
import type { Call } from "../call/context.ts";
import { type Known, type Principal, type Resolved, StageFailure } from "../call/known.ts";

/** Revisions of the records by which a caller is refused. */
export function keyRevs(call: Call, { key_hash, rev, tenant }: ResolvedKey): readonly RevItem[] {
  const ofTenant: RevItem[] = tenant === null ? [] : [{ kind: "tenant", id: tenant.id, rev: tenant.rev }];
  return [{ kind: "key", id: key_hash, rev }, ...ofTenant, epochRev(call)];
}

/** Revisions of the records by which a caller is served. */
export function principalRevs(call: Call, { key, tenant }: Principal): readonly RevItem[] {
  return [...keyRevs(call, key), { kind: "group", id: tenant.fairshare_group, rev: tenant.group_rev }];
}

/** Revision of a model's copy. */
export function modelRev({ model_name, rev }: ModelRecord): RevItem {
  return { kind: "model", id: model_name, rev };
}

/** Revision of the settings of the auto router. */
export function autoSettingsRev(rev: number): RevItem {
  return { kind: "settings", id: "auto_router", rev };
}

/**
 * Revisions of everything that a request for a model rests on, whether it is admitted or answered from the response
 * cache.
 */
export function subjectRevs(
  call: Call,
  { principal, model, energy, boons, auto }: Pick<Resolved, "principal" | "model" | "energy" | "boons" | "auto">,
): readonly RevItem[] {
  return [
    ...principalRevs(call, principal),
    modelRev(model),
    ...(energy === null ? [] : [{ kind: "settings" as const, id: "energy", rev: energy.rev }]),
    ...(boons === null ? [] : [{ kind: "settings" as const, id: "boons", rev: boons.rev }]),
    ...(auto?.settingsRev == null ? [] : [autoSettingsRev(auto.settingsRev)]),
  ];
}

/**
 * The newest revision of kind `all` that the isolate has applied: everything that was read before a newer one is
 * outdated.
 */
export function epochRev(call: Call): RevItem {
  return { kind: "all", id: "*", rev: call.ports.directory.epoch() };
}

/** How often records are compared; the third comparison is for records that the second reading brought along. */
const LOOKS_MAX = 3;

/**
 * `found`, or the result of `again` when the Cell knows newer records. That result is as new as the Cell reported; only records
 * that were not compared yet are compared then, so that a long list of records is not outdated by changes that come while it is
 * compared. Throws the failure of 503 `key_store_unavailable` when a record is still older than the Cell reported, of 503
 * `scheduler_unavailable` when the Cell cannot be reached, and everything that `again` throws.
 */
export async function readUntilCurrent<T extends Known>(
  call: Call,
  found: T,
  revsOf: (read: T) => readonly RevItem[],
  again: (read: T) => Promise<T>,
): Promise<T> {
  const { admission, directory } = call.ports;
  const newest = new Map<string, number>();
  let read = found;
  try {
    for (let look = 1; look <= LOOKS_MAX; look += 1) {
      const items = revsOf(read);
      if (items.some((item) => item.rev < (newest.get(nameOf(item)) ?? 0))) break;
      const unasked = items.filter((item) => !newest.has(nameOf(item)));
      const stale = unasked.length === 0 ? [] : await admission.view.staleAmong(unasked);
      if (stale.length === 0) return read;
      for (const item of [...unasked, ...stale]) newest.set(nameOf(item), item.rev);
      directory.forget(stale);
      if (look < LOOKS_MAX) read = await again(read);
    }
  } catch (error) {
    throw StageFailure.of(error, read);
  }
  throw new StageFailure(new GatewayError("key_store_unavailable"), read);
}

const nameOf = ({ kind, id }: RevItem): string => `${kind} ${id}`;

/** Returns when the Cell knows nothing newer, or cannot be reached. Throws 503 `key_store_unavailable`. */
export async function mustBeCurrent(call: Call, items: readonly RevItem[]): Promise<void> {
  const stale = await call.ports.admission.view.staleAmong(items).catch(() => []);
  if (stale.length === 0) return;
  call.ports.directory.forget(stale);
  throw new GatewayError("key_store_unavailable");
}
