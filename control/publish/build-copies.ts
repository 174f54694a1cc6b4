/**
 * Hot copies by their names in the store, of any kind, built from the rows as they are now (decisions §32). A name whose
 * row is gone is absent from the answer, and so must be its copy. Publisher and resync know no kinds: this table does.
 */
import type { Database, Transaction } from "../db/connect.ts";
import { buildKeys, buildModels } from "./hot-copies.ts";
import { buildMcpServers } from "./mcp-copies.ts";

type Build = (db: Database | Transaction, ids: readonly string[]) => Promise<ReadonlyMap<string, object>>;

const BUILDERS: Readonly<Record<string, Build>> = { key: buildKeys, model: buildModels, mcp: buildMcpServers };

/** What stands before the colon in the names of copies. */
export const COPY_KINDS: readonly string[] = Object.keys(BUILDERS);

/** Texts of copies by their names; names without a row are absent. */
export async function buildCopies(
  db: Database | Transaction,
  hotKeys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const [kind, build] of Object.entries(BUILDERS)) {
    const prefix = `${kind}:`;
    const ids = hotKeys.filter((hotKey) => hotKey.startsWith(prefix)).map((hotKey) => hotKey.slice(prefix.length));
    if (ids.length === 0) continue;
    for (const [id, record] of await build(db, ids)) texts.set(prefix + id, JSON.stringify(record));
  }
  return texts;
}
