/** Entries about keys: of a tenant with many, one for all of them, so that it cannot fill the list (docs/rules/attention.md). */
import type { FoundItem } from "../../../shared/schema/attention.ts";
import { firstNames, KEYS_LISTED_MAX } from "../issues-of-keys.ts";

/** The entry of one key. */
interface EntryOfKey {
  readonly tenantId: string;
  readonly tenant: string;
  /** The name of the key, or its prefix. */
  readonly key: string;
  /** How many entries of this kind there are of the tenant. */
  readonly keys: number;
  readonly item: FoundItem;
}

/** Entries of one kind, those that belong together in their order; `said`: what is to say of many keys; `atLeast`: there may be more. */
export function entriesOfKeys(entries: readonly EntryOfKey[], said: string, atLeast = false): readonly FoundItem[] {
  return [...Map.groupBy(entries, ({ tenantId }) => tenantId).values()].flatMap((those) => {
    const [first] = those;
    if (first === undefined || first.keys <= KEYS_LISTED_MAX) return those.map(({ item }) => item);
    const detail = `${atLeast ? "at least " : ""}${first.keys} ${said}, the first are ${firstNames(those.map(({ key }) => key))}`;
    const sinces = those.flatMap(({ item }) => item.since ?? []).toSorted();
    return [
      {
        ...first.item,
        entity_id: `tenant:${first.tenantId}`,
        name: first.tenant,
        detail,
        since: sinces[0] ?? null,
      },
    ];
  });
}
