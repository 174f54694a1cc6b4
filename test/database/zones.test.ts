/**
 * A database whose sessions use another time zone than UTC: offsets before 1900 have seconds, and distant zones are in
 * another year at the same instant.
 */
import { sql } from "drizzle-orm";
import { expect, it } from "vitest";
import type { Tenant } from "../../shared/schema/tenant.ts";
import { startControl } from "../harness/control.ts";
import { useStarted } from "../harness/use-started.ts";

const control = useStarted(startControl);

it.each(["America/New_York", "Asia/Tokyo", "Asia/Kolkata"])(
  "times are read as they were written in %s",
  async (zone) => {
    const { db } = control().connection;
    const { rows } = (await db.execute(sql`SELECT current_database() AS name`)) as unknown as {
      rows: { name: string }[];
    };
    await db.execute(sql.raw(`ALTER DATABASE ${rows[0]?.name ?? ""} SET timezone = '${zone}'`));
    const there = await startControl({ beside: control() });
    try {
      const shown = (await there.connection.db.execute(sql`SHOW timezone`)) as unknown as {
        rows: { TimeZone: string }[];
      };
      expect(shown.rows[0]?.TimeZone).toBe(zone);
      const created = await there.request("POST", "/api/v1/tenants", { name: `in ${zone}` });
      const { id } = (await created.json()) as Tenant;
      const times = { active_from: "0001-01-01T00:00:00.000Z", active_until: "9999-12-31T23:59:59.999Z" };
      const old = { active_from: "1880-06-01T00:00:00.000Z", active_until: "2026-07-01T12:30:00.250Z" };
      for (const body of [times, old]) {
        await there.request("PATCH", `/api/v1/tenants/${id}/schedule`, body);
        expect(await (await there.request("GET", `/api/v1/tenants/${id}`)).json()).toMatchObject(body);
      }
    } finally {
      await there.close();
    }
  },
);
