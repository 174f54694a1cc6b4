/**
 * Gives every record a new revision (docs/rules/freshness.md#resync). Cells remember the newest revision of each record. After a
 * restore from an older state, the database's revisions are lower, so cells reject those records until they get newer ones
 * (docs/recover.md#a-database-that-is-restored).
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
 * Gives all records, and all settings without a row, one revision that is newer than any that a cell was told. The caller must
 * write the hot copies and tell the cells; until then the cells use what they know. Throws 503.
 */
export async function renewRevisions(ctx: VerbContext): Promise<void> {
  // 0: advance even if the restored state is less than a minute old. Its revisions may have been issued a second time since.
  await withDatabaseErrors(async () => await advanceRevisions(ctx.db, 0));
  await write(ctx, async (tx, { rev }) => {
    for (const table of TABLES) await tx.update(table).set({ rev });
    await tx
      .insert(revisionFloor)
      .values({ rev })
      .onConflictDoUpdate({ target: revisionFloor.singleton, set: { rev } });
  });
}
