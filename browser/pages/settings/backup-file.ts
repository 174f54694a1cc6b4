/** A backup as a browser has it: a file that only the server validates, and what the server says of it. Pure. */
import type { Records } from "../../data/api.ts";

/** An object of JSON; the server checks whether it is a backup. */
export type BackupFile = Readonly<Record<string, unknown>>;
export type Differences = NonNullable<Records["RestoreReport"]["differences"]>;
/** A kind of objects in a backup. */
export type Kind = keyof Differences;

/** One object that a restore would add or change. */
export interface ChangedObject extends Pick<Differences[Kind]["objects"][number], "name" | "change" | "fields"> {
  /** Of all objects of the list. */
  readonly key: string;
  readonly kind: Kind;
}

/** The file's text as an object; null when it is none. */
export function readBackupText(fileText: string): BackupFile | null {
  try {
    const value: unknown = JSON.parse(fileText);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as BackupFile) : null;
  } catch {
    return null;
  }
}

/** The kinds of a dry run, in the order of the server. */
export function kindsOf(differences: Differences): readonly (Differences[Kind] & { readonly kind: Kind })[] {
  return Object.entries(differences).map(([kind, difference]) => ({ kind: kind as Kind, ...difference }));
}

/** The objects that would be added or changed, and how many are not listed. */
export function changedObjects(differences: Differences): {
  readonly objects: readonly ChangedObject[];
  readonly unlisted: number;
} {
  const kinds = kindsOf(differences);
  const objects = kinds.flatMap(({ kind, objects: listed }) =>
    listed.map((one, index) => ({ ...one, kind, key: `${kind} ${index}` })),
  );
  const all = kinds.reduce((sum, { added, changed }) => sum + added + changed, 0);
  return { objects, unlisted: all - objects.length };
}

/** How many objects a restore has added, and how many it has written over. */
export function restoredCounts(report: Records["RestoreReport"]): { readonly added: number; readonly updated: number } {
  const counts = [
    report.fairshare_groups,
    report.tenants,
    report.api_keys,
    report.models,
    report.model_endpoints,
    report.mcp_servers,
    report.app_settings,
  ];
  return {
    added: counts.reduce((sum, { inserted }) => sum + inserted, 0),
    updated: counts.reduce((sum, { updated }) => sum + updated, 0),
  };
}
