/** How the messages of each channel went, for people to see (docs/rules/alerts.md#channels). */
import { eq, sql } from "drizzle-orm";
import type { ShownChannel } from "../../shared/schema/alert-channel.ts";
import type { ChannelResult } from "../../shared/schema/settings/alerts.ts";
import type { Database } from "../db/connect.ts";
import { alertDeliveries } from "./tables.ts";

/** What a channel shows of its messages. */
export type Deliveries = Pick<ShownChannel, "last_delivery" | "sent" | "failed">;

/** Notes a message or test that was sent or given up at `nowMs`; `isAgain`: it is tried again, and counted when that has ended. */
export async function noteDelivery(
  db: Database,
  { channel, ok, detail }: ChannelResult,
  nowMs: number,
  isAgain = false,
): Promise<void> {
  const last = { at_ms: nowMs, ok, detail };
  await db
    .insert(alertDeliveries)
    .values({ channel, ...last, sent: ok ? 1 : 0, failed: ok || isAgain ? 0 : 1 })
    .onConflictDoUpdate({
      target: alertDeliveries.channel,
      set: {
        ...last,
        sent: sql`${alertDeliveries.sent} + excluded.sent`,
        failed: sql`${alertDeliveries.failed} + excluded.failed`,
      },
    });
}

/** Of every channel that has sent something, by id. */
export async function deliveriesOf(db: Pick<Database, "select">): Promise<ReadonlyMap<string, Deliveries>> {
  const rows = await db.select().from(alertDeliveries);
  return new Map(
    rows.map(({ channel, at_ms, ok, detail, sent, failed }) => [
      channel,
      { last_delivery: { at: new Date(at_ms).toISOString(), ok, detail }, sent, failed },
    ]),
  );
}

/** Forgets a channel that was deleted. */
export async function forgetDeliveries(db: Database, channel: string): Promise<void> {
  await db.delete(alertDeliveries).where(eq(alertDeliveries.channel, channel));
}
