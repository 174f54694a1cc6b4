/**
 * What a change stores in addition to its rows: entries for the audit log, and the hot copies that it outdates, by their names in
 * the store and as the items that the cells get.
 */

import { storeKeys } from "../../shared/records.ts";
import type { AuditEntity } from "../../shared/schema/audit-entities.ts";
import type { RevItem } from "../../shared/wire/internal.ts";

interface AuditDraft {
  readonly action: string;
  readonly entityType: AuditEntity;
  readonly entityId: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** The hashes under which the copies of a key are stored. */
export interface KeyHashes {
  readonly key_hash: string;
  readonly previous_key_hash: string | null;
}

/** The change fills it in, and the write saves it with the change. */
export class WriteJournal {
  readonly audits: AuditDraft[] = [];
  readonly hot: { readonly hotKey: string; readonly item: RevItem | null }[] = [];
  /** Tenants whose key copies must all be written again. */
  readonly tenantsOfKeys: string[] = [];
  /** Fairshare groups whose tenants' key copies must all be written again. */
  readonly groupsOfKeys: string[] = [];
  /** The write changes so many records that everything read before it is outdated at once. */
  outdatesAll = false;
  /** A health check is due at once. */
  checkIsDue = false;
  /** The revision of this write. */
  readonly rev: number;

  constructor(rev: number) {
    this.rev = rev;
  }

  audit(entry: AuditDraft): void {
    this.audits.push(entry);
  }

  /** The copy under one hash of a key has changed or is gone. */
  secretChanged(keyHash: string): void {
    this.hot.push({ hotKey: storeKeys.key(keyHash), item: { kind: "key", id: keyHash, rev: this.rev } });
  }

  /** The copies of one key have changed or are gone: it has two while the secret before a rotation is admitted. */
  keyChanged({ key_hash, previous_key_hash }: KeyHashes): void {
    this.secretChanged(key_hash);
    if (previous_key_hash !== null) this.secretChanged(previous_key_hash);
  }

  /**
   * The copy of one key must be written again, though its row has not changed. The cells get no item, because they would
   * wait in vain for a newer copy.
   */
  republishKey(keyHash: string): void {
    this.hot.push({ hotKey: storeKeys.key(keyHash), item: null });
  }

  modelChanged(modelName: string): void {
    this.hot.push({ hotKey: storeKeys.model(modelName), item: { kind: "model", id: modelName, rev: this.rev } });
  }

  /** The copy of an MCP server has changed or is gone. */
  mcpServerChanged(name: string): void {
    this.hot.push({ hotKey: storeKeys.mcp(name), item: { kind: "mcp", id: name, rev: this.rev } });
  }

  /** A setting that the cells know has changed (docs/rules/storage-layouts.md#key-value-keys). */
  settingChanged(name: string): void {
    this.hot.push({ hotKey: `settings:${name}`, item: { kind: "settings", id: name, rev: this.rev } });
  }

  /** A tenant has changed: one item covers all its keys, whose copies are all written again. */
  tenantChanged(tenantId: string): void {
    this.tenantsOfKeys.push(tenantId);
    this.hot.push({ hotKey: "", item: { kind: "tenant", id: tenantId, rev: this.rev } });
  }

  /** What was captured of a tenant's calls goes (docs/rules/capture.md#end). */
  capturesRemoved(tenantId: string): void {
    this.hot.push({ hotKey: storeKeys.captures(tenantId), item: null });
  }

  /** The key copies of a tenant that is about to be removed. */
  keysRemoved(keys: readonly KeyHashes[]): void {
    for (const key of keys) this.keyChanged(key);
  }

  /** A group has changed: one item covers all keys of its tenants, whose copies are all written again. */
  groupChanged(name: string): void {
    this.groupsOfKeys.push(name);
    this.hot.push({ hotKey: "", item: { kind: "group", id: name, rev: this.rev } });
  }

  /** Tenants are in a group with another name now: all that are in it. */
  tenantsMoved(group: string, tenantIds: readonly string[]): void {
    this.groupChanged(group);
    for (const id of tenantIds) this.hot.push({ hotKey: "", item: { kind: "tenant", id, rev: this.rev } });
  }

  /**
   * Every key copy is written again whose key, tenant or group carries this write's revision, and everything that was read
   * before is outdated. The schedulers also get an item for each group and tenant named here.
   */
  everythingChanged(groups: readonly string[], tenantIds: readonly string[]): void {
    this.outdatesAll = true;
    for (const id of groups) this.hot.push({ hotKey: "", item: { kind: "group", id, rev: this.rev } });
    for (const id of tenantIds) this.hot.push({ hotKey: "", item: { kind: "tenant", id, rev: this.rev } });
  }
}
