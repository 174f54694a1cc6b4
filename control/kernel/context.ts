/**
 * What a verb works with. Actor, clock, random bytes and I/O come from here, never from input
 * (docs/rules/code.md#inputs-and-authority).
 */
import type { SealKey } from "../../shared/crypto/seal.ts";
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import type { Database, Transaction } from "../db/connect.ts";
import type { BackupKey } from "./encryption/secret-macs.ts";

/** Brings committed changes to the hot copies and the cells. */
export interface Publisher {
  /** Publishes these outbox rows; `pending` if a cell has not confirmed within `withinMs` (default 1 s). Never throws. */
  publish(outboxIds: readonly number[], withinMs?: number): Promise<"done" | "pending">;
  /** Writes these hot copies as their rows are now. Rejects when the database or the key-value store does not answer. */
  refresh(hotKeys: readonly string[]): Promise<void>;
  /** Rejects when the database does not answer. */
  unconfirmed(): Promise<Unconfirmed>;
}

/** How many changes are not confirmed yet, and since when the oldest waits; null when none waits. */
export interface Unconfirmed {
  readonly changes: number;
  readonly sinceMs: number | null;
}

export interface VerbContext {
  readonly db: Database;
  /** The name in the audit log. */
  readonly actor: string;
  /** Set if a user of a tenant asks: users must not undo what an admin has set. Absent for admins and the gateway itself. */
  readonly isForUser?: true;
  /** The person of the console for whom the request is made. Absent: none. */
  readonly personId?: string;
  /** Where the request came from, for the audit log: an IP address; empty if no request caused it. */
  readonly address: string;
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly sealKey: SealKey | undefined;
  /** The MAC key for the secrets in backups; present exactly when there is a {@link sealKey}. */
  readonly backupKey: BackupKey | undefined;
  readonly pepper: string | undefined;
  /** Peppers that were replaced, whose hashes are still admitted. */
  readonly oldPeppers: readonly string[];
  readonly ssrf: SsrfPolicy;
  /** Every address of a host name; empty when it does not resolve. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly publisher: Publisher;
  /** The default interval of health checks, in seconds. */
  readonly checkIntervalSecs: number;
  /** Called after the commit of a write that has made a health check due. */
  readonly checkIsDue: () => void;
  /**
   * Checks the caller's precondition (`If-Match`) against the locked record. If it throws, the write is rolled back.
   */
  readonly checkRecord?: (record: object) => void;
  /** Runs at the end of a write's transaction. If it throws, the write is rolled back. */
  readonly beforeCommit?: (tx: Transaction, record: unknown) => Promise<void>;
}

/** A record that was written, and whether every cell has it. */
export interface Written<T> {
  readonly record: T;
  readonly sync: "done" | "pending";
}

/** One page of a list; `next` is the cursor of the page after it. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

/** The unpaged list for a user of a tenant: a cursor would reveal rows that the tenant must not see. */
export type UserList = (
  ctx: VerbContext,
  tenantId: string,
  query: Readonly<Record<string, string>>,
) => Promise<readonly object[]>;
