/**
 * GET /usage/logs/{request_id}/capture: the bodies of a captured call, for admins (docs/rules/capture.md#reading). The audit entry is
 * written before the answer, so that no read is unseen.
 */
import { and, eq, isNotNull } from "drizzle-orm";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { isSealed, SealError, type SealKey, unseal } from "../../shared/crypto/seal.ts";
import { GatewayError } from "../../shared/errors.ts";
import { captureFieldMs, storeKeys } from "../../shared/records.ts";
import { type Capture, captureSchema } from "../../shared/schema/capture.ts";
import { tenants } from "../db/schema/tenancy.ts";
import type { VerbContext } from "../kernel/context.ts";
import type { HotStore } from "../kernel/hot-store/hot-store.ts";
import { write } from "../kernel/write.ts";
import type { AnalyticsStore } from "./analytics/store.ts";
import { getUsageLog } from "./get-usage-log.ts";

interface CaptureSource {
  readonly analytics: AnalyticsStore;
  readonly store: Pick<HotStore, "hashFields" | "hashValue">;
  /** Opens captures; undefined: no encryption key is configured. */
  readonly captureKey: SealKey | undefined;
}

/** The capture. Throws 404 when there is none (any more) or the tenant's capture is off, 503. */
export async function readCapture(ctx: VerbContext, source: CaptureSource, id: string): Promise<Capture> {
  const { request_id: requestId, tenant_id: tenantId } = await getUsageLog(ctx, source.analytics, id);
  // a write of a Worker may have been on its way when it was turned off
  const isOn = and(eq(tenants.id, tenantId), isNotNull(tenants.capture_until));
  if ((await ctx.db.$count(tenants, isOn)) === 0) throw new GatewayError("not_found");
  const name = storeKeys.captures(tenantId);
  const sinceMs = ctx.now().getTime() - LIMITS.captureTime;
  const field = (await source.store.hashFields(name)).find(
    (each) => each.endsWith(requestId) && captureFieldMs(each) > sinceMs,
  );
  const sealed = field === undefined ? null : await source.store.hashValue(name, field);
  const capture = sealed === null ? null : await opened(sealed, source.captureKey);
  // one that was moved to another place in the store is not shown there
  if (capture?.request_id !== requestId || capture.tenant_id !== tenantId) throw new GatewayError("not_found");
  await write(ctx, async (_tx, journal) => {
    const detail = { tenant_id: tenantId };
    journal.audit({ action: "read_capture", entityType: "usage", entityId: requestId, detail });
  });
  return capture;
}

/** Null: it was sealed with another key, or not by a Worker. */
async function opened(sealed: string, key: SealKey | undefined): Promise<Capture | null> {
  if (key === undefined || !isSealed(sealed)) return null;
  try {
    return captureSchema.parse(JSON.parse(await unseal(sealed, key)));
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}
