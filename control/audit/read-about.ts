/** What runs, on which schema, and for which cells (docs/rules/management-api.md#about). */
import { sql } from "drizzle-orm";
import type { About } from "../../shared/schema/about.ts";
import type { CellDirectory } from "../kernel/cells/cell-directory.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";

/** What of the answer the control service knows without its database. */
interface Installation {
  readonly directory: CellDirectory;
  readonly version: Pick<About, "version" | "git_sha" | "built_at">;
  readonly bodyMaxBytes: { readonly management: number; readonly backup: number };
}

const LICENSE = "Apache-2.0";

/** Throws 503. */
export async function readAbout(ctx: VerbContext, { directory, version, bodyMaxBytes }: Installation): Promise<About> {
  const { rows } = (await withDatabaseErrors(
    async () =>
      await ctx.db.execute(sql`SELECT version, applied_at FROM schema_migrations ORDER BY version DESC LIMIT 1`),
  )) as unknown as { rows: { version: number; applied_at: string | Date }[] };
  const [newest] = rows;
  return {
    ...version,
    runtime: `Node ${process.versions.node}`,
    license: LICENSE,
    schema_version: Number(newest?.version),
    schema_applied_at: new Date(newest?.applied_at ?? Number.NaN).toISOString(),
    cell: directory.own,
    cells: directory.cells.addresses.map(({ cell }) => cell),
    secrets_encrypted: ctx.sealKey !== undefined,
    keys_peppered: ctx.pepper !== undefined,
    private_networks_blocked: ctx.ssrf.blockPrivate,
    management_body_max_bytes: bodyMaxBytes.management,
    backup_body_max_bytes: bodyMaxBytes.backup,
  };
}
