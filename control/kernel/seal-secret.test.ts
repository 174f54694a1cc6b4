/**
 * Secrets at rest (docs/rules/secrets.md#at-rest): sealed in every table and in every copy, answered by no read, contained
 * in no audit entry.
 *
 * @module-tag check
 */
import { sql } from "drizzle-orm";
import { afterEach, describe, expect, it } from "vitest";
import { storeKeys } from "../../shared/records.ts";
import type { CreatedKey } from "../../shared/schema/api-key.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";

const SECRETS = {
  model: "secret-of-the-model",
  endpoint: "secret-of-the-endpoint",
  server: "Bearer secret-of-the-server",
  webhook: "http://127.0.0.1:9/secret-of-the-webhook",
  mail: "secret-of-the-mail-server",
  scheduler: "secret-of-the-scheduler",
};
const SEALED = /enc:v1:/;

let control: TestControl;

afterEach(async () => {
  await control.close();
});

async function send<T>(method: string, path: string, body?: unknown, headers = {}): Promise<T> {
  const response = await control.request(method, `/api/v1${path}`, body, headers);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return (await response.json()) as T;
}

/** Saves every kind of secret, and answers what the writes answered. */
async function saveAll(): Promise<{ answers: string; ids: Readonly<Record<string, string>> }> {
  const email = { smtp_host: "h", from_address: "a@b", recipients: ["c@d"], smtp_password: SECRETS.mail };
  const tenant = await send<{ id: string }>("POST", "/tenants", { name: "t" });
  const key = await send<CreatedKey>("POST", `/tenants/${tenant.id}/keys`, {}, { "idempotency-key": "k" });
  const model = await send<{ id: string }>("POST", "/models", { model_name: "m", api_key: SECRETS.model });
  const place = { name: "e", api_base: "http://127.0.0.1:9/v1", api_key: SECRETS.endpoint };
  const server = { name: "s", upstream_url: "http://127.0.0.1:9/mcp", auth_header: SECRETS.server };
  const answers = [
    model,
    await send("POST", `/models/${model.id}/endpoints`, place, { "idempotency-key": "e" }),
    await send("POST", "/mcp-servers", server),
    await send("PUT", "/settings/alerts", { slack_webhook_url: SECRETS.webhook, email }),
    await send("PUT", "/settings/jobsched", { token: SECRETS.scheduler, url: "http://127.0.0.1:9" }),
    await send("PUT", `/models/${model.id}`, { upstream_model: "u", api_base: "", api_key: SECRETS.model }),
  ];
  return {
    answers: JSON.stringify(answers),
    ids: { tenant: tenant.id, key: key.key.id, model: model.id, secret: key.secret },
  };
}

/** Every row of every table, as text. */
async function everyTable(): Promise<string> {
  const { rows } = (await control.connection.db.execute(
    sql`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  )) as unknown as { rows: { name: string }[] };
  const texts = [];
  for (const { name } of rows)
    texts.push(JSON.stringify(await control.connection.db.execute(sql`SELECT * FROM ${sql.identifier(name)}`)));
  return texts.join("\n");
}

/** The provisioner's own read, and the backup, which holds secrets as they are stored. */
const EXCEPT = /\/(resolved|export)$/;

/** Answers of every other GET route, with the ids there are. */
async function everyRead(ids: Readonly<Record<string, string>>): Promise<string> {
  const document = await send<{ paths: Record<string, Record<string, unknown>> }>("GET", "/openapi.json");
  const texts = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!("get" in methods) || EXCEPT.test(path)) continue;
    const kind = path.includes("/tenants/") ? "tenant" : path.includes("/keys/") ? "key" : "model";
    texts.push(await (await control.request("GET", path.replace(/\{\w+\}/, ids[kind] ?? ""))).text());
  }
  return texts.join("\n");
}

async function copies(): Promise<readonly (string | null)[]> {
  return await control.store.get([storeKeys.model("m"), storeKeys.mcp("s")]);
}

describe("stored secrets", () => {
  it("are sealed everywhere and shown nowhere", async () => {
    control = await startControl();
    const { answers, ids } = await saveAll();
    const places = {
      answers,
      tables: await everyTable(),
      copies: (await copies()).join(),
      reads: await everyRead(ids),
    };
    for (const [place, text] of Object.entries(places))
      for (const secret of [...Object.values(SECRETS), ids["secret"] ?? ""])
        expect({ place, secret, isReadable: text.includes(secret) }).toEqual({ place, secret, isReadable: false });
    expect(places.answers).not.toMatch(SEALED);
    expect(places.reads).not.toMatch(SEALED);
    expect((await copies()).every((copy) => SEALED.test(copy ?? ""))).toBe(true);
    expect(await send("GET", "/settings/jobsched/resolved")).toMatchObject({ token: SECRETS.scheduler });
  });

  it("are plaintext without a key, but still shown nowhere", async () => {
    control = await startControl({ encryptionKey: null });
    const { answers, ids } = await saveAll();
    const [tables, reads, inStore] = [await everyTable(), await everyRead(ids), (await copies()).join()];
    for (const secret of Object.values(SECRETS)) {
      expect({ secret, isStored: tables.includes(secret) }).toEqual({ secret, isStored: true });
      expect({ secret, isInAnswers: answers.includes(secret), isInReads: reads.includes(secret) }).toEqual({
        secret,
        isInAnswers: false,
        isInReads: false,
      });
    }
    for (const secret of [SECRETS.model, SECRETS.endpoint, SECRETS.server]) expect(inStore).toContain(secret);
    expect(tables).not.toContain(ids["secret"]);
  });
});
