/**
 * Two services with the same encryption key, one with a secret of every kind, the other empty: for tests that change a
 * backup and then check what happened to each secret.
 */
import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { unseal } from "../../shared/crypto/seal.ts";
import type { Backup, RestoreReport } from "../../shared/schema/backup.ts";
import { newEncryptionKey, startControl, type TestControl } from "./control.ts";

export const SECRETS = {
  model: "credential-of-the-model",
  shared: "credential-that-endpoints-share",
  own: "credential-of-an-endpoint",
  mcp: "Bearer credential-of-the-mcp-server",
  webhook: "https://chat.example/hooks/secret",
  channel: "https://pager.example/hooks/secret",
  mail: "password-of-the-mail-server",
  token: "token-of-the-job-scheduler",
};

/** A secret in clear, and the switch of the row that contains it. */
export interface HeldSecret {
  readonly secret: string | null;
  readonly enabled: boolean;
}
/** By the name in {@link SECRETS}; `heir` is the endpoint without a credential of its own. */
export type AllHeld = Record<keyof typeof SECRETS | "heir", HeldSecret>;

/** The secrets after the restore of an unchanged file. */
export const ALL: AllHeld = {
  ...(Object.fromEntries(Object.entries(SECRETS).map(([name, secret]) => [name, { secret, enabled: true }])) as Omit<
    AllHeld,
    "heir"
  >),
  heir: { secret: null, enabled: true },
};

type Data = Backup["data"];

/** The warning about a file that is not as it was exported. */
export const UNPROVEN =
  "nothing proves that a gateway with this encryption key exported this file as it is: keys, limits and addresses in it may have been added or changed; compare them in a dry run";

export class SecretBackup {
  readonly from: TestControl;
  readonly to: TestControl;
  readonly encryptionKey: string;
  file = {} as Backup;

  private constructor(from: TestControl, to: TestControl, encryptionKey: string) {
    this.from = from;
    this.to = to;
    this.encryptionKey = encryptionKey;
  }

  static async start(): Promise<SecretBackup> {
    const encryptionKey = newEncryptionKey();
    const from = await startControl({ encryptionKey });
    const scene = new SecretBackup(from, await startControl({ encryptionKey }), encryptionKey);
    await fill(from);
    return scene;
  }

  async close(): Promise<void> {
    await this.from.close();
    await this.to.close();
  }

  /** Empties the target and exports again. */
  async begin(): Promise<void> {
    await this.to.connection.db.execute(
      sql`TRUNCATE tenants, api_keys, models, model_endpoints, model_health, mcp_servers, app_settings, model_health_checks CASCADE`,
    );
    this.file = await this.from.must<Backup>("GET", "/backup/export");
  }

  /** The report, without the warning about the whole file, which every change causes. */
  async restored(input: unknown): Promise<RestoreReport> {
    const response = await this.to.request("POST", "/api/v1/backup/restore", input);
    const report = (await response.json()) as RestoreReport;
    expect({ status: response.status, report }).toMatchObject({ status: 200, report: {} });
    return { ...report, warnings: report.warnings.filter((text) => text !== UNPROVEN) };
  }

  model(name: string): Data["models"][0] {
    return this.file.data.models.find((row) => row.model_name === name) as Data["models"][0];
  }
  endpoint(name: string): Data["model_endpoints"][0] {
    return this.file.data.model_endpoints.find((row) => row.name === name) as Data["model_endpoints"][0];
  }
  mcp(): Data["mcp_servers"][0] {
    return this.file.data.mcp_servers[0] as Data["mcp_servers"][0];
  }
  setting(key: string): Record<string, unknown> {
    return this.file.data.app_settings.find((row) => row.key === key)?.value as Record<string, unknown>;
  }
  /** Of alerts, after the first ones. */
  channel(): Record<string, unknown> {
    return Object.values(this.#channels())[0] ?? {};
  }
  channelId(): string {
    return Object.keys(this.#channels())[0] ?? "";
  }
  #channels(): Record<string, Record<string, unknown>> {
    return this.setting("alerts")["channels"] as Record<string, Record<string, unknown>>;
  }
  email(): Record<string, unknown> {
    return this.setting("alerts")["email"] as Record<string, unknown>;
  }

  tenant(): Data["tenants"][0] {
    return this.file.data.tenants[0] as Data["tenants"][0];
  }
  key(): Data["api_keys"][0] {
    return this.file.data.api_keys[0] as Data["api_keys"][0];
  }

  async held(): Promise<AllHeld> {
    const { data } = await this.to.must<Backup>("GET", "/backup/export");
    const open = async (value: unknown): Promise<string | null> =>
      typeof value === "string" ? await unseal(value, this.to.ctx.sealKey) : null;
    const of = async (rows: readonly object[], name: string, field: string): Promise<HeldSecret> => {
      const row = rows.find((one) => Object.values(one).includes(name)) as Record<string, unknown> | undefined;
      return { secret: await open(row?.[field]), enabled: row?.["enabled"] !== false };
    };
    const value = (key: string) => data.app_settings.find((row) => row.key === key)?.value as Record<string, unknown>;
    const plain = async (text: unknown): Promise<HeldSecret> => ({ secret: await open(text), enabled: true });
    return {
      model: await of(data.models, "single", "api_key"),
      shared: await of(data.models, "many", "api_key"),
      own: await of(data.model_endpoints, "owner", "api_key"),
      heir: await of(data.model_endpoints, "heir", "api_key"),
      mcp: await of(data.mcp_servers, "tools", "auth_header"),
      webhook: await plain(value("alerts")["slack_webhook_url"]),
      channel: await plain(Object.values(value("alerts")["channels"] as Record<string, { url: unknown }>)[0]?.url),
      mail: await plain((value("alerts")["email"] as Record<string, unknown>)["smtp_password"]),
      token: await plain(value("jobsched")["token"]),
    };
  }
}

async function fill({ must: send }: TestControl): Promise<void> {
  await send("POST", "/models", { model_name: "single", api_base: "https://one.example/v1", api_key: SECRETS.model });
  const many = await send<{ id: string }>("POST", "/models", { model_name: "many", api_key: SECRETS.shared });
  const endpoints = `/models/${many.id}/endpoints`;
  await send("POST", endpoints, { name: "heir", api_base: "https://heir.example/v1" });
  await send("POST", endpoints, { name: "owner", api_base: "https://owner.example/v1", api_key: SECRETS.own });
  await send("POST", "/mcp-servers", {
    name: "tools",
    upstream_url: "https://mcp.example/mcp",
    auth_header: SECRETS.mcp,
  });
  await send("PUT", "/settings/alerts", {
    slack_webhook_url: SECRETS.webhook,
    email: {
      smtp_host: "mail.example",
      from_address: "g@example.org",
      recipients: ["o@example.org"],
      smtp_password: SECRETS.mail,
    },
  });
  await send("POST", "/alert-channels", { name: "pager", type: "webhook", url: SECRETS.channel });
  const tenant = await send<{ id: string }>("POST", "/tenants", { name: "t" });
  await send("POST", `/tenants/${tenant.id}/keys`, { name: "k" });
  await send("PUT", "/settings/jobsched", { url: "https://jobs.example", user: "u", token: SECRETS.token });
}
