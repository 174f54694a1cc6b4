import { sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { checkSharedSecrets, recordSharedSecrets, type SecretDigests } from "./shared-secrets.ts";

let control: TestControl;

beforeEach(async () => {
  control = await startControl();
});
afterEach(async () => {
  await control.close();
});

const FIRST = { GATEWAY_CLUSTER_KEY: "c1", GATEWAY_ADMIN_TOKEN: "a1", GATEWAY_API_KEY_PEPPER: "p1" };
const CONSOLE = { DASHBOARD_PASSWORD: "d1" };

/** What an instance does at its start. */
async function start(digests: SecretDigests, isNew = false): Promise<void> {
  const { db } = control.connection;
  if (!isNew) await checkSharedSecrets(db, digests);
  await recordSharedSecrets(db, digests, isNew);
}

async function known(): Promise<SecretDigests> {
  const { rows } = (await control.connection.db.execute(sql`SELECT name, digest FROM shared_secrets`)) as unknown as {
    rows: { name: string; digest: string }[];
  };
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}

describe("the secrets that all instances share", () => {
  it("are those of the first instance, also for one that serves no console", async () => {
    await start(FIRST);
    await start(FIRST);
    await start({ ...FIRST, ...CONSOLE });
    await start(FIRST);
    expect(await known()).toEqual({ ...FIRST, ...CONSOLE });
    await expect(start({ ...FIRST, DASHBOARD_PASSWORD: "d2" })).rejects.toThrow(/a different DASHBOARD_PASSWORD: set/);
  });

  it("can be replaced one instance after another while both values are accepted", async () => {
    await start(FIRST);
    await start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p1+p2" });
    await start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p2+p1" });
    await start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p1+p2" });
    await start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p2+p1" });
    expect(await known()).toEqual({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p2" });
    await start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p2" });
    await expect(start(FIRST)).rejects.toThrow(/a different GATEWAY_API_KEY_PEPPER: set/);
  });

  it.each([
    [{ GATEWAY_API_KEY_PEPPER: "p2" }, /^other instances of this cluster have a different GATEWAY_API_KEY_PEPPER: set/],
    [
      { GATEWAY_API_KEY_PEPPER: "p2", GATEWAY_ADMIN_TOKEN: "a2" },
      /have a different GATEWAY_ADMIN_TOKEN and a different GATEWAY_API_KEY_PEPPER: set .* GATEWAY_NEW_SHARED_SECRETS=1$/,
    ],
    // The digests of all others are made with this one.
    [{ GATEWAY_CLUSTER_KEY: "c2", GATEWAY_ADMIN_TOKEN: "a2" }, /have a different GATEWAY_CLUSTER_KEY: set/],
  ])("refuse an instance that has %o, by name, which changes nothing", async (changes, message) => {
    await start(FIRST);
    const other = { ...FIRST, ...CONSOLE, ...changes };
    await expect(start(other)).rejects.toThrow(message);
    await expect(recordSharedSecrets(control.connection.db, other, false)).rejects.toThrow(message);
    expect(await known()).toEqual(FIRST);
  });

  it("are replaced by an instance that declares new ones, and the old ones are then refused", async () => {
    await start({ ...FIRST, ...CONSOLE });
    const next = { ...FIRST, GATEWAY_ADMIN_TOKEN: "a2" };
    await start(next, true);
    await start(next);
    // The console's are those of the next instance that has one.
    await start({ ...next, DASHBOARD_PASSWORD: "d2" });
    await expect(start(FIRST)).rejects.toThrow(/a different GATEWAY_ADMIN_TOKEN: set/);
  });

  it("are those of one instance when two start at once", async () => {
    const ended = await Promise.allSettled([start(FIRST), start({ ...FIRST, GATEWAY_API_KEY_PEPPER: "p2" })]);
    expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(["p1", "p2"]).toContain((await known())["GATEWAY_API_KEY_PEPPER"]);
  });
});
