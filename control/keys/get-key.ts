/** Reads one key, without its hashes. */
import { eq } from "drizzle-orm";
import { GatewayError } from "../../shared/errors.ts";
import type { ApiKey } from "../../shared/schema/api-key.ts";
import { apiKeys } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { parseId } from "../kernel/parse.ts";
import { keyRecord } from "./key-record.ts";

/** Throws 404. */
export async function getKey(ctx: VerbContext, id: string): Promise<ApiKey> {
  const keyId = parseId(id);
  const [row] = await withDatabaseErrors(async () => ctx.db.select().from(apiKeys).where(eq(apiKeys.id, keyId)));
  if (row === undefined) throw new GatewayError("not_found");
  return keyRecord(row);
}
