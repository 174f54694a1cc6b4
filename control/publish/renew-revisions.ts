/**
 * New revisions for every record (docs/rules/freshness.md#resync). The Cells remember the newest revision of each record that
 * they were told of; a record of a database that was restored from an older state lies behind it, and no request is served by
 * it until it has a newer one (docs/recover.md#a-database-that-is-restored).
 */

import { modelEndpoints } from "../db/schema/endpoints.ts";
import { mcpServers } from "../db/schema/mcp-servers.ts";
import { models } from "../db/schema/models.ts";
import { appSettings, revisionFloor } from "../db/schema/settings.ts";
import { apiKeys, fairshareGroups, tenants } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { write } from "../kernel/write.ts";
import { advanceRevisions } from "./advance-revisions.ts";

const TABLES = [fairshareGroups, tenants, apiKeys, models, modelEndpoints, mcpServers, appSettings] as const;

/**
 * Gives every record, and every setting without a row, one revision that is newer than what any cell was told. No copy is
 * written and no cell is told: until the caller does both, the cells serve by what they know. Throws 503.
 */
export async function renewRevisions(ctx: VerbContext): Promise<void> {
  // also of a state of a moment ago, whose revisions were given once more since
  await withDatabaseErrors(async () => await advanceRevisions(ctx.db, 0));
  await write(ctx, async (tx, { rev }) => {
    for (const table of TABLES) await tx.update(table).set({ rev });
    await tx
      .insert(revisionFloor)
      .values({ rev })
      .onConflictDoUpdate({ target: revisionFloor.singleton, set: { rev } });
  });
}
